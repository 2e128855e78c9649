"""What the values of a traced step depend on: its data, its own state, weights that it has just updated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.training.withheld import Withheld

WRITES = ("Assign", "ResourceScatter", "ResourceApply", "Rng", "StatefulUniform", "StatefulStandard", "StatefulRandom")
SEEDED = ("StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncated")  # as Keras's layers draw
FREE = ("StatelessMultinomial", "Multinomial", "StatelessRandomGamma", "Random", "TruncatedNormal")


@dataclass(frozen=True)
class Origin:
    """`round`: how many updates of weights must have happened before this value can be computed."""

    round: int = 0
    data: bool = False
    state: bool = False


class Dependence:
    """Origins of all values of the graph in which `held` was traced."""

    def __init__(self, graph: Any, arguments: list[Any], held: Withheld) -> None:
        self._origins: dict[str, Origin] = {t.op.name: Origin(data=True) for t in arguments}
        self._held = held
        self.writes_elsewhere = held.escaped or _nested_writes(graph)
        self.random = self.draws_freely = False
        inner = {id(outer): captured.name for outer, captured in graph.captures}
        self._updated = [{inner.get(id(_handle(v))) for v in update.variables} - {None} for update in held.updates]
        self._state = {inner.get(id(_handle(variable))) for variable, _ in held.writes.values()} - {None}
        self._rounds: dict[int, int] = {}
        for position, op in enumerate(graph.get_operations()):
            self._visit(position, op)

    def of(self, value: Any) -> Origin:
        if isinstance(value, tf.IndexedSlices):
            value = value.values
        op = getattr(value, "op", None)
        return self._origins.get(op.name, Origin()) if op is not None else Origin()

    def round_of(self, update: int) -> int:
        if update not in self._rounds:
            gradients = [g for g in self._held.updates[update].gradients if g is not None]
            self._rounds[update] = max((self.of(g).round for g in gradients), default=0)
        return self._rounds[update]

    def _visit(self, position: int, op: Any) -> None:
        if op.name in self._origins:
            return
        self.writes_elsewhere |= position >= self._held.start and op.type.startswith(WRITES)
        self.draws_freely |= op.type.startswith(FREE)
        self.random |= op.type.startswith(SEEDED + FREE)
        inputs = [self._origins.get(t.op.name, Origin()) for t in op.inputs]
        read = {t.name for t in op.inputs if t.dtype == tf.resource}
        later = [
            self.round_of(k) + 1
            for k, update in enumerate(self._held.updates)
            if read and position >= update.ops_before and read & self._updated[k]
        ]
        self._origins[op.name] = Origin(
            round=max([*(origin.round for origin in inputs), *later], default=0),
            data=any(origin.data for origin in inputs),
            state=bool(read & self._state) or any(origin.state for origin in inputs),
        )


def arguments(graph: Any) -> list[Any]:
    """What a traced function is called with, captured variables left out."""
    captured = {inner.op.name for _, inner in graph.captures}
    return [t for t in graph.inputs if t.op.name not in captured]


def _nested_writes(graph: Any) -> bool:
    """Does a branch, a loop or a function that the step calls write something?"""
    nested = (function.cached_definition for function in graph._functions.values())
    return any(node.op.startswith(WRITES) for definition in nested for node in definition.node_def)


def _handle(variable: Any) -> Any:
    return getattr(getattr(variable, "_value", variable), "handle", None)
