"""A budget for this very process, and what the device's allocator holds under it."""

from __future__ import annotations

from memfit import engines
from memfit.engines import AllocatorState
from memfit.sizes import Size, parse_size


def enforce(budget: Size) -> None:
    """Put `budget` in force here. Raises `CannotEnforce`, with the remedy, once the engine has started."""
    engines.current().enforce(parse_size(budget))


def live_and_peak() -> AllocatorState:
    return engines.current().state()


def reset_peak() -> None:
    engines.current().reset_peak()
