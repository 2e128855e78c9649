"""Loops: a frame for each, an iteration for each time round."""

from __future__ import annotations

from collections import Counter
from typing import Any


class Iteration:
    """What the nodes of a frame still wait for, and the inputs that have come, in one time round."""

    __slots__ = ("dead", "dead_inputs", "frame", "index", "inputs", "live", "outstanding", "pending")

    def __init__(self, frame: Frame, index: int, pending: dict[int, int]) -> None:
        self.frame, self.index, self.pending = frame, index, pending
        self.inputs: dict[int, list[Any]] = {}
        self.outstanding = 0
        self.live: set[int] = set()
        self.dead: set[int] = set()
        self.dead_inputs: Counter[int] = Counter()


class Frame:
    """A loop that runs, with at most `parallel` iterations at once; further ones are deferred."""

    __slots__ = (
        "awaited",
        "constants",
        "count",
        "deferred",
        "iterations",
        "name",
        "parallel",
        "parent",
        "parent_iteration",
    )

    def __init__(self, name: str, parent: Frame | None, parent_iteration: Iteration | None, parallel: int) -> None:
        self.name, self.parent, self.parent_iteration, self.parallel = name, parent, parent_iteration, parallel
        self.iterations: dict[int, Iteration] = {}
        self.constants: list[tuple[int, Any]] = []
        self.deferred: list[tuple[int, Any]] = []
        self.count = 0
        self.awaited = 0
