"""Nested structures of arrays and specs, and random values for a spec."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Spec:
    """Shape and dtype of data whose values do not matter, but that integers stay below `bound`."""

    shape: tuple[int | None, ...]
    dtype: str
    name: str = "x"
    bound: int = 2


def flatten(structure: Any) -> list[Any]:
    if isinstance(structure, dict):
        structure = list(structure.values())
    if isinstance(structure, list | tuple):
        return [leaf for part in structure for leaf in flatten(part)]
    return [structure]


def map_structure(function: Any, structure: Any) -> Any:
    """Dicts, lists and tuples again, with `function` of each leaf; special kinds of them become plain ones."""
    if isinstance(structure, dict):
        return {key: map_structure(function, value) for key, value in structure.items()}
    if isinstance(structure, list | tuple):
        parts = [map_structure(function, value) for value in structure]
        return tuple(parts) if isinstance(structure, tuple) else parts
    return function(structure)


def dtype_name(dtype: Any) -> str:
    """Keras's name of a dtype; NumPy keeps strings as objects."""
    name = str(getattr(dtype, "name", dtype))
    return "string" if name == "object" or name.startswith("str") else name


def random_values(shape: tuple[int, ...], dtype: str, bound: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(0)
    if dtype == "string":
        return random.integers(0, bound, shape).astype(str).astype(object)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        return random.integers(0, min(bound, np.iinfo(dtype).max), shape).astype(dtype)
    if dtype == "bfloat16":
        import ml_dtypes

        return random.random(shape, np.float32).astype(ml_dtypes.bfloat16)
    if dtype == "float64":
        return random.random(shape)
    return random.random(shape, np.float32).astype(dtype, copy=False)
