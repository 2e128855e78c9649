"""How an estimate is scored against several real runs, which differ from each other."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence


def error(value: float, runs: Sequence[float]) -> float:
    """Distance to the band that the runs span, as a share of their median: 0 inside, negative where too low."""
    inside = min(max(value, min(runs)), max(runs))
    return (value - inside) / statistics.median(runs)


def median(values: Iterable[float]) -> float:
    return statistics.median(list(values) or [math.nan])


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values) or [math.nan]
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
