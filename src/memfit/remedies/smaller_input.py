"""Smaller images or shorter sequences."""

from __future__ import annotations

import math

from memfit.remedies.remedy import Exactness, Remedy, Situation


class SmallerInput(Remedy):
    name = "smaller_input"
    exactness: Exactness = "model"
    against = ("activation_too_large",)

    def why(self, situation: Situation) -> str | None:
        if situation.estimate is not None:
            return "what a single sample needs grows with its size: smaller images, or shorter sequences, need less"
        if situation.shape is None or len(situation.shape) < 3:
            return None
        left = f"half of each side leaves {1 / _factor(situation):.0%}"
        return f"{list(situation.shape)} grows with the size of a sample: {left}"

    def saves(self, situation: Situation) -> int | None:
        if situation.bytes is None or situation.estimate is not None:
            return None
        return situation.bytes - situation.bytes // _factor(situation)

    def code(self, situation: Situation) -> str:
        if situation.shape is None or situation.estimate is not None:
            return "x = keras.layers.AveragePooling2D(2)(x)  # as the first layer of the model; 1D or 3D by your data"
        sides = len(situation.shape) - 2
        if sides == 2 and not _square(situation):
            return "x = keras.layers.Resizing(height // 2, width // 2)(x)  # as the first layer of the model"
        return (
            "x = keras.layers.AveragePooling3D(2)(x)  # as the first layer"
            if sides == 3
            else "x = x[:, : x.shape[1] // 2]"
        )


def _factor(situation: Situation) -> int:
    return int(math.pow(2, max(len(situation.shape or ()) - 2, 1)))


def _square(situation: Situation) -> bool:
    """A score for each pair of positions, as attention makes."""
    shape = situation.shape or ()
    return len(shape) == 4 and shape[-1] == shape[-2]
