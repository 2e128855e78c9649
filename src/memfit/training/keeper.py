"""One run under memfit's eyes: tries a step, splits it when memory runs out, and keeps the record."""

from __future__ import annotations

import gc
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from memfit.device.death import failure_text
from memfit.device.oom import is_out_of_memory, read_failure
from memfit.errors import DoesNotFit
from memfit.sizes import format_size
from memfit.training.messages import say
from memfit.training.planning import HELP, Planned
from memfit.training.record import Recovery, RunRecord
from memfit.training.schedule import Schedule

TIGHT = 0.9  # of what a step was seen to take: the allocator packs tighter when it must
CAUSES = {"train": "batch_too_large", "test": "evaluation_batch", "predict": "evaluation_batch"}


class Room(Protocol):
    """The allocator's figures, in bytes."""

    @property
    def limit(self) -> int | None: ...
    @property
    def live(self) -> int: ...
    @property
    def peak(self) -> int: ...


WAITS = 4  # times that a single sample is tried again
PAUSE = 0.05  # seconds before the first of them, twice as long before each next


class Step(Planned, Protocol):
    """One batch, ready to be run in any number of parts. A try that fails has changed nothing."""

    kind: str

    def run(self, parts: int) -> Any: ...
    def room(self) -> Room | None: ...
    def why_not(self, error: BaseException) -> str | None: ...
    def caveats(self) -> list[str]: ...


@dataclass
class Keeper:
    """`planner` says, at the first batch, how large a micro-batch may be (None: no limit)."""

    record: RunRecord
    schedules: dict[str, Schedule]
    budget: int | None = None
    planner: Callable[[Any, int | None], int | None] | None = None
    epoch: int = 1
    step: int = 1
    needs: dict[tuple[str, int], int] = field(default_factory=dict)
    squeezed: int = 1
    waits: int = 0

    def run(self, step: Step) -> Any:
        schedule = self.schedules.setdefault(step.kind, Schedule())
        if step.kind == "train" and self.planner is not None:
            self._plan(step, schedule)
        while True:
            before = step.room()
            parts = self._squeezed(step, schedule.parts(step.samples), before)
            try:
                result = step.run(parts)
            except Exception as error:
                if not self._recoverable(step, schedule, parts, error):
                    raise
            else:
                self._learn(step, parts, before, step.room())
                self._succeeded(step, schedule, parts)
                return result
            gc.collect()

    def measured(self, peak: int | None) -> None:
        """The highest moment of the run, by the allocator's own figures where it keeps any."""
        self.record.peak_bytes = peak

    def _plan(self, step: Step, schedule: Schedule) -> None:
        assert self.planner is not None
        planner, self.planner = self.planner, None
        if step.samples is None or not schedule.consider(self.budget, step.samples):
            return
        largest = planner(step, self.budget)
        if largest is not None and largest < step.samples:
            schedule.plan(largest)
            parts = schedule.parts(step.samples)
            self._changed("planned", 1, parts)
            say(
                f"a batch of {step.samples} does not fit at once: it is trained in {parts} micro-batches of at most "
                f"{largest}, with the updates of the whole batch"
            )

    def _squeezed(self, step: Step, parts: int, room: Room | None) -> int:
        """More parts for this step alone, where less is free than such a step has been seen to take."""
        if room is None or room.limit is None or not step.samples:
            return parts
        size = -(-step.samples // parts)
        free, need = room.limit - room.live, self.needs.get((step.kind, size), 0)
        wanted = parts
        if free < need * TIGHT:
            wanted = min(step.samples, -(-parts * need // max(free, 1)) + 1)
        if wanted != max(self.squeezed, parts):
            if wanted > parts:
                self._changed("device_shared", parts, wanted)
                say(
                    f"only {format_size(free)} are free, and {self._where(step)} takes {format_size(need)}: it is run "
                    f"in {_parts(wanted)}"
                )
            self.squeezed = wanted
        return wanted

    def _learn(self, step: Step, parts: int, before: Room | None, after: Room | None) -> None:
        """A step that raised the peak has shown what it takes, beside what it leaves: a first step makes variables."""
        if before is not None and after is not None and after.peak > before.peak and step.samples:
            key = (step.kind, -(-step.samples // parts))
            self.needs[key] = max(self.needs.get(key, 0), after.peak - max(before.live, after.live))

    def _succeeded(self, step: Step, schedule: Schedule, parts: int) -> None:
        schedule.succeeded()
        self.waits = 0
        record = self.record
        if step.kind == "train":
            record.updates += 1
            record.samples_seen += step.samples or 0
            record.batch_size = max(record.batch_size or 0, step.samples or 0) or None
            record.micro_batches = max(record.micro_batches, parts)
        if parts > 1:
            self._say_caveats(step)
            self._grow(step, schedule, parts)

    def _say_caveats(self, step: Step) -> None:
        for caveat in step.caveats():
            if caveat not in self.record.notes:
                self.record.notes.append(caveat)
                say(caveat)

    def _grow(self, step: Step, schedule: Schedule, parts: int) -> None:
        if not schedule.due_to_grow() or not step.samples:
            return
        waited = schedule.calm
        schedule.grow(step.samples)
        fewer = schedule.parts(step.samples)
        if fewer < parts:
            self._changed("grown_back", parts, fewer)
            say(f"{waited} steps without trouble: back to {_parts(fewer)}")

    def _recoverable(self, step: Step, schedule: Schedule, parts: int, error: Exception) -> bool:
        """Undone already; is there a smaller step to try? If not, what is raised says what would help."""
        reason = step.why_not(error)
        if reason is None and not is_out_of_memory(error):
            return False
        failure = read_failure(str(error.__cause__ or error))
        traceback.clear_frames(error.__traceback__)
        error.__traceback__ = None
        if reason is not None or step.samples is None:
            text = (
                f"{failure_text(failure, self.budget)} This step cannot be split: {reason or 'its size is not known'}."
            )
            raise DoesNotFit(text, budget=self.budget, failure=failure) from error
        if not schedule.shrink(step.samples, parts):
            if self._may_pass(step):
                return True
            raise DoesNotFit(
                f"not even one sample fits: {failure_text(failure, self.budget)} {HELP}",
                budget=self.budget,
                failure=failure,
            ) from error
        more = schedule.parts(step.samples)
        self._changed(CAUSES[step.kind], parts, more)
        asked = f" asking for {format_size(failure.bytes)}" if failure.bytes is not None else ""
        say(f"{self._where(step)} ran out of memory{asked}; it is undone and run again in {_parts(more)}")
        return True

    def _may_pass(self, step: Step) -> bool:
        """Single samples that fitted before will fit again, once others have given back what they took."""
        if not self.record.updates or self.waits == WAITS:
            return False
        self.waits += 1
        self._changed("device_shared", step.samples or 1, step.samples or 1)
        say(f"{self._where(step)} ran out of memory with one sample, which has fitted before; trying again")
        time.sleep(PAUSE * 2**self.waits)
        return True

    def _changed(self, cause: str, before: int, after: int) -> None:
        self.record.recoveries.append(Recovery(self.epoch, self.step, cause, before, after))

    def _where(self, step: Step) -> str:
        if step.kind != "train":
            return {"test": "an evaluation batch", "predict": "a prediction batch"}[step.kind]
        return f"step {self.step} of epoch {self.epoch}" if self.epoch else f"step {self.step}"


def _parts(count: int) -> str:
    return "one piece" if count == 1 else f"{count} micro-batches"
