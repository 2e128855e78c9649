"""Shapes whose batch dimension is symbolic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.step.trace import StandIn
from memfit.simulation.graph import Size


@dataclass(frozen=True)
class Shape:
    dims: tuple[int, ...]
    dtype: int
    width: int
    known: bool
    stand_in: StandIn
    guessed: bool = False  # to be like that of an input

    @property
    def elements(self) -> int:
        return math.prod(self.dims)

    def at(self, batch: int) -> list[int]:
        mark = self.stand_in
        return [d * batch // mark.batch if mark.of_batch(d) else d for d in self.dims]

    def count(self, batch: int) -> int:
        return math.prod(self.at(batch))

    def size(self) -> Size:
        degree = sum(1 for d in self.dims if self.stand_in.of_batch(d))
        return Size(self.elements * self.width / self.stand_in.batch**degree, degree)


def width(dtype: int) -> int:
    try:
        return int(tf.as_dtype(dtype).size or 0)
    except (TypeError, ValueError):
        return 0


HANDLES = {tf.resource.as_datatype_enum, tf.variant.as_datatype_enum, tf.string.as_datatype_enum}


def from_property(prop: Any, stand_in: StandIn) -> Shape:
    shape = prop.shape
    dims = tuple(d.size for d in shape.dim)
    known = not shape.unknown_rank and all(d >= 0 for d in dims)
    bytes_each = 0 if prop.dtype in HANDLES else width(prop.dtype % 100)
    return Shape(dims if not shape.unknown_rank else (), prop.dtype % 100, bytes_each, known, stand_in)


def argument_size(tensor: Any, stand_in: StandIn) -> Size:
    dtype = tensor.dtype.as_datatype_enum
    dims = tuple(stand_in.batch if d is None else d for d in tensor.shape.as_list())
    return Shape(dims, dtype, width(dtype), True, stand_in).size()
