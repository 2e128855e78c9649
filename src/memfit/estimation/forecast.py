"""Peak, requested bytes, bound and need of a step, as functions of the batch."""

from __future__ import annotations

import gc
import math
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from memfit.footprint import KINDS
from memfit.simulation.allocator import OutOfMemory
from memfit.simulation.executor import ROUNDS, WILD
from memfit.simulation.graph import StepGraph
from memfit.simulation.holdings import Holdings, at_peak
from memfit.simulation.memory import Event
from memfit.simulation.plan import Plan
from memfit.simulation.replay import Recording
from memfit.simulation.simulate import Outcome, simulate

ORDERS = 11  # simulated for the first batch
WILD_ONES = 7 / 11  # more for the bound, in which operations hinder each other more than they mostly do
OPERATIONS = 60_000  # simulated in all these orders: steps with long loops are run in fewer of them
VOTES = 5  # of these orders, to see whether a batch fits in most of them
TRIED = 3  # to search for the largest batch
SURE = 8  # to see whether it surely fits
NEEDED_LEAST, NEXT_TRY = 0.85, 1.04  # of the bytes requested: mostly too little, and how much more is tried next
MARGIN = 1.04
FEW, FEWER_KNOWN = 5, 0.1  # orders, and how much wider the bound is where fewer were simulated
PADDING = 0.2  # more, as a share of the padding, which depends on every allocation before
SPREAD = 0.4  # more, as a share of how far the highest order lies above the middle one
CLIMB = (15, 10, 5, 2)  # percent
TOO_MUCH_MORE = 0.15  # of a largest batch should not fit any more
CAUTION = 0.6  # 1/2 would keep as much back as what that takes beyond the budget
LEAST_GROWTH = 1.03
SELDOM = 0.25  # of the orders
UNKNOWN = 0.05  # more where sizes could not be inferred
UNSEEN = 0.5  # more where part of the step was not simulated
STOPPED = "part of the step could not be simulated, from {} on: the peak may be higher, the bound is much wider"
ENDLESS = f"a loop runs until its data says stop: {ROUNDS} rounds are counted, and the bound is wider"
CONFIDENCE = "of the real peaks of 140 models one was above this bound"


@dataclass(frozen=True)
class Figures:
    """What a step holds at one batch size."""

    peak: int
    requested: int
    upper: int
    by_kind: dict[str, int]
    by_layer: list[tuple[str, int]]


@dataclass(frozen=True)
class Known:
    """The order of a batch that was simulated, and how far above its peak the bound lies."""

    recording: Recording
    spread: float


