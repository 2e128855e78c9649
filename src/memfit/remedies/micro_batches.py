"""Split each batch into micro-batches whose gradients add up to those of the whole batch."""

from __future__ import annotations

from dataclasses import replace

from memfit.remedies.calls import memfit_fit
from memfit.remedies.remedy import Exactness, Remedy, Situation
from memfit.sizes import format_size

_DECORATED = """\
import memfit


@memfit.microbatch  # this line above your own
@tf.function
def train_step(x, y): ..."""


class MicroBatches(Remedy):
    name = "micro_batches"
    exactness: Exactness = "exact"
    against = ("batch_too_large", "activation_too_large", "fragmentation", "wide_dtype")

    def why(self, situation: Situation) -> str | None:
        batch = situation.batch
        if batch is None or batch < 2 or situation.phase in ("evaluation", "building", "data"):
            return None
        parts = number(situation)
        if parts is None:
            return None
        each = -(-batch // parts)
        what = f"{batch} samples at once are too many"
        if situation.estimate is not None and situation.room is not None:
            peak = format_size(situation.estimate.at(each).peak)
            return f"{what}; {parts} micro-batches of {each} take about {peak} and give the same update"
        return f"{what}; {parts} micro-batches of {each} give the same update"

    def saves(self, situation: Situation) -> int | None:
        batch, parts = situation.batch or 1, number(situation) or 1
        if situation.estimate is not None:
            return max(situation.estimate.at(batch).peak - situation.estimate.at(-(-batch // parts)).peak, 0)
        in_batch = situation.shape is not None and situation.shape[:1] == (batch,)
        return (situation.bytes or 0) * (parts - 1) // parts if in_batch and situation.bytes else None

    def applied(self, situation: Situation) -> Situation:
        parts = number(situation)
        return situation if parts is None else replace(situation, batch=-(-(situation.batch or 1) // parts))

    def code(self, situation: Situation) -> str:
        if "fit" in situation.call or not situation.call:
            return f"import memfit\n\n{memfit_fit(situation.call, situation.model, situation.budget)}"
        return _DECORATED


def number(situation: Situation) -> int | None:
    """How many micro-batches: the fewest that fit, 2 where nothing says how many; None where none would do."""
    batch, estimate, room = situation.batch or 1, situation.estimate, situation.room
    if estimate is None or room is None:
        return 2
    if room == 0:
        return None
    largest = min(estimate.largest_batch(room), batch)
    return None if largest == 0 else -(-batch // largest)
