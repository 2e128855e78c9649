"""Rows of text: aligned for a terminal, and a Markdown table as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.truth import MIB


@dataclass(frozen=True)
class Table:
    columns: dict[str, int]

    def head(self) -> list[str]:
        return [self.row(list(self.columns)), self.row(["-" * width for width in self.columns.values()])]

    def row(self, cells: Sequence[str]) -> str:
        padded = [cell.ljust(width) for cell, width in zip(cells, self.columns.values(), strict=True)]
        return f"| {' | '.join(padded)} |"

    def remark(self, name: str, text: str) -> str:
        """A row that has no figures: the text takes the place of the first of them."""
        empty = [""] * (len(self.columns) - 2)
        return self.row([name, text, *empty])


def mib(size: float) -> str:
    return f"{size / MIB:.1f}"


def band(sizes: Sequence[int]) -> str:
    low, high = mib(min(sizes)), mib(max(sizes))
    return low if low == high else f"{low}–{high}"  # noqa: RUF001


def percent(share: float | None, *, signed: bool = False) -> str:
    if share is None:
        return "–"  # noqa: RUF001
    return f"{100 * share:+.1f} %" if signed else f"{100 * share:.1f} %"
