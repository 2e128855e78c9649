"""All cases by name: those that the estimate was made with, and those that it had never seen."""

from __future__ import annotations

from benchmarks.registry import CASES, Case
from benchmarks.zoo import (  # noqa: F401  each registers its cases
    acquaintances,
    everyday,
    guests,
    held_out,
    models,
    neighbours,
    newcomers,
    strangers,
    travellers,
    unseen,
    visitors,
)

__all__ = ["CASES", "is_held_out"]


def is_held_out(case: Case) -> bool:
    return case.architecture.__module__ in (held_out.__name__, unseen.__name__)
