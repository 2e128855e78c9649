"""One run under memfit's eyes: tries a step, splits it when memory runs out, and keeps the record."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from memfit.device.death import failure_text
from memfit.device.oom import is_out_of_memory, read_failure
from memfit.errors import DoesNotFit
from memfit.sizes import format_size
from memfit.training.messages import say
from memfit.training.record import Recovery, RunRecord
from memfit.training.schedule import Schedule

CAUSES = {"train": "batch_too_large", "test": "evaluation_batch", "predict": "evaluation_batch"}


class Step(Protocol):
    """One batch, ready to be run in any number of parts. A try that fails has changed nothing."""

    kind: str
    samples: int | None

    def run(self, parts: int) -> Any: ...
    def why_not(self, error: BaseException) -> str | None: ...


@dataclass
class Keeper:
    """`planner` says, at the first batch, how large a micro-batch may be (None: no limit)."""

    record: RunRecord
    schedules: dict[str, Schedule]
    budget: int | None = None
    planner: Callable[[Any, int | None], int | None] | None = None
    epoch: int = 0
    step: int = 0
    needs: dict[str, int] = field(default_factory=dict)

    def run(self, step: Step) -> Any:
        schedule = self.schedules.setdefault(step.kind, Schedule())
        if step.kind == "train" and self.planner is not None:
            self._plan(step, schedule)
        while True:
            parts = schedule.parts(step.samples)
            try:
                result = step.run(parts)
            except Exception as error:
                if not self._recoverable(step, schedule, parts, error):
                    raise
            else:
                self._succeeded(step, schedule, parts)
                return result
            gc.collect()

    def measured(self, before: Any, after: Any) -> None:
        """The allocator's figures before and after the run, where it keeps any."""
        if after is not None:
            self.record.peak_bytes = max(self.record.peak_bytes or 0, after.peak)

    def _plan(self, step: Step, schedule: Schedule) -> None:
        assert self.planner is not None
        planner, self.planner = self.planner, None
        largest = planner(step, self.budget)
        if largest is not None and (schedule.largest is None or largest < schedule.largest):
            schedule.plan(largest)
            parts = schedule.parts(step.samples)
            self._changed(step, "planned", 1, parts)
            say(
                f"a batch of {step.samples} does not fit at once: each is trained in {parts} micro-batches of at most "
                f"{largest}, with the same updates"
            )

    def _succeeded(self, step: Step, schedule: Schedule, parts: int) -> None:
        schedule.succeeded()
        record = self.record
        if step.kind == "train":
            record.updates += 1
            record.samples_seen += step.samples or 0
            record.batch_size = max(record.batch_size or 0, step.samples or 0) or None
            record.micro_batches = max(record.micro_batches, parts)
        if parts > 1 and schedule.due_to_grow() and step.samples is not None:
            schedule.grow(step.samples)
            fewer = schedule.parts(step.samples)
            if fewer < parts:
                self._changed(step, "grown_back", parts, fewer)
                say(f"no trouble for {schedule.patience} steps: trying {_parts(fewer)} again")

    def _recoverable(self, step: Step, schedule: Schedule, parts: int, error: Exception) -> bool:
        """Undone already; is there a smaller step to try? If not, what is raised says what would help."""
        reason = step.why_not(error)
        if reason is None and not is_out_of_memory(error):
            return False
        failure = read_failure(str(error))
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        if reason is not None or step.samples is None:
            text = (
                f"{failure_text(failure, self.budget)} This step cannot be split: {reason or 'its size is not known'}."
            )
            raise DoesNotFit(text, budget=self.budget, failure=failure) from error
        if not schedule.shrink(step.samples, parts):
            raise DoesNotFit(
                f"not even one sample fits: {failure_text(failure, self.budget)} {SMALLER}",
                budget=self.budget,
                failure=failure,
            ) from error
        more = schedule.parts(step.samples)
        self._changed(step, CAUSES[step.kind], parts, more)
        asked = f" asking for {format_size(failure.bytes)}" if failure.bytes is not None else ""
        say(f"{self._where(step)} ran out of memory{asked}; it is undone and run again in {_parts(more)}")
        return True

    def _changed(self, step: Step, cause: str, before: int, after: int) -> None:
        self.record.recoveries.append(Recovery(self.epoch, self.step, cause, before, after))

    def _where(self, step: Step) -> str:
        if step.kind != "train":
            return {"test": "an evaluation batch", "predict": "a prediction batch"}[step.kind]
        return f"step {self.step} of epoch {self.epoch}"


SMALLER = "Use smaller inputs or layers, an optimizer with less state, or mixed precision."


def _parts(count: int) -> str:
    return "one piece" if count == 1 else f"{count} micro-batches"
