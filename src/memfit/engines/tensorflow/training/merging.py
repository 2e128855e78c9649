"""What a step returns, from what its parts return.

Of each result is known whether it is `averaged`, and the round of the step in which it is final.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from keras.src import tree

Known = list[tuple[bool, int]]


def merged(outputs: list[Any], known: Known, weights: list[float], ranges: list[tuple[int, int]]) -> Any:
    """Results that read metrics are those of the last part; other single numbers are averaged by samples."""
    leaves = [tree.flatten(output) for output in outputs]
    results = []
    for index, values in enumerate(zip(*leaves, strict=True)):
        averaged = known[index][0] if index < len(known) else False
        results.append(_merge(values, weights, ranges, averaged))
    return tree.pack_sequence_as(outputs[0], results)


def chosen(current: int, new: Any, old: Any, known: Known) -> Any:
    """The new results that are final in this round, and the old ones."""
    triples = zip(tree.flatten(new), tree.flatten(old), known, strict=True)
    return tree.pack_sequence_as(new, [n if turn == current else o for n, o, (_, turn) in triples])


def _merge(values: tuple[Any, ...], weights: list[float], ranges: list[tuple[int, int]], averaged: bool) -> Any:
    first = values[0]
    if not tf.is_tensor(first):
        return values[-1]
    if len(first.shape) and all(v.shape[0] == high - low for v, (low, high) in zip(values, ranges, strict=True)):
        return tf.concat(values, 0)
    if averaged and first.dtype.is_floating:
        return tf.add_n([v * tf.cast(weight, v.dtype) for v, weight in zip(values, weights, strict=True)])
    return values[-1]
