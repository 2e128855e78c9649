"""Is a step the sum over its samples? Tried out, on three of them, before it is split."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from keras import layers

from memfit.engines.tensorflow.training.undo import Undo

MEAN, SUMS, COUPLED, UNKNOWN = "mean", "sums", "coupled", "unknown"
COUPLING = (layers.BatchNormalization,)
NEAR = 1e-3  # of a gradient's norm; samples that see each other change it by far more
SMALL = 1e-3  # of the largest gradient: below it, a gradient's rounding says nothing


class Gradients(Protocol):
    """Runs parts of a batch, and tells the norms of what their weighted gradients sum to."""

    def __call__(self, data: Any, ranges: list[tuple[int, int]], weights: list[float], *, add: bool) -> list[float]: ...


def check(gradients: Gradients, data: Any, state: Callable[[], Undo]) -> str:
    """`MEAN`: a batch's gradient is the mean over its samples; `SUMS`: their sum; `COUPLED`: neither."""
    undo = state()
    whole, parts = [(0, 3)], [(0, 1), (1, 3)]
    try:
        for answer, weights in ((MEAN, [-1 / 3, -2 / 3]), (SUMS, [-1.0, -1.0])):
            norms = gradients(data, whole, [1.0], add=False)
            left = gradients(data, parts, weights, add=True)
            if _vanishes(norms, left):
                return answer
    finally:
        undo.restore()
    return COUPLED


def _vanishes(norms: list[float], left: list[float]) -> bool:
    least = SMALL * max(norms)
    return all(rest <= NEAR * max(norm, least) for norm, rest in zip(norms, left, strict=True))
