"""The tables of the benchmark and how a result becomes a row of one."""

from __future__ import annotations

from benchmarks.comparison import Comparison, Unmeasured
from benchmarks.limits import Largest, Needs
from benchmarks.search import Search
from benchmarks.table import Table, band, mib, percent
from benchmarks.truth import MIB, RUNS

PEAKS = Table(
    {
        "case": 28,
        "real peak, MiB": 15,
        "estimate": 8,
        "error": 8,
        "really requested": 16,
        "estimate ": 9,
        "error ": 8,
        "upper / peak": 12,
        "time / trace": 13,
        "growth": 8,
        "web formula": 11,
        "model-profiler": 14,
    }
)
NEEDS = Table({"case": 28, "trains from, MiB": 16, "needs": 8, "error": 8, "time": 8, "wrong verdicts": 14})
LARGEST = Table({"case": 28, "budget": 10, "largest batch": 13, "trains": 6, "15 % more": 9, "trains ": 7, "time": 8})
CLAIMS = Table({"what": 52, "reached": 10, "wanted": 16, "": 6})


def peak_line(row: Comparison | Unmeasured) -> str:
    if isinstance(row, Unmeasured):
        return PEAKS.remark(row.name, row.reason)
    if row.failure:
        return PEAKS.remark(row.name, f"{band(row.peaks)}: {row.failure}")
    said = row.estimate
    return PEAKS.row(
        [
            row.name,
            band(row.peaks),
            mib(said["peak"]),
            percent(row.peak_error, signed=True),
            band(row.requested),
            mib(said["requested"]),
            percent(row.requested_error, signed=True),
            f"{row.bound_ratio:.2f}",
            f"{said['seconds']:.1f} / {row.trace['seconds']:.1f} s",
            percent(row.growth_share),
            percent(row.error_of("formula", row.peaks), signed=True),
            other_tool(row),
        ]
    )


def other_tool(row: Comparison) -> str:
    if row.estimate.get("profiler") is None:
        return "fails"
    return percent(row.error_of("profiler", row.peaks), signed=True)


def silent_tools(rows: list[Comparison]) -> list[str]:
    """Why another tool has no figure for a case, each reason once."""
    reasons = {
        f"{tool}: {row.estimate[f'{key}_error']}"
        for row in rows
        for key, tool in (("formula", "The web's formula"), ("profiler", "model-profiler"))
        if f"{key}_error" in row.estimate
    }
    return ["", *(f"- {reason}" for reason in sorted(reasons))] if reasons else []


def needs_line(row: Needs) -> list[str]:
    wrong = ", ".join(f"{budget} MiB" for budget in row.wrong_budgets) or "none"
    real = band([row.small * MIB, row.enough * MIB])
    return [row.name, real, mib(row.estimated), percent(row.error, signed=True), f"{row.seconds:.1f} s", wrong]


def largest_line(row: Largest) -> list[str]:
    more = [str(row.more), of_runs(row.more_trained)]
    first = [row.name, f"{row.budget} MiB", str(row.batch), of_runs(row.trained)]
    return [*first, *more, f"{row.seconds:.1f} s"]


def of_runs(count: int) -> str:
    return f"{count} of {RUNS}"


def search_line(found: Search) -> str:
    by_trials = f"{found.searched_batch} by {found.trials} real trials in {found.searched_seconds:.0f} s"
    by_estimate = f"{found.estimated_batch} by one estimate in {found.estimated_seconds:.0f} s"
    return f"Largest batch of ResNet50 under {found.budget} MiB: {by_trials}; {by_estimate}."
