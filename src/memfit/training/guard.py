"""`memfit.guard`: every `Model.fit` in a `with` block survives running out of memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from memfit import engines
from memfit.device.death import failure_text
from memfit.device.oom import is_out_of_memory, read_failure
from memfit.diagnosis.run import explained
from memfit.errors import CannotEnforce, DoesNotFit
from memfit.sizes import Size, parse_size
from memfit.training.feeding import too_large
from memfit.training.keeper import Keeper
from memfit.training.planning import largest_micro_batch
from memfit.training.record import RunRecord
from memfit.training.schedule import Schedule


class Guarding:
    """What the engine asks while a guard is in force."""

    def __init__(self, budget: int | None, records: list[RunRecord]) -> None:
        self.budget = budget
        self.records = records

    def keeper(self, schedules: dict[str, Schedule]) -> Keeper:
        """For one call of a model's method; what is learnt about its batches stays with the model."""
        return Keeper(RunRecord(), schedules, self.budget, largest_micro_batch)

    def explained(self, error: Exception, model: Any) -> DoesNotFit | None:
        """An error of memory, saying why. One from outside of a step, as in a callback, cannot be had by splitting."""
        if isinstance(error, DoesNotFit):
            final, first = error, error.__cause__
        elif is_out_of_memory(error):
            final, first = self._outside(error), error
        else:
            return None
        if first is not None and not hasattr(final, "memfit"):
            with suppress(Exception):  # an explanation that fails must not hide what it explains
                explained(final, first, model=model)
        return final

    def _outside(self, error: Exception) -> DoesNotFit:
        failure = read_failure(str(error))
        text = f"{failure_text(failure, self.budget)} It was asked for outside of a training step, in a callback or "
        return DoesNotFit(
            text + "while data were read, so memfit could not split it", budget=self.budget, failure=failure
        )

    def finished(self, keeper: Keeper) -> None:
        self.records.append(keeper.record)


@contextmanager
def guard(budget: Size | None = None) -> Iterator[list[RunRecord]]:
    """In this block `Model.fit`, `evaluate` and `predict` do not die of memory, and their results stay the same.

    A batch that does not fit is trained in micro-batches, with the update of the whole batch. The block's value is a
    list that gets a `RunRecord` for each `fit`.

    Args:
        budget: A limit, such as `"8GiB"`. Where TensorFlow has not allocated yet its allocator enforces it; later,
            micro-batches are chosen by it. Without one, what the device has is the limit.
    """
    limit = None if budget is None else parse_size(budget)
    engine = engines.current()
    if limit is not None:
        with suppress(CannotEnforce):  # then the plan keeps to it
            engine.enforce(limit)
    records: list[RunRecord] = []
    with engine.feeding_arrays(too_large(limit)), engine.guarding(Guarding(limit, records)):
        yield records
