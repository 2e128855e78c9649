"""What the data of a training call costs, known from sizes alone: none of it is put into the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from memfit import engines
from memfit.errors import BadInput
from memfit.models.batch import portable
from memfit.models.structure import Spec, dtype_name, flatten, map_structure
from memfit.remedies.remedy import Data

DEFAULT_BATCH = 32


@dataclass(frozen=True)
class Feed:
    """One stream of batches: specs of a batch, its size, and what the engine holds of the data meanwhile.

    `held` are the bytes during the steps, `at_start` those at the highest moment before the first one.
    """

    x: Any
    y: Any
    batch: int
    data: Data
    held: int
    at_start: int
    samples: int | None = None


def describe(x: Any, y: Any, batch_size: int | None) -> Feed:
    """The feed that `fit(x, y, batch_size)` makes."""
    facts = engines.current().dataset_facts(x) if x is not None else None
    if facts is not None:
        return _of_dataset(facts)
    if hasattr(x, "__getitem__") and hasattr(x, "__len__") and not _is_data(x):
        return _of_batches(x[0])  # a PyDataset: its own first batch
    if hasattr(x, "__next__") or (hasattr(x, "__iter__") and not _is_data(x)):
        return _of_batches(next(iter(x)))
    return _of_arrays(x, y, batch_size or DEFAULT_BATCH)


def _of_arrays(x: Any, y: Any, batch: int) -> Feed:
    leaves = [leaf for leaf in flatten((_plain(x), _plain(y))) if leaf is not None]
    if not leaves:
        raise BadInput("fit was called without data")
    size = sum(_nbytes(leaf) for leaf in leaves)
    held = sum(_held(leaf) for leaf in leaves)
    samples = len(leaves[0])
    data = Data(size, 1, _main_dtype(leaves))
    x_specs, y_specs = (map_structure(_spec, _plain(part)) for part in (x, y))
    return Feed(x_specs, y_specs, min(batch, samples), data, held, held, samples)


def _of_dataset(facts: engines.DatasetFacts) -> Feed:
    x, y = _split(map_structure(_open, portable(facts.elements, 1)))
    data = Data(facts.bytes, 2 if facts.bytes else 0, facts.dtype or _main_dtype(flatten(x)))
    held = facts.bytes + facts.buffers
    return Feed(x, y, facts.batch or DEFAULT_BATCH, data, held, max(data.held, held))


def _of_batches(batch: Any) -> Feed:
    x, y = _split(map_structure(_spec, _plain(batch)))
    first = next((leaf for leaf in flatten(_plain(batch)) if leaf is not None), None)
    size = len(first) if first is not None and len(first.shape) else 1
    return Feed(x, y, size, Data(0, 0, _main_dtype(flatten(x))), 0, 0)


def _split(element: Any) -> tuple[Any, Any]:
    """(x, y) of what a data set gives: x, (x,), (x, y) or (x, y, weights)."""
    if isinstance(element, tuple):
        return element[0], element[1] if len(element) > 1 else None
    return element, None


def _plain(part: Any) -> Any:
    """Data frames and lists of numbers as arrays; their structure is kept."""
    if isinstance(part, dict):
        return {key: _plain(value) for key, value in part.items()}
    if isinstance(part, tuple):
        return tuple(_plain(value) for value in part)
    if isinstance(part, list) and part and hasattr(part[0], "shape"):
        return [_plain(value) for value in part]
    if part is None or (hasattr(part, "shape") and hasattr(part, "dtype")):
        return part
    return np.asarray(part)


def _is_data(x: Any) -> bool:
    return isinstance(x, dict | list | tuple) or hasattr(x, "shape")


def _spec(leaf: Any) -> Any:
    if leaf is None:
        return None
    dtype = dtype_name(leaf.dtype)
    return Spec((None, *tuple(leaf.shape)[1:]), _floatx() if dtype == "float64" else dtype)


def _open(leaf: Any) -> Any:
    return Spec((None, *leaf.shape[1:]), leaf.dtype) if isinstance(leaf, Spec) else leaf


def _nbytes(leaf: Any) -> int:
    return int(np.prod(leaf.shape, dtype=np.int64)) * _width(leaf)


def _held(leaf: Any) -> int:
    """`fit` turns float64 into Keras's own float before the engine gets it."""
    wide = dtype_name(leaf.dtype) == "float64"
    return _nbytes(leaf) // 8 * np.dtype(_floatx()).itemsize if wide else _nbytes(leaf)


def _floatx() -> str:
    import keras

    return str(keras.config.floatx())


def _width(leaf: Any) -> int:
    size = getattr(leaf.dtype, "itemsize", None) or getattr(leaf.dtype, "size", None)
    return int(size or np.dtype(dtype_name(leaf.dtype)).itemsize)


def _main_dtype(leaves: list[Any]) -> str:
    known = [leaf for leaf in leaves if leaf is not None]
    sized = [leaf for leaf in known if not isinstance(leaf, Spec)]
    largest = max(sized, key=_nbytes) if sized else (known[0] if known else None)
    return "none" if largest is None else dtype_name(largest.dtype)
