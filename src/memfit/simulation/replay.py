"""The same order of allocations at another batch size: what a full simulation would find, in milliseconds."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from memfit.simulation.allocator import ALIGNMENT, Allocator, rounded
from memfit.simulation.graph import Kind, StepGraph
from memfit.simulation.holdings import Holdings, owner_of
from memfit.simulation.memory import INPUT, Event

SMALL = 1 << 12  # requests so much smaller than the largest are counted, but not laid out


@dataclass(frozen=True)
class Replayed:
    peak: int
    requested: int
    held: Holdings


class Recording:
    """Allocations in their order, each with the way to its size at any batch.

    An action is the number of an allocation and the key to its size, or the inverted key where it is given back.
    """

    def __init__(self, graph: StepGraph, batch: int, events: list[Event]) -> None:
        self.graph, self.batch = graph, batch
        self.keys: dict[tuple[int, int, int], int] = {}
        self.actions: list[tuple[int, int]] = []
        live: dict[int, tuple[int, int]] = {}
        for event in events:
            if event.bytes < 0:
                number, key = live.pop(event.address)
                self.actions.append((number, ~key))
            else:
                key = self.keys.setdefault((event.label, event.part, event.bytes), len(self.keys))
                live[event.address] = len(self.actions), key
                self.actions.append((len(self.actions), key))

    def at(self, batch: int) -> Replayed:
        temps: dict[int, list[int]] = {}
        sizes = [self._size(label, part, size, batch, temps) for label, part, size in self.keys]
        peak, requested, moment = self._laid_out(sizes)
        return Replayed(peak, requested, self._held(sizes, moment))

    def _laid_out(self, sizes: list[int]) -> tuple[int, int, int]:
        """Peak of the allocator and of the requests on an empty allocator, and after which action most is held."""
        allocator = Allocator(watches_touches=False)
        allocate, release = allocator.allocate, allocator.release
        release(allocate(1))  # the first region is a small one, whatever is left out below
        where: dict[int, int] = {}
        taken = [rounded(size) for size in sizes]
        small = max(sizes, default=0) // SMALL
        peak = beside = asked = highest = held = most = moment = 0
        for place, (number, key) in enumerate(self.actions):
            if key < 0:
                asked -= sizes[~key]
                held -= taken[~key]
                if number in where:
                    release(where.pop(number))
                else:
                    beside -= taken[~key]
                continue
            asked += sizes[key]
            held += taken[key]
            if asked > highest:
                highest = asked
            if held > most:
                most, moment = held, place
            if sizes[key] > small:
                where[number] = allocate(sizes[key])
            else:
                beside += taken[key]
            if allocator.in_use + beside > peak:
                peak = allocator.in_use + beside
        remembered = ALIGNMENT * self.graph.remembered * self.graph.traces
        return peak + remembered, highest, moment

    def _held(self, sizes: list[int], moment: int) -> Holdings:
        live: dict[int, int] = {}
        for number, key in self.actions[: moment + 1]:
            if key < 0:
                del live[number]
            else:
                live[number] = key
        described = list(self.keys)
        found: Holdings = Counter()
        for key in live.values():
            label, part, _ = described[key]
            found[owner_of(self.graph, label, part)] += sizes[key]
        return found

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
