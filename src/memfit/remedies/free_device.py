"""A device that nobody else holds."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation


class FreeDevice(Remedy):
    name = "free_device"
    exactness: Exactness = "exact"
    against = ("device_shared",)

    def why(self, situation: Situation) -> str | None:
        return "another process holds the device: end it (nvidia-smi names it), or train on another device"

    def saves(self, situation: Situation) -> int | None:
        return None

    def code(self, situation: Situation) -> str:
        return 'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "1"  # before TensorFlow is imported; 0 is taken'
