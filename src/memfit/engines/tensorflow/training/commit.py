"""Write what a step withheld, once all of it exists."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.training.withheld import Withheld

PASSIVE = ("ReadVariableOp", "VarHandleOp", "Placeholder")


def commit(
    held: Withheld, gradients: list[list[Any]], outputs: Any, *, since: int, begun: tf.Variable | None = None
) -> None:
    """Everything that the graph does `since` that many ops comes first.

    `begun` counts the steps that have started to write: from then on a failure is not without traces.
    """
    values = [value for _, value in held.writes.values()]
    computed = [*values, *(g for row in gradients for g in row), *tf.nest.flatten(outputs)]
    done = held.graph.get_operations()[since:]
    acting = [op for op in done if op.op_def.is_stateful and op.type not in PASSIVE]
    with tf.control_dependencies([*map(tensor, filter(_is_computed, computed)), *acting]):
        complete = tf.no_op("memfit_complete")
    with tf.control_dependencies([complete]):
        if begun is not None:
            begun.assign_add(1)
        for variable, value in held.writes.values():
            variable.assign(value)
        for update, row in zip(held.updates, gradients, strict=True):
            update.apply(row)


def tensor(value: Any) -> Any:
    return value.values if isinstance(value, tf.IndexedSlices) else value


def _is_computed(value: Any) -> bool:
    return tf.is_tensor(value) or isinstance(value, tf.IndexedSlices)
