"""Finding the largest batch: the usual trial search, each trial a real training, against one estimate."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from benchmarks.comparison import estimate
from benchmarks.limits import TOO_MUCH_MORE
from benchmarks.registry import Case
from benchmarks.truth import MIB, limited

BUDGET_MIB = 2048
OTHER_BATCHES = (1, 3, 7, 13, 24, 50, 100)


@dataclass(frozen=True)
class Search:
    """Times are from the start of a process to its answer, for both."""

    budget: int
    searched_batch: int
    searched_seconds: float
    trials: int
    estimated_batch: int
    estimated_seconds: float
    slowest_other_batch_seconds: float

    @property
    def right(self) -> bool:
        return self.estimated_batch <= self.searched_batch < math.ceil(self.estimated_batch * TOO_MUCH_MORE)

    @property
    def speedup(self) -> float:
        return self.searched_seconds / self.estimated_seconds


def compare_search(case: Case) -> Search:
    started = time.perf_counter()
    batch, trials = largest_by_trials(case)
    searched = time.perf_counter() - started
    answer = estimate(case, largest_batch=BUDGET_MIB * MIB, at=OTHER_BATCHES)
    estimated = answer["process_seconds"] - answer["at_seconds"]
    return Search(BUDGET_MIB, batch, searched, trials, answer["largest_batch"], estimated, max(answer["at"]))


def largest_by_trials(case: Case) -> tuple[int, int]:
    """Double until it fails, then bisect: the largest batch that trains, and the number of trials."""
    trials = 0

    def trains(batch: int) -> bool:
        nonlocal trials
        trials += 1
        return limited(case, batch, BUDGET_MIB).answer is not None

    fits, fails = 0, 1
    while trains(fails):
        fits, fails = fails, 2 * fails
    while fails - fits > 1:
        middle = (fits + fails) // 2
        fits, fails = (middle, fails) if trains(middle) else (fits, middle)
    return fits, trials
