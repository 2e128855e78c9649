"""Compute in bfloat16, keep the weights in float32."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation


class MixedPrecision(Remedy):
    name = "mixed_precision"
    exactness: Exactness = "numeric"
    against = ("batch_too_large", "activation_too_large")

    def why(self, situation: Situation) -> str | None:
        if not situation.on_gpu or situation.dtype in ("bfloat16", "float16"):
            return None  # CPUs without bfloat16 units take many times as long
        return "activations take half the memory in bfloat16"

    def saves(self, situation: Situation) -> int | None:
        if situation.estimate is not None:
            return situation.estimate.by_kind["activations"] // 2
        return None if situation.bytes is None else situation.bytes // 2

    def code(self, situation: Situation) -> str:
        return 'keras.mixed_precision.set_global_policy("mixed_bfloat16")  # before the model is built'
