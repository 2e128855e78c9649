"""Leave arrays on disk and read the rows that a batch needs."""

from __future__ import annotations

from memfit.remedies.calls import about, array_names
from memfit.remedies.remedy import Exactness, Remedy, Situation


class MemoryMap(Remedy):
    name = "memory_map"
    exactness: Exactness = "exact"
    against = ("host_memory",)

    def why(self, situation: Situation) -> str | None:
        what = "the array" if situation.bytes is None else f"the array of {about(situation.bytes)}"
        return f"{what} need not be in memory: NumPy reads a saved one from disk, a few rows at a time"

    def saves(self, situation: Situation) -> int | None:
        return situation.bytes

    def code(self, situation: Situation) -> str:
        x, _ = array_names(situation.call)
        return (
            f'np.save("{x}.npy", {x})  # once, in pieces if need be\n'
            f'{x} = np.load("{x}.npy", mmap_mode="r")  # feed slices of it from a keras.utils.PyDataset'
        )
