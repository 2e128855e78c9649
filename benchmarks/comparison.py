"""One case: its truth, its estimate, Keras's own trace of the same step, and what other tools say."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from subprocess import TimeoutExpired
from typing import Any

from benchmarks.processes import JobFailed, run_job
from benchmarks.registry import Case
from benchmarks.scores import error
from benchmarks.truth import Truth


@dataclass(frozen=True)
class Comparison:
    """`failure` says why there is no estimate; its errors are then infinite, so that no summary forgets it."""

    name: str
    peaks: list[int]
    requested: list[int]
    estimate: dict[str, Any] = field(default_factory=dict)
    trace: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def error_of(self, figure: str, runs: list[int]) -> float | None:
        value = self.estimate.get(figure)
        return None if value is None else error(value, runs)

    @property
    def peak_error(self) -> float:
        return math.inf if self.failure else error(self.estimate["peak"], self.peaks)

    @property
    def requested_error(self) -> float:
        return math.inf if self.failure else error(self.estimate["requested"], self.requested)

    @property
    def bound_ratio(self) -> float:
        return 0.0 if self.failure else self.estimate["upper"] / max(self.peaks)

    @property
    def time_ratio(self) -> float:
        return math.inf if self.failure else self.estimate["seconds"] / self.trace["seconds"]

    @property
    def growth_share(self) -> float:
        return math.inf if self.failure else self.estimate["growth"] / statistics.median(self.peaks)


@dataclass(frozen=True)
class Unmeasured:
    """A case whose truth could not be had on this machine: it says nothing about the estimate."""

    name: str
    reason: str


def compare(case: Case) -> Comparison | Unmeasured:
    truth = Truth(case)
    try:
        measured = Comparison(case.name, truth.peaks, truth.requested)
    except (JobFailed, TimeoutExpired) as failure:
        return Unmeasured(case.name, f"not measured: {failure}")
    try:
        return Comparison(case.name, measured.peaks, measured.requested, estimate(case), trace(case))
    except (JobFailed, TimeoutExpired) as failure:
        return Comparison(case.name, measured.peaks, measured.requested, failure=f"no estimate: {failure}")


def estimate(case: Case, batch: int | None = None, **questions: Any) -> dict[str, Any]:
    return _answered("estimate", case, batch or case.batch, questions)


def trace(case: Case) -> dict[str, Any]:
    return _answered("trace", case, case.batch)


def _answered(job: str, case: Case, batch: int, *questions: Any) -> dict[str, Any]:
    outcome = run_job(job, case, batch, {}, *questions)
    if outcome.answer is None:
        raise JobFailed(f"the process of the {job} died: {outcome.death}")
    return outcome.answer | {"process_seconds": outcome.seconds}
