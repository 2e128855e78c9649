"""Buffers with reference counts on a simulated allocator, and the log of what was asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from memfit.simulation.allocator import Allocator

DEAD = object()  # what stands for the value of a branch that was not taken
INPUT = -1  # the label of a step's arguments; an operation's is its index
_FIRST_VARIABLE = -2


def variable_label(index: int) -> int:
    return _FIRST_VARIABLE - index


def labelled_variable(label: int) -> int:
    return _FIRST_VARIABLE - label


class Event(NamedTuple):
    """An allocation, or (bytes -1) a release. `part` is the output k, or the temporary -1 - k."""

    address: int
    bytes: int
    label: int
    part: int


class Buffer:
    """Memory that several values may share. A list of tensors has no bytes of its own but holds `items`."""

    __slots__ = ("address", "items", "label", "refs", "request", "value")

    def __init__(self, address: int, request: int, label: int) -> None:
        self.refs, self.address, self.request, self.label = 1, address, request, label
        self.value: Any = None
        self.items: list[Buffer | None] | None = None


class Memory:
    """Allocations by label, with the highest moments of what was asked for and of what the allocator holds."""

    def __init__(self, allocator: Allocator, log: list[Event] | None) -> None:
        self.allocator = allocator
        self.log = log
        self.asked = 0
        self.asked_peak = 0

    def new(self, request: int, label: int, part: int = 0) -> Buffer:
        buffer = Buffer(self.allocator.allocate(request), request, label)
        self.asked += request
        if self.log is not None:
            self.log.append(Event(buffer.address, request, label, part))
        if self.asked > self.asked_peak:
            self.asked_peak = self.asked
        return buffer

    def drop_all(self, buffers: Iterable[Any]) -> None:
        for buffer in buffers:
            if buffer is not None and buffer is not DEAD:
                if buffer.refs > 1:
                    buffer.refs -= 1
                else:
                    self.drop(buffer)

    def drop(self, buffer: Buffer | None) -> None:
        if buffer is None:
            return
        buffer.refs -= 1
        if buffer.refs:
            return
        if buffer.address >= 0:
            self.asked -= buffer.request
            if self.log is not None:
                self.log.append(Event(buffer.address, -1, buffer.label, 0))
            self.allocator.release(buffer.address)
        for item in buffer.items or ():
            self.drop(item)
