"""Who holds the memory at the highest moment."""

from __future__ import annotations

from collections import Counter

from memfit.simulation.allocator import rounded
from memfit.simulation.graph import Owner, StepGraph
from memfit.simulation.memory import INPUT, Event, labelled_variable

Holdings = Counter[Owner]  # requested bytes


def at_peak(graph: StepGraph, events: list[Event]) -> Holdings:
    """Two passes: find the moment, then list what is live then."""
    live: dict[int, int] = {}
    held = highest = 0
    moment = -1
    for number, event in enumerate(events):
        if event.bytes < 0:
            held -= live.pop(event.address)
            continue
        live[event.address] = rounded(event.bytes)
        held += live[event.address]
        if held > highest:
            highest, moment = held, number
    return _listed(graph, events[: moment + 1])


def _listed(graph: StepGraph, events: list[Event]) -> Holdings:
    live: dict[int, Event] = {}
    for event in events:
        if event.bytes < 0:
            live.pop(event.address)
        else:
            live[event.address] = event
    found: Holdings = Counter()
    for event in live.values():
        found[owner_of(graph, event.label, event.part)] += event.bytes
    return found


def owner_of(graph: StepGraph, label: int, part: int) -> Owner:
    if label == INPUT:
        return "inputs", "(inputs)"
    if label < 0:
        variable = graph.variables[labelled_variable(label)]
        return "workspace" if part < 0 else variable.kind, variable.layer
    kind, layer = graph.nodes[label].owner
    return "workspace" if part < 0 else kind, layer
