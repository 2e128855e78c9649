"""Variables that have a shape and a dtype but no memory, so that a model of any size can be built and traced."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

_ALIGNMENT = 64
SMALL = 2**14  # elements; smaller variables are made for real, as seeds and counters must be


@contextmanager
def unallocated() -> Iterator[None]:
    """Keras variables made in this block take no memory. `initializer_of` tells how each would have been filled."""
    from keras.src.backend.tensorflow.core import Variable
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    initialize, assign = Variable._initialize_with_initializer, Variable._direct_assign

    def without_memory(self: Any, initializer: Any) -> None:
        self._memfit_initializer = initializer
        if math.prod(self._shape) < SMALL:
            initialize(self, initializer)
        else:
            self._value = UninitializedVariable(
                shape=self._shape, dtype=self._dtype, trainable=self.trainable, name=self.name
            )

    def unless_empty(self: Any, value: Any) -> None:
        if not isinstance(self._value, UninitializedVariable) or _in_a_graph():
            assign(self, value)

    with (
        mock.patch.object(Variable, "_initialize_with_initializer", without_memory),
        mock.patch.object(Variable, "_direct_assign", unless_empty),
    ):
        yield


def initializer_of(variable: Any) -> Any:
    return getattr(variable, "_memfit_initializer", None)


def _in_a_graph() -> bool:
    import tensorflow as tf

    return not tf.executing_eagerly()


def back_with_untouched_pages(variables: list[Any]) -> None:
    """XLA compiles only for variables that hold something: give them zeros that the system has not yet paid for."""
    import numpy as np
    import tensorflow as tf
    from tensorflow.python.ops.resource_variable_ops import UninitializedVariable

    for variable in variables:
        if isinstance(variable._value, UninitializedVariable):
            dtype = tf.as_dtype(variable.dtype)
            size = math.prod(variable.shape) * dtype.size
            pages = np.zeros(size + _ALIGNMENT, np.uint8)
            start = -pages.ctypes.data % _ALIGNMENT
            values = tf.experimental.dlpack.from_dlpack(pages[start : start + size].__dlpack__())
            typed = tf.bitcast(tf.reshape(values, (*variable.shape, dtype.size)), dtype) if dtype.size > 1 else values
            tf.raw_ops.AssignVariableOp(resource=variable._value.handle, value=typed)
