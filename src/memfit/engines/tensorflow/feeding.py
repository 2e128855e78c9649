"""Arrays that stay in NumPy and are handed to TensorFlow by slices: the same batches, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import keras
import numpy as np
import tensorflow as tf
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter

from memfit.engines.tensorflow.aligned import aligned

TooLarge = Callable[[int], bool]

plainly: Callable[[Any], Any] = tf.autograph.experimental.do_not_convert
READ_AT_ONCE = 4 << 20  # bytes of a slice of `from_tensor_slices`


@contextmanager
def arrays_by_slices(too_large: TooLarge) -> Iterator[None]:
    """In this block `fit`, `evaluate` and `predict` take arrays of which `too_large(bytes)` holds by batches."""
    whole = ArrayDataAdapter.get_tf_dataset

    def get_tf_dataset(self: Any) -> Any:
        arrays = keras.tree.flatten(self._inputs)
        if not all(is_plain(array) for array in arrays) or not too_large(size(arrays)):
            return whole(self)
        return by_batches(self, whole)

    with mock.patch.object(ArrayDataAdapter, "get_tf_dataset", get_tf_dataset):
        yield


@contextmanager
def datasets_by_slices(too_large: TooLarge) -> Iterator[None]:
    """In this block `Dataset.from_tensor_slices` leaves such arrays in NumPy."""
    whole = tf.data.Dataset.from_tensor_slices

    def from_tensor_slices(tensors: Any, name: str | None = None) -> Any:
        arrays = tf.nest.flatten(tensors)
        same = all(is_plain(array) for array in arrays) and len({len(array) for array in arrays}) == 1
        if not same or not too_large(2 * size(arrays)):
            return whole(tensors, name=name)
        return by_elements(tensors, name)

    with mock.patch.object(tf.data.Dataset, "from_tensor_slices", staticmethod(from_tensor_slices)):
        yield


def is_plain(array: Any) -> bool:
    return isinstance(array, np.ndarray) and array.ndim > 0 and array.dtype.kind in "fiub"


def size(arrays: list[Any]) -> int:
    return sum(array.nbytes for array in arrays)


def by_batches(adapter: Any, whole: Callable[[Any], Any]) -> Any:
    """Keras's own data set over the samples' numbers, shuffled as Keras does it, and each batch read by its numbers."""
    arrays = keras.tree.lists_to_tuples(adapter._inputs)
    numbers = ArrayDataAdapter(
        np.arange(adapter._num_samples), batch_size=adapter._batch_size, shuffle=adapter._shuffle
    )

    def read(chosen: Any) -> Any:
        return reading(arrays, chosen, as_keras_casts)

    return whole(numbers).map(plainly(read)).prefetch(1)


def by_elements(arrays: Any, name: str | None) -> Any:
    """Slices of a few MiB, taken apart again by TensorFlow."""
    flat = tf.nest.flatten(arrays)
    count = len(flat[0])
    at_once = max(1, min(count, READ_AT_ONCE * count // max(1, size(flat))))
    starts = tf.data.Dataset.range(0, count, at_once, name=name)

    def read(start: Any) -> Any:
        return reading(arrays, tf.range(start, tf.minimum(start + at_once, count)), unchanged)

    return starts.map(plainly(read)).unbatch().apply(tf.data.experimental.assert_cardinality(count))


def reading(arrays: Any, chosen: Any, dtype_of: Callable[[Any], Any]) -> Any:
    """The chosen samples of each array, read when a batch is made."""

    def read(array: Any) -> Any:
        dtype = dtype_of(array)
        taken = tf.numpy_function(lambda indices: take(array, indices, dtype), [chosen], dtype, stateful=False)
        taken.set_shape([chosen.shape[0], *array.shape[1:]])
        return taken

    return tf.nest.map_structure(read, arrays)


def take(array: Any, indices: Any, dtype: Any) -> Any:
    """A copy in the host's memory, none of it in the device's."""
    first, count = int(indices[0]), len(indices)
    in_a_row = count == 1 or (int(indices[-1]) - first == count - 1 and bool((np.diff(indices) == 1).all()))
    taken = aligned((count, *array.shape[1:]), dtype)
    taken[...] = array[first : first + count] if in_a_row else array[indices]
    return taken


def as_keras_casts(array: Any) -> Any:
    """Keras casts floats to its default type."""
    return np.dtype(keras.config.floatx()) if array.dtype.kind == "f" else array.dtype


def unchanged(array: Any) -> Any:
    return array.dtype
