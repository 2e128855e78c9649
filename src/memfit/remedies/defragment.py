"""An allocator that can join its free pieces, or a fresh one."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation


class Defragment(Remedy):
    name = "defragment"
    exactness: Exactness = "exact"
    against = ("fragmentation",)

    def why(self, situation: Situation) -> str | None:
        if situation.on_gpu:
            return "enough was free, but in pieces; CUDA's own allocator can join them"
        return "enough was free, but in pieces: what is large and stays should be made first, while memory is whole"

    def saves(self, situation: Situation) -> int | None:
        return None

    def code(self, situation: Situation) -> str:
        if situation.on_gpu:
            return 'import os\n\nos.environ["TF_GPU_ALLOCATOR"] = "cuda_malloc_async"  # before TensorFlow is imported'
        return "table = tf.zeros(shape)  # the largest tensors first, before the small ones that come and go"
