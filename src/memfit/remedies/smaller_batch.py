"""A smaller batch: less memory, and another training."""

from __future__ import annotations

from memfit.remedies.calls import with_batch
from memfit.remedies.remedy import Exactness, Remedy, Situation


class SmallerBatch(Remedy):
    name = "smaller_batch"
    exactness: Exactness = "model"
    against = ("batch_too_large", "activation_too_large")

    def why(self, situation: Situation) -> str | None:
        if situation.batch is None or situation.batch < 2 or not (batch := largest(situation)):
            return None
        if batch >= situation.batch:
            return None
        known = situation.estimate is not None and situation.room is not None
        return f"batch {batch} is the largest that fits" if known else f"half the batch, {batch}, takes about half"

    def saves(self, situation: Situation) -> int | None:
        batch = largest(situation)
        if situation.estimate is not None and situation.batch:
            return max(situation.estimate.at(situation.batch).peak - situation.estimate.at(batch or 1).peak, 0)
        in_batch = situation.shape is not None and situation.shape[:1] == (situation.batch,)
        return situation.bytes // 2 if in_batch and situation.bytes else None

    def code(self, situation: Situation) -> str:
        return with_batch(situation.call, situation.model, largest(situation) or 1)


def largest(situation: Situation) -> int | None:
    if situation.estimate is not None and situation.room is not None:
        return situation.estimate.largest_batch(situation.room) if situation.room else 0
    return None if situation.batch is None else situation.batch // 2
