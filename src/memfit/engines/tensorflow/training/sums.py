"""Sums of gradients: on the device, or, where it has no room for another set of them, in the host's memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, Protocol
from unittest import mock

import numpy as np
import tensorflow as tf
from keras.src.backend.tensorflow.optimizer import TFOptimizer

from memfit.engines.tensorflow.aligned import aligned

AT_ONCE = 1 << 17  # elements: a product that stays in the processor's cache


class Sum(Protocol):
    def add(self, gradient: Any, weight: Any, first: Any) -> Any:
        """To what an earlier part left, or, for the first one, in its place. Returns what is there once it is done."""

    def value(self) -> Any: ...
    def norm(self) -> float: ...


class OnDevice:
    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._total = tf.Variable(tf.zeros(shape, dtype), trainable=False, name="memfit_sum")

    def add(self, gradient: Any, weight: Any, first: Any) -> Any:
        share = gradient * tf.cast(weight, gradient.dtype)
        return tf.cond(first, lambda: self._total.assign(share), lambda: self._total.assign_add(share))

    def value(self) -> Any:
        return self._total.value()

    def norm(self) -> float:
        return float(np.linalg.norm(self._total.numpy()))


class OnHost:
    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._total = aligned(shape, dtype.as_numpy_dtype)
        self._total.fill(0)
        self._dtype = dtype

    def add(self, gradient: Any, weight: Any, first: Any) -> Any:
        return tf.numpy_function(self._add, [gradient, weight, first], [])

    def _add(self, gradient: Any, weight: Any, first: Any) -> None:
        total, added = self._total.reshape(-1), gradient.reshape(-1)
        share = weight.astype(added.dtype)
        for start in range(0, added.size, AT_ONCE):
            piece = slice(start, start + AT_ONCE)
            if first:
                np.multiply(added[piece], share, out=total[piece])
            else:
                total[piece] += added[piece] * share

    def value(self) -> Any:
        total = tf.numpy_function(lambda: self._total, [], self._dtype)
        total.set_shape(self._total.shape)
        return total

    def norm(self) -> float:
        return float(np.linalg.norm(self._total))


def add_in_turn(found: list[tuple[Any, Sum]], weight: Any, first: Any) -> None:
    """Each gradient is made when the one before has been added: to the host they go more slowly than they are made."""
    made = _numbered()
    in_order = sorted(found, key=lambda pair: made[pair[0].op])
    free = not _acts(op for op, number in made.items() if in_order and number > made[in_order[0][0].op])
    added: list[Any] = []
    earlier: Any = None
    for gradient, total in in_order:
        if free and gradient.op is not earlier and gradient.op.type != "Placeholder":
            gradient.op._add_control_inputs(added)
        added, earlier = [total.add(gradient, weight, first)], gradient.op


def apply_in_turn(apply: Callable[[list[Any]], Any], gradients: list[Any], variables: list[Any]) -> None:
    """An optimizer's update for which each sum is read when the variable before it has been updated.

    Where the update of one reads the sum of another, as in clipping by the global norm, they are read at once.
    """
    with mock.patch.object(TFOptimizer, "_all_reduce_sum_gradients", lambda self, pairs: pairs):  # over one replica
        apply(gradients)
    pairs = zip(gradients, variables, strict=True)
    read = {g.op: v for g, v in pairs if tf.is_tensor(g) and g.op.type == "PyFunc"}
    graph, made = tf.compat.v1.get_default_graph(), _numbered()
    owner = {op: sum_ for sum_, v in read.items() for op in _writers(graph.capture(v._value.handle))}
    updates = {sum_: [op for op in _following(sum_, made) if op in owner] for sum_ in read}
    if _acts(made.keys() - read.keys()) or any(owner[op] is not sum_ for sum_, ops in updates.items() for op in ops):
        return
    for earlier, later in pairwise(read):
        later._add_control_inputs(updates[earlier])


def _numbered() -> dict[Any, int]:
    return {op: number for number, op in enumerate(tf.compat.v1.get_default_graph().get_operations())}


def _acts(ops: Iterable[Any]) -> bool:
    """Does any do more than compute and use variables? TensorFlow will run those, and what is added here, in order."""
    return any(op.op_def.is_stateful and not any(t.dtype == tf.resource for t in op.inputs) for op in ops)


def _writers(handle: Any) -> list[Any]:
    return [op for op in handle.consumers() if op.type != "ReadVariableOp"]


def _following(op: Any, made: dict[Any, int]) -> Iterator[Any]:
    """All that depends on `op`, also through the variables that are written."""
    seen, waiting = {op}, [op]
    while waiting:
        current = waiting.pop()
        yield current
        outputs = [c for output in current.outputs for c in output.consumers()]
        written = [handle for handle in current.inputs if handle.dtype == tf.resource and current in _writers(handle)]
        later = [c for handle in written for c in handle.consumers() if made[c] > made[current]]
        for follower in {*outputs, *later, *current._control_outputs} - seen:
            seen.add(follower)
            waiting.append(follower)
