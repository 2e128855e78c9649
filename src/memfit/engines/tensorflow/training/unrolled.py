"""The step in parts where several replicas run it: all parts in one graph, one after the other."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import tensorflow as tf
from keras.src import tree

from memfit.engines.tensorflow.training import parts
from memfit.engines.tensorflow.training.commit import commit, tensor
from memfit.engines.tensorflow.training.dependence import Dependence, arguments
from memfit.engines.tensorflow.training.setting import Setting
from memfit.engines.tensorflow.training.split import SEED, CannotSplit
from memfit.engines.tensorflow.training.weighting import Measured, Share, counted
from memfit.engines.tensorflow.training.withheld import Withheld, withheld


class Unrolled:
    """Each replica splits its own share of the batch. Nothing is written before every part is done."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._functions: dict[int, Any] = {}
        self._rounds = {0}
        self._writes_elsewhere = False

    def __call__(self, data: Any, count: int, spec: Any = None) -> Any:
        if count > parts.fewest(data):
            raise CannotSplit("a replica has too few samples")
        if count not in self._functions:
            described = data if spec is None else spec
            self._functions[count] = self._setting.traced(partial(self._run, count), described)
        if self._rounds != {0} or self._writes_elsewhere:
            raise CannotSplit("on several replicas, it depends on its own updates or writes to variables not of Keras")
        return self._functions[count](data)

    def can_save(self) -> bool:
        return False

    def be_frugal(self) -> None:
        """Each replica sums on its own device."""

    def caveats(self, layers: list[Any]) -> list[str]:
        return []

    def _run(self, count: int, data: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        start = len(graph.get_operations())
        total = tf.shape(next(leaf for leaf in tree.flatten(data) if leaf is not None))[0]
        cuts = [part * total // count for part in range(count + 1)]
        whole = self._denominators(data, cuts)
        sums: list[list[Any]] = []
        outputs: list[Any] = []
        carried: dict[int, tuple[Any, Any]] = {}
        before: list[Any] = []
        held = Withheld(graph)
        for low, high in pairwise(cuts):
            with tf.control_dependencies(before):
                piece = parts.piece(data, low, high)
                fraction = (high - low) / total
                with counted(Share(fraction, whole, fraction)), withheld(carried) as held:
                    outputs.append(self._setting.step(piece))
                found = Dependence(graph, arguments(graph), held)
                carried = self._carried(held, found)
                sums = _added(sums, held, fraction)
                before = [tensor(g) for row in sums for g in row if g is not None]
        self._rounds = {found.round_of(k) for k in range(len(held.updates))}
        self._writes_elsewhere = found.writes_elsewhere
        merged = _merged(outputs, [(high - low) / total for low, high in pairwise(cuts)], found)
        commit(held, sums, merged, since=start)
        return merged

    def _carried(self, held: Withheld, found: Dependence) -> dict[int, tuple[Any, Any]]:
        metrics = {id(v) for v in self._setting.metrics()}
        return {
            key: (variable, value)
            for key, (variable, value) in held.writes.items()
            if found.of(value).data or key in metrics or variable.name == SEED
        }

    def _denominators(self, data: Any, cuts: list[Any]) -> Any:
        one = tf.constant(1.0, tf.float64)
        share = Share(one, tf.ones((100,), tf.float64), one)
        with counted(share), withheld():
            self._setting.step(parts.piece(data, cuts[0], cuts[1]))
        if not share.own:
            return tf.zeros((0,), tf.float64)
        whole = tf.zeros((len(share.own),), tf.float64)
        for low, high in pairwise(cuts):
            measured = Share(one, None, one, wanted=len(share.own))
            try:
                with counted(measured), withheld():
                    self._setting.step(parts.piece(data, low, high))
            except Measured:
                whole += tf.stack(measured.own)
        return whole


def _added(sums: list[list[Any]], held: Withheld, fraction: Any) -> list[list[Any]]:
    rows = [[_weighted(g, fraction) for g in update.gradients] for update in held.updates]
    if not sums:
        return rows
    return [[_plus(a, b) for a, b in zip(old, new, strict=True)] for old, new in zip(sums, rows, strict=True)]


def _weighted(gradient: Any, fraction: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, tf.IndexedSlices):
        values = gradient.values * tf.cast(fraction, gradient.values.dtype)
        return tf.IndexedSlices(values, gradient.indices, gradient.dense_shape)
    return gradient * tf.cast(fraction, gradient.dtype)


def _plus(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, tf.IndexedSlices):
        values, indices = tf.concat([a.values, b.values], 0), tf.concat([a.indices, b.indices], 0)
        return tf.IndexedSlices(values, indices, a.dense_shape)
    return a + b


def _merged(outputs: list[Any], fractions: list[Any], found: Dependence) -> Any:
    leaves = [tree.flatten(output) for output in outputs]
    merged = []
    for values in zip(*leaves, strict=True):
        last = values[-1]
        averaged = tf.is_tensor(last) and last.dtype.is_floating and not found.of(last).state
        weighted = [v * tf.cast(f, v.dtype) for v, f in zip(values, fractions, strict=True)] if averaged else []
        merged.append(tf.add_n(weighted) if averaged else last)
    return tree.pack_sequence_as(outputs[0], merged)
