"""A step under a limit: whether a batch runs, what it needs, and which is the largest."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from memfit.estimation.peaks import Peaks
from memfit.simulation.allocator import OutOfMemory
from memfit.simulation.simulate import simulate

VOTES = 5  # orders, to see whether a batch fits in most of them
TRIED = 3  # to search for the largest batch
SURE = 8  # to see whether it surely fits
NEEDED_LEAST, NEXT_TRY = 0.85, 1.04  # of the bytes requested: mostly too little, and how much more is tried next
CLIMB = (15, 10, 5, 2)  # percent
TOO_MUCH_MORE = 0.15  # of a largest batch should not fit any more
CAUTION = 0.6  # 1/2 would keep as much back as what that takes beyond the budget
LEAST_GROWTH = 1.03
SELDOM = 0.25  # of the orders


@dataclass
class Forecast(Peaks):
    """What a step takes, and what it does under a limit."""

    only: int | None = None  # the single batch size that the step works with
    _ran: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    _largest: dict[int, int] = field(default_factory=dict)

    @property
    def _few(self) -> bool:
        """Of a step with long loops few orders are simulated: each takes long enough."""
        return self.orders < VOTES

    @property
    def _tried(self) -> int:
        return min(TRIED, self.orders)

    @property
    def _sure(self) -> int:
        return min(SURE, self.orders)

    def needs(self, batch: int) -> int:
        """The smallest limit under which the simulated steps run, to one percent.

        Looked for from below: the allocator's regions depend on the limit, so that a higher one may be worse.
        """
        low = round(self.at(batch).requested * NEEDED_LEAST)
        while self.fits(batch, low):
            low //= 2
        high = round(low * NEXT_TRY) + 1
        while not self.fits(batch, high):
            low, high = high, round(high * NEXT_TRY) + 1
        while high - low > high // 100:
            middle = (low + high) // 2
            low, high = (low, middle) if self.fits(batch, middle) else (middle, high)
        return high

    def fits(self, batch: int, budget: int, *, orders: int | None = None) -> bool:
        """Do the simulated steps run under `budget`: in each of so many orders, or else in most of the usual ones?

        Loops leave memory in pieces, by luck: where they are long, each of the usual orders has to run.
        """
        tries = (self._runs(batch, budget, seed) for seed in range(orders or VOTES))
        return all(tries) if orders or self._few else _most(tries, VOTES)

    def _runs(self, batch: int, budget: int, seed: int) -> bool:
        tried = (batch, budget, seed)
        if tried not in self._ran:
            self._ran[tried] = self._simulated_under(budget, batch, seed)
        return self._ran[tried]

    def _simulated_under(self, budget: int, batch: int, seed: int) -> bool:
        try:
            simulate(self.plan(batch), steps=2, seed=seed, limit=budget)
        except OutOfMemory:
            return False
        return True

    def largest_batch(self, budget: int, share: float | None = None) -> int:
        """The largest batch that runs under a `share` of `budget`, in several orders.

        What a batch needs jumps with how its tensors fit into chunks: a larger batch may fit where a smaller does not.
        """
        if self.only is not None:
            return self.only if self.fits(self.only, budget) else 0
        if budget <= 0:
            return 0
        limit = round(budget * (share or self._safe_share(budget)))
        if limit not in self._largest:
            found = self._search(limit, budget)
            self._largest[limit] = self._between(found, budget) if found and share is None else found
        return self._largest[limit]

    def _between(self, batch: int, budget: int) -> int:
        """The nearest batch that fits in many orders, while 15 % more fits in none or, if there is no such, in few."""
        while self._too_much_more(batch, budget) > SELDOM:
            batch += max(batch // 50, 1)
        while batch > 1 and not self.fits(batch, budget, orders=self._sure):
            batch -= max(batch // 64, 1)
        while self._too_much_more(batch, budget) and self.fits(batch + 1, budget, orders=self._sure):
            batch += 1
        return batch

    def _too_much_more(self, batch: int, budget: int) -> float:
        """In which share of the orders 15 % more fit."""
        more = math.ceil(batch * (1 + TOO_MUCH_MORE))
        return sum(self._runs(more, budget, seed) for seed in range(self._sure)) / self._sure

    def _safe_share(self, budget: int) -> float:
        """Real runs take other orders and fragment memory in other ways, so that near the limit the same batch trains
        once and dies the next time. The less a larger batch takes, the less can be kept back for that."""
        batch = self._guess(budget)
        growth = 1 + TOO_MUCH_MORE * (self.at(2 * batch).peak / self.at(batch).peak - 1)
        return float(min(max(growth, LEAST_GROWTH), 1 + TOO_MUCH_MORE) ** -CAUTION)

    def _search(self, limit: int, budget: int) -> int:
        batch = self._guess(limit)
        while batch > 1 and not self.fits(batch, limit, orders=self._tried):
            batch = batch * 15 // 16
        if batch == 1 and not self.fits(1, budget):
            return 0
        while higher := self._higher(batch, limit):
            batch = higher
        return batch

    def _higher(self, batch: int, limit: int) -> int | None:
        steps = dict.fromkeys(batch + max(batch * percent // 100, 1) for percent in CLIMB)
        return next((larger for larger in steps if self.fits(larger, limit, orders=self._tried)), None)

    def _guess(self, budget: int) -> int:
        """The batch whose peak, without a limit, is about the budget."""
        low, high = 1, 2
        while self.at(high).peak < budget and high < 2**24:
            low, high = high, high * 2
        while high - low > max(low // 50, 1):
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(middle).peak < budget else (low, middle)
        return low


def _most(votes: Iterator[bool], count: int) -> bool:
    """As soon as it is decided."""
    tally = [0, 0]
    for vote in votes:
        tally[vote] += 1
        if max(tally) > count // 2:
            break
    return tally[True] > tally[False]
