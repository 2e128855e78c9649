"""Short vectors for each word, widened by a layer."""

from __future__ import annotations

from memfit.remedies.calls import about
from memfit.remedies.remedy import Exactness, Remedy, Situation


class FactorisedEmbedding(Remedy):
    name = "factorised_embedding"
    exactness: Exactness = "model"
    against = ("embedding_too_large",)

    def why(self, situation: Situation) -> str | None:
        if situation.shape is None or len(situation.shape) != 2 or situation.shape[1] < 4:
            return None
        rows, width = situation.shape
        table = f"a table of {rows:,} x {width} takes {about(situation.bytes)}"
        return f"{table}, and its gradient may again; a quarter of the width, widened by a layer, takes a quarter"

    def saves(self, situation: Situation) -> int | None:
        return None if situation.bytes is None else situation.bytes * 3 // 4

    def code(self, situation: Situation) -> str:
        rows, width = situation.shape or (0, 0)
        return (
            f"layers.Embedding({rows}, {width // 4}), layers.Dense({width}, use_bias=False)"
            f"  # in place of layers.Embedding({rows}, {width})"
        )
