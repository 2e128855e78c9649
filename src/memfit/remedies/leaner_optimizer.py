"""An optimizer that keeps less beside each weight."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation

_LITTLE = 2**20  # bytes; SGD keeps only counters


class LeanerOptimizer(Remedy):
    name = "leaner_optimizer"
    exactness: Exactness = "model"
    against = ("optimizer_state", "model_too_large", "embedding_too_large")

    def why(self, situation: Situation) -> str | None:
        saves = self.saves(situation)
        if saves is not None and saves < _LITTLE:
            return None
        return "Adam keeps two numbers beside each weight; Adafactor keeps a few for each row and column"

    def saves(self, situation: Situation) -> int | None:
        if situation.estimate is not None:
            return situation.estimate.by_kind["optimizer"]
        return 2 * situation.bytes if situation.bytes and situation.cause == "optimizer_state" else None

    def code(self, situation: Situation) -> str:
        return f"{situation.model}.compile(keras.optimizers.Adafactor(), loss)  # with the other arguments of compile"
