"""What people really ask: the smallest budget under which it trains, and the largest batch under a budget."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass

from benchmarks.comparison import estimate
from benchmarks.registry import Case
from benchmarks.scores import error
from benchmarks.truth import MIB, RUNS, Truth

SHARES_TOO_SMALL = (0.5, 0.75, 0.875)
SHARES_ENOUGH = (1.125, 1.25, 2.0)
TOO_MUCH_MORE = 1.15
BUDGET_IN_PEAKS = 2.5


@dataclass(frozen=True)
class Needs:
    """The case does not train under `small` and does under `enough`, in MiB."""

    name: str
    small: int
    enough: int
    estimated: int
    seconds: float
    wrong_budgets: list[int]

    @property
    def error(self) -> float:
        return error(self.estimated, (self.small * MIB, self.enough * MIB))


def compare_needs(case: Case) -> Needs:
    small, enough = Truth(case).smallest_limit
    verdicts = {int(small * share): False for share in SHARES_TOO_SMALL}
    verdicts |= {math.ceil(enough * share): True for share in SHARES_ENOUGH}
    answer = estimate(case, needs=None, fits=[budget * MIB for budget in verdicts])
    given = zip(verdicts.items(), answer["fits"], strict=True)
    wrong = [budget for (budget, right), verdict in given if verdict != right]
    return Needs(case.name, small, enough, answer["needs"], answer["needs_seconds"], wrong)


@dataclass(frozen=True)
class Largest:
    """`trained` and `more_trained` count the runs that did, of `RUNS`."""

    name: str
    budget: int
    batch: int
    seconds: float
    trained: int
    more: int
    more_trained: int

    @property
    def right(self) -> bool:
        return self.trained > RUNS / 2 > self.more_trained


def compare_largest(case: Case) -> Largest:
    truth = Truth(case)
    budget = round(statistics.median(truth.peaks) * BUDGET_IN_PEAKS / MIB)
    answer = estimate(case, largest_batch=budget * MIB)
    batch = answer["largest_batch"]
    more = math.ceil(batch * TOO_MUCH_MORE)
    trained, more_trained = (truth.trained(size, budget) if size > 0 else 0 for size in (batch, more))
    return Largest(case.name, budget, batch, answer["largest_batch_seconds"], trained, more, more_trained)