@dataclass
class Forecast:
    """`graph_for` gives the graph that the engine runs for a batch; `doubt` widens the bound."""

    graph_for: Callable[[int], StepGraph]
    doubt: float = 1.0
    only: int | None = None  # the single batch size that the step works with
    notes: list[str] = field(default_factory=list)  # what the simulation had to guess
    _figures: dict[int, Figures] = field(default_factory=dict)
    _known: list[Known] = field(default_factory=list)
    _ran: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    _largest: dict[int, int] = field(default_factory=dict)
    _orders: int = TRIED  # tried for the largest batch; of a step with long loops one takes long enough
    _few: bool = False
    _stopped: bool = False
    _sure: int = SURE
    _planned: Plan | None = None

    confidence = CONFIDENCE

    def at(self, batch: int) -> Figures:
        """Simulated for the first batch that runs a graph; for others the order that was recorded is replayed."""
        if batch not in self._figures:
            known = self._nearest(batch)
            self._figures[batch] = _replayed(known, batch) if known else self._simulated(batch)
        return self._figures[batch]

    def upper(self, batch: int) -> int:
        unknown = 1.0 + UNKNOWN * (self.graph_for(batch).uncertain or bool(self.notes)) + UNSEEN * self._stopped
        return round(self.at(batch).upper * self.doubt * unknown)

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
            simulate(self._plan(batch), steps=2, seed=seed, limit=budget)
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
        """The nearest batch that fits in many orders, while 15 % more fits in few."""
        while self._often_fits(math.ceil(batch * (1 + TOO_MUCH_MORE)), budget):
            batch += max(batch // 50, 1)
        while batch > 1 and not self.fits(batch, budget, orders=self._sure):
            batch -= max(batch // 64, 1)
        return batch

    def _often_fits(self, batch: int, budget: int) -> bool:
        return sum(self._runs(batch, budget, seed) for seed in range(self._sure)) > SELDOM * self._sure

    def _safe_share(self, budget: int) -> float:
        """Real runs take other orders and fragment memory in other ways, so that near the limit the same batch trains
        once and dies the next time. The less a larger batch takes, the less can be kept back for that."""
        batch = self._guess(budget)
        growth = 1 + TOO_MUCH_MORE * (self.at(2 * batch).peak / self.at(batch).peak - 1)
        return float(min(max(growth, LEAST_GROWTH), 1 + TOO_MUCH_MORE) ** -CAUTION)

    def _search(self, limit: int, budget: int) -> int:
        batch = self._guess(limit)
        while batch > 1 and not self.fits(batch, limit, orders=self._orders):
            batch = batch * 15 // 16
        if batch == 1 and not self.fits(1, budget):
            return 0
        while higher := self._higher(batch, limit):
            batch = higher
        return batch

    def _higher(self, batch: int, limit: int) -> int | None:
        steps = dict.fromkeys(batch + max(batch * percent // 100, 1) for percent in CLIMB)
        return next((larger for larger in steps if self.fits(larger, limit, orders=self._orders)), None)

    def _guess(self, budget: int) -> int:
        """The batch whose peak, without a limit, is about the budget."""
        low, high = 1, 2
        while self.at(high).peak < budget and high < 2**24:
            low, high = high, high * 2
        while high - low > max(low // 50, 1):
            middle = (low + high) // 2
            low, high = (middle, high) if self.at(middle).peak < budget else (low, middle)
        return low

    def _simulated(self, batch: int) -> Figures:
        plan = self._plan(batch)
        log: list[Event] = []
        first = simulate(plan, log=log)
        runs = [first, *(simulate(plan, seed=seed) for seed in range(1, _orders_for(first)))]
        self._orders = min(TRIED, len(runs))
        self._few = len(runs) < VOTES
        self._sure = min(SURE, len(runs))
        if first.rounds_guessed:
            self.notes = [ENDLESS]
        if first.stopped_before:
            self.notes, self._stopped = [STOPPED.format(first.stopped_before)], True
        middle = sorted(range(len(runs)), key=lambda seed: runs[seed].peak)[len(runs) // 2]
        if middle != 0:
            log.clear()
            simulate(plan, seed=middle, log=log)
        wild = [simulate(plan, seed=seed, unrest=WILD) for seed in range(int(len(runs) * WILD_ONES))]
        peak = runs[middle].peak
        upper = _bound([*runs, *wild], peak)
        self._known.append(Known(Recording(plan.graph, batch, log), upper / peak))
        requested = round(statistics.median(run.requested for run in runs))
        return _figures(peak, requested, upper, at_peak(plan.graph, log))

    def _plan(self, batch: int) -> Plan:
        """Made once for all orders and budgets that are tried at a batch."""
        if self._planned is None or self._planned.batch != batch:
            self._planned = Plan(self.graph_for(batch), batch)
        return self._planned

    def _nearest(self, batch: int) -> Known | None:
        graph = self.graph_for(batch)
        same = [known for known in self._known if known.recording.graph is graph]
        return min(same, key=lambda known: abs(known.recording.batch - batch), default=None)


@contextmanager
def _no_collection() -> Iterator[None]:
    """To look through a traced model for garbage takes ten times as long as a replay."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def _replayed(known: Known, batch: int) -> Figures:
    with _no_collection():
        found = known.recording.at(batch)
    return _figures(found.peak, found.requested, round(found.peak * known.spread), found.held)


def _most(votes: Iterator[bool], count: int) -> bool:
    """As soon as it is decided."""
    tally = [0, 0]
    for vote in votes:
        tally[vote] += 1
        if max(tally) > count // 2:
            break
    return tally[True] > tally[False]


def _orders_for(run: Outcome) -> int:
    return min(max(OPERATIONS // run.executed, 1), ORDERS)


def _bound(runs: list[Outcome], middle: int) -> int:
    """Above the highest simulated peak: the more, the more the orders differ and the more of it is padding."""
    highest, requested = max(run.peak for run in runs), max(run.requested for run in runs)
    margin = MARGIN + FEWER_KNOWN * (len(runs) < FEW)
    return round(highest * margin + PADDING * max(highest - requested, 0) + SPREAD * (highest - middle))


def _figures(peak: int, requested: int, upper: int, held: Holdings) -> Figures:
    """The parts sum to the peak: what is held beyond the requests that were listed is the allocator's padding."""
    listed = sum(held.values())
    peak = max(peak, listed)
    by_kind = dict.fromkeys(KINDS, 0)
    layers: Counter[str] = Counter()
    for (kind, layer), size in held.items():
        by_kind[kind] += size
        layers[layer] += size
    by_kind["padding"] += peak - listed
    return Figures(peak, min(requested, peak), max(upper, peak), by_kind, _padded(layers, peak))


def _padded(layers: Counter[str], peak: int) -> list[tuple[str, int]]:
    """Each layer with its share of the padding, so that they sum to the peak."""
    listed = max(layers.total(), 1)
    padded = Counter({layer: size * peak // listed for layer, size in layers.items()})
    padded[padded.most_common(1)[0][0]] += peak - padded.total()
    return padded.most_common()
