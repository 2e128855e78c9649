"""Keep images as uint8 and scale them inside the model."""

from __future__ import annotations

import re

from memfit.remedies.remedy import Exactness, Remedy, Situation

_SCALING = re.compile(r"/=? ?255|\.astype\(")


class SmallIntegers(Remedy):
    name = "small_integers"
    exactness: Exactness = "numeric"
    against = ("host_memory", "dataset_in_one_tensor")

    def why(self, situation: Situation) -> str | None:
        if not _SCALING.search(situation.call) or situation.dtype not in ("float64", "float32"):
            return None
        return f"scaling the whole data set at once makes it {self._times(situation)} times as large: scale each batch"

    def saves(self, situation: Situation) -> int | None:
        return None if situation.bytes is None else situation.bytes - situation.bytes // self._times(situation)

    def code(self, situation: Situation) -> str:
        return "layers.Rescaling(1 / 255)  # as the first layer of the model, and leave the images as uint8"

    def _times(self, situation: Situation) -> int:
        return 8 if situation.dtype == "float64" else 4
