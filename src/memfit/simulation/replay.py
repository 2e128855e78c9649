"""The same order of allocations at another batch size: what a full simulation would find, in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass

from memfit.simulation.allocator import Allocator
from memfit.simulation.graph import Kind, StepGraph
from memfit.simulation.holdings import Holdings, at_peak
from memfit.simulation.memory import INPUT, Event

SMALL = 1 << 10  # requests below it are counted, but not laid out


@dataclass(frozen=True)
class Replayed:
    peak: int
    requested: int
    held: Holdings


class Recording:
    """Allocations in their order, each with the way to its size at any batch."""

    def __init__(self, graph: StepGraph, batch: int, events: list[Event]) -> None:
        self.graph, self.batch = graph, batch
        self.keys: dict[tuple[int, int, int], int] = {}
        self.actions: list[tuple[int, int]] = []
        live: dict[int, int] = {}
        for event in events:
            if event.bytes < 0:
                self.actions.append((live.pop(event.address), -1))
            else:
                key = self.keys.setdefault((event.label, event.part, event.bytes), len(self.keys))
                live[event.address] = len(self.actions)
                self.actions.append((len(self.actions), key))

    def at(self, batch: int) -> Replayed:
        events = self._events(batch)
        peak, requested = _laid_out(events)
        return Replayed(peak, requested, at_peak(self.graph, events))

    def _events(self, batch: int) -> list[Event]:
        """The recorded events with the sizes of another batch; an allocation's number stands for its address."""
        temps: dict[int, list[int]] = {}
        sized = [(self._size(label, part, size, batch, temps), label, part) for label, part, size in self.keys]
        return [Event(number, -1, 0, 0) if key < 0 else Event(number, *sized[key]) for number, key in self.actions]

    def _size(self, label: int, part: int, size: int, batch: int, temps: dict[int, list[int]]) -> int:
        if label == INPUT:
            return self.graph.inputs[part].at(batch)
        if label < 0:
            return size
        node = self.graph.nodes[label]
        if part < 0:
            return self._temporary(label, part, batch, temps)
        if node.kind == Kind.LIST:
            return size * batch // self.batch
        sized = part < len(node.outputs) and node.kind in (Kind.COMPUTE, Kind.CONSTANT, Kind.ALIAS)
        return node.outputs[part].at(batch) if sized else size

    def _temporary(self, label: int, part: int, batch: int, temps: dict[int, list[int]]) -> int:
        if label not in temps:
            rule = self.graph.nodes[label].temps
            temps[label] = rule(batch) if rule else []
        wanted = temps[label]
        return wanted[-1 - part] if -1 - part < len(wanted) else 0


def _laid_out(events: list[Event]) -> tuple[int, int]:
    """Peak of the allocator and of the requests when the events are played on an empty allocator."""
    allocator = Allocator()
    allocator.release(allocator.allocate(1))  # the first region is a small one, whatever is left out below
    where: dict[int, int] = {}
    held: dict[int, int] = {}
    asked = highest = 0
    for number, size, _, _ in events:
        if size < 0:
            asked -= held.pop(number)
            if number in where:
                allocator.release(where.pop(number))
            continue
        held[number] = size
        asked += size
        highest = max(highest, asked)
        if size >= SMALL:
            where[number] = allocator.allocate(size)
    return max(allocator.peak, highest), highest
