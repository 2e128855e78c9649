"""Data sets that hold no data but read it from the user's arrays row by row, and what real ones would hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from memfit.engines import DatasetFacts

_AUTOTUNED = 2
_OWN_MEMORY = ("Map", "Batch", "Generator", "Interleave", "FlatMap", "Zip", "Window")


def array_bytes(tensors: Any) -> int:
    import tensorflow as tf

    return sum(leaf.nbytes for leaf in tf.nest.flatten(tensors) if isinstance(leaf, np.ndarray))


def stand_in(tensors: Any, rows: bool) -> Any:
    """What `from_tensor_slices` (by rows) or `from_tensors` gives, without a copy of the arrays."""
    import tensorflow as tf

    leaves = [np.asarray(leaf) for leaf in tf.nest.flatten(tensors)]
    dtypes = [tf.as_dtype(leaf.dtype) for leaf in leaves]

    def element(index: Any) -> Any:
        values = tf.numpy_function(
            lambda i: [leaf[i] if rows else leaf for leaf in leaves], [index], dtypes, stateful=False
        )
        for value, leaf in zip(values, leaves, strict=True):
            value.set_shape(leaf.shape[1:] if rows else leaf.shape)
        return tf.nest.pack_sequence_as(tensors, values)

    data = tf.data.Dataset.range(len(leaves[0]) if rows else 1).map(element)
    data._memfit_source = leaves
    return data


def facts(data: Any) -> DatasetFacts | None:
    """What is known of a `tf.data.Dataset`: of its elements, and what it would hold. None if it is none."""
    import tensorflow as tf

    if not isinstance(data, tf.data.Dataset):
        return None
    stages = list(_stages(data))
    arrays = [array for stage in stages for array in _arrays(stage)]
    size = sum(array.nbytes for array in arrays)
    largest = max(arrays, key=lambda array: int(array.nbytes), default=None)
    batch = next((_value(stage, "_batch_size") for stage in stages if hasattr(stage, "_batch_size")), None)
    return DatasetFacts(
        elements=data.element_spec,
        batch=batch or _leading(data),
        bytes=size,
        dtype=None if largest is None else str(largest.dtype),
        buffers=sum(_buffered(stage, stages[index:]) for index, stage in enumerate(stages)),
    )


def _stages(data: Any) -> Iterator[Any]:
    """The data set and all that it is made from, the last stage first."""
    pending = [data]
    while pending:
        stage = pending.pop()
        yield stage
        if not hasattr(stage, "_memfit_source"):
            pending += stage._inputs()


def _arrays(stage: Any) -> list[Any]:
    if hasattr(stage, "_memfit_source"):
        return list(stage._memfit_source)
    return [np.empty(t.shape, t.dtype.as_numpy_dtype) for t in getattr(stage, "_tensors", []) if _is_plain(t)]


def _is_plain(tensor: Any) -> bool:
    return hasattr(tensor, "numpy") and tensor.dtype.is_numpy_compatible and tensor.shape.is_fully_defined()


def _buffered(stage: Any, before: list[Any]) -> int:
    """Bytes that a shuffle, cache or prefetch stage holds; rows of one tensor are shared, not copied."""
    kind = type(stage).__name__
    if not any(name in type(one).__name__ for one in before[1:] for name in _OWN_MEMORY if _is_real(one)):
        return 0
    each = _element_bytes(stage)
    if "Shuffle" in kind:
        return each * min(_value(stage, "_buffer_size") or 0, _count(stage))
    if "Cache" in kind and not _has_file(stage):
        return each * _count(stage)
    if "Prefetch" in kind:
        asked = _value(stage, "_buffer_size") or 0
        return each * (_AUTOTUNED if asked < 0 else asked)
    return 0


def _has_file(stage: Any) -> bool:
    name: Any = getattr(stage, "_filename", None)
    return name is not None and bool(name.numpy())


def _is_real(stage: Any) -> bool:
    return not hasattr(stage, "_memfit_source")


def _element_bytes(stage: Any) -> int:
    import tensorflow as tf

    batch = next((_value(one, "_batch_size") for one in _stages(stage) if hasattr(one, "_batch_size")), None) or 1
    total = 0
    for spec in tf.nest.flatten(stage.element_spec):
        shape = getattr(spec, "shape", None)
        if shape is not None and shape.rank is not None and spec.dtype.is_numpy_compatible:
            sizes = [batch if d is None and index == 0 else d or 1 for index, d in enumerate(shape.as_list())]
            total += math.prod(sizes) * spec.dtype.size
    return total


def _count(stage: Any) -> int:
    """Elements, as far as they can be counted."""
    found = int(stage.cardinality().numpy())
    return found if found >= 0 else 0


def _leading(data: Any) -> int | None:
    import tensorflow as tf

    first = tf.nest.flatten(data.element_spec)[0]
    return first.shape[0] if getattr(first, "shape", None) is not None and first.shape.rank else None


def _value(stage: Any, name: str) -> int | None:
    value: Any = getattr(stage, name, None)
    return int(value.numpy()) if hasattr(value, "numpy") else None
