"""Two narrow layers in place of one large weight matrix."""

from __future__ import annotations

from memfit.remedies.calls import about
from memfit.remedies.remedy import Exactness, Remedy, Situation


class FactorisedDense(Remedy):
    name = "factorised_dense"
    exactness: Exactness = "model"
    against = ("model_too_large",)

    def why(self, situation: Situation) -> str | None:
        if situation.shape is None or len(situation.shape) != 2 or not _rank(situation.shape):
            return None
        rows, columns = situation.shape
        whole = f"a weight of {rows:,} x {columns:,} takes {about(situation.bytes)}"
        return f"{whole}; through a narrow layer it takes a quarter"

    def saves(self, situation: Situation) -> int | None:
        rows, columns = situation.shape or (0, 0)
        if not situation.bytes or not rows * columns:
            return None
        kept = _rank((rows, columns)) * (rows + columns)
        return situation.bytes - situation.bytes * kept // (rows * columns)

    def code(self, situation: Situation) -> str:
        rows, columns = situation.shape or (0, 0)
        narrow = f"layers.Dense({_rank((rows, columns))}, use_bias=False), layers.Dense({columns})"
        return f"{narrow}  # in place of layers.Dense({columns})"


def _rank(shape: tuple[int, ...]) -> int:
    return shape[0] * shape[1] // (4 * (shape[0] + shape[1]))
