"""When does an array not go to the device whole?"""

from __future__ import annotations

from collections.abc import Callable

from memfit import engines
from memfit.device.host import host_memory

WHOLE = 0.1  # of what is free: a data set that takes no more may sit on the device


def too_large(budget: int | None) -> Callable[[int], bool]:
    """Says of a number of bytes that so much data should be fed by slices."""

    def holds(size: int) -> bool:
        free = host_memory().free if budget is None else budget - engines.current().state().live
        return size > WHOLE * free

    return holds
