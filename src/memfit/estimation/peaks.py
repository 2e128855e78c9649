"""Peak, requested bytes and bound of a step, as functions of the batch: what it takes where nothing limits it."""

from __future__ import annotations

import gc
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from memfit.footprint import KINDS
from memfit.simulation.executor import ROUNDS, WILD
from memfit.simulation.graph import StepGraph
from memfit.simulation.holdings import Holdings, at_peak
from memfit.simulation.memory import Event
from memfit.simulation.plan import Plan
from memfit.simulation.replay import Recording
from memfit.simulation.simulate import Outcome, simulate

ORDERS = 11  # simulated for the first batch, and as many for the bound, in which operations hinder each other more
OPERATIONS = 60_000  # simulated in all these orders: steps with long loops are run in fewer of them
MARGIN = 1.05
FEW, FEWER_KNOWN = 5, 0.1  # orders, and how much wider the bound is where fewer were simulated
PADDING = 0.15  # more, as a share of the padding, which depends on every allocation before
SPREAD = 0.4  # more, as a share of how far the highest order lies above the middle one
UNKNOWN = 0.05  # more where sizes could not be inferred
UNSEEN = 0.5  # more where part of the step was not simulated
STOPPED = "part of the step could not be simulated, from {} on: the peak may be higher, the bound is much wider"
ENDLESS = f"a loop runs until its data says stop: {ROUNDS} rounds are counted, and the bound is wider"
CONFIDENCE = "of the real peaks of 81 cases that it was fitted to, none is above this bound"


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
class Peaks:
    """`graph_for` gives the graph that the engine runs for a batch; `doubt` widens the bound."""

    graph_for: Callable[[int], StepGraph]
    doubt: float = 1.0
    orders: int = ORDERS  # that were simulated, or would be
    notes: list[str] = field(default_factory=list)  # what the simulation had to guess
    _figures: dict[int, Figures] = field(default_factory=dict)
    _known: list[Known] = field(default_factory=list)
    _stopped: bool = False
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

    def plan(self, batch: int) -> Plan:
        """Made once for all orders and budgets that are tried at a batch."""
        if self._planned is None or self._planned.batch != batch:
            self._planned = Plan(self.graph_for(batch), batch)
        return self._planned

    def _simulated(self, batch: int) -> Figures:
        plan = self.plan(batch)
        log: list[Event] = []
        first = simulate(plan, log=log)
        runs = [first, *(simulate(plan, seed=seed) for seed in range(1, _orders_for(first)))]
        self.orders = len(runs)
        if first.rounds_guessed:
            self.notes = [ENDLESS]
        if first.stopped_before:
            self.notes, self._stopped = [STOPPED.format(first.stopped_before)], True
        middle = sorted(range(len(runs)), key=lambda seed: runs[seed].peak)[len(runs) // 2]
        if middle != 0:
            log.clear()
            simulate(plan, seed=middle, log=log)
        wild = [simulate(plan, seed=seed, unrest=WILD) for seed in range(len(runs))]
        peak = runs[middle].peak
        upper = _bound([*runs, *wild], peak)
        self._known.append(Known(Recording(plan.graph, batch, log), upper / peak))
        requested = round(statistics.median(run.requested for run in runs))
        return _figures(peak, requested, upper, at_peak(plan.graph, log))

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
