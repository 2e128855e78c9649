"""What was reached beside what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.comparison import Comparison
from benchmarks.limits import Largest, Needs
from benchmarks.scores import median, percentile
from benchmarks.search import Search
from benchmarks.table import percent

Show = Callable[[float], str]


@dataclass(frozen=True)
class Claim:
    """A figure that must not exceed `wanted`, or must reach it where `at_least`. Without `wanted` it is only told."""

    what: str
    reached: float
    wanted: float | None
    show: Show = percent
    at_least: bool = False

    @property
    def verdict(self) -> str:
        if self.wanted is None:
            return ""
        return "met" if (self.reached >= self.wanted if self.at_least else self.reached <= self.wanted) else "MISSED"

    @property
    def cells(self) -> list[str]:
        limit = "at least" if self.at_least else "at most"
        wanted = "" if self.wanted is None else f"{limit} {self.show(self.wanted)}"
        return [self.what, self.show(self.reached), wanted, self.verdict]


def times(ratio: float) -> str:
    return f"{ratio:.2f} x"


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms"


def mebibytes(size: float) -> str:
    return f"{size / 2**20:.0f} MiB"


def number(value: float) -> str:
    return f"{value:.0f}"


def of_accuracy(rows: list[Comparison], which: str = "") -> Iterator[Claim]:
    if not rows:
        return
    done = answered(rows)
    for what, errors, typical, worst in (
        ("peak", [abs(row.peak_error) for row in rows], 0.02, 0.10),
        ("requested", [abs(row.requested_error) for row in rows], 0.01, 0.05),
    ):
        yield Claim(f"{which}{what}: median error", median(errors), typical)
        yield Claim(f"{which}{what}: 95th percentile of the error", percentile(errors, 0.95), worst)
    yield Claim(f"{which}cases without an estimate", len(rows) - len(done), 0, number)
    yield Claim(f"{which}cases with a real peak above upper", share_of(row.bound_ratio < 1 for row in rows), 0.01)
    yield Claim(f"{which}upper / highest real peak, median", median(row.bound_ratio for row in done), 1.15, times)


def answered(rows: list[Comparison]) -> list[Comparison]:
    return [row for row in rows if not row.failure]


def of_costs(rows: list[Comparison]) -> Iterator[Claim]:
    done = answered(rows)
    yield Claim("time / Keras's own trace, median", median(row.time_ratio for row in done), 1.5, times)
    yield Claim(
        "time / Keras's own trace, 95th percentile", percentile([r.time_ratio for r in done], 0.95), None, times
    )
    yield Claim(
        "growth of the process, largest", max((row.estimate["growth"] for row in done), default=0), None, mebibytes
    )
    yield Claim("growth of the process / peak, median", median(row.growth_share for row in done), 0.10)
    own = [row.growth_share * row.trace["growth"] / max(1, row.estimate["growth"]) for row in done]
    yield Claim("the same for Keras's own trace, median", median(own), None)
    beyond = [row.growth_share - share for row, share in zip(done, own, strict=True)]
    yield Claim("growth beyond Keras's own trace / peak, median", median(beyond), None)


def of_other_tools(rows: list[Comparison]) -> Iterator[Claim]:
    done = answered(rows)
    for what, tool in (("the web's formula", "formula"), ("model-profiler", "profiler")):
        errors = [abs(e) for row in done if (e := row.error_of(tool, row.peaks)) is not None]
        yield Claim(f"{what}: answers", len(errors), None, number)
        if errors:
            yield Claim(f"{what}: median error", median(errors), None)


def of_needs(rows: list[Needs], asked: int) -> Iterator[Claim]:
    if asked:
        yield Claim("needs: cases without an answer", asked - len(rows), 0, number)
        yield Claim("needs: median error", median(abs(row.error) for row in rows), 0.05)
        wrong = sum(len(row.wrong_budgets) for row in rows)
        yield Claim("needs: wrong verdicts more than 12 % away", wrong, 0, number)


def of_largest(rows: list[Largest], asked: int) -> Iterator[Claim]:
    if asked:
        yield Claim("largest batch: right in most runs", sum(row.right for row in rows) / asked, 1.0, at_least=True)


def of_search(search: Search) -> Iterator[Claim]:
    yield Claim("largest batch of ResNet50: right", float(search.right), 1.0, at_least=True)
    yield Claim("largest batch of ResNet50: faster than trial search", search.speedup, 10, times, at_least=True)
    yield Claim("ResNet50 at another batch, slowest", search.slowest_other_batch_seconds, 0.05, milliseconds)


def search_failed() -> Claim:
    return Claim("largest batch of ResNet50: searches that failed", 1, 0, number)


def share_of(verdicts: Iterator[bool]) -> float:
    known = list(verdicts)
    return sum(known) / len(known) if known else 0.0
