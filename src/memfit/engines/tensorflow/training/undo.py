"""Variables as they were, to be put back after a step that failed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf


class Undo:
    """The values of `variables` now.

    Held by reference: TensorFlow copies a value only when the variable is next written to. With `on_host`, copied out
    of the device, where there may be no room for a second set.
    """

    def __init__(self, variables: Iterable[Any], *, on_host: bool = False) -> None:
        parts = {id(part): part for variable in variables for part in _parts(variable)}
        self._saved = [(part, part.numpy() if on_host else part.value()) for part in parts.values()]

    def restore(self) -> None:
        for variable, value in self._saved:
            variable.assign(value)

    def values(self) -> list[tuple[Any, Any]]:
        return self._saved


def size(variables: Iterable[Any]) -> int:
    """Bytes that the variables hold."""
    parts = {id(part): part for variable in variables for part in _parts(variable)}
    return sum(part.shape.num_elements() * part.dtype.size for part in parts.values())


def _parts(variable: Any) -> list[tf.Variable]:
    """The TensorFlow variables behind a Keras variable: one, or one for each replica."""
    held = getattr(variable, "_value", variable)
    return list(held.values) if isinstance(held, tf.distribute.DistributedValues) else [held]
