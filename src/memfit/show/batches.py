"""The peak against the batch size, with the budget as a line."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from memfit.sizes import format_size

WIDTH = 48


def batch_rows(peaks: Sequence[tuple[int, int]], budget: int | None) -> list[str]:
    """A bar for each batch size; `┃` stands where the budget ends."""
    widest = max([peak for _, peak in peaks] + ([budget] if budget else []))
    return [_row(batch, peak, budget, widest) for batch, peak in peaks]


def batch_chart(peaks: Sequence[tuple[int, int]], budget: int | None, *, width: int = 700) -> str:
    widest = max([peak for _, peak in peaks] + ([budget] if budget else []))
    rows = []
    for index, (batch, peak) in enumerate(peaks):
        y, long = index * 22, (width - 190) * peak / widest
        colour = "#e15759" if budget is not None and peak > budget else "#76b7b2"
        rows.append(
            f"<text x='0' y='{y + 14}'>{batch}</text>"
            f"<rect x='60' y='{y}' width='{long:.1f}' height='18' fill='{colour}'/>"
            f"<text x='{64 + long:.1f}' y='{y + 14}'>{escape(format_size(peak))}</text>"
        )
    if budget is not None:
        x = 60 + (width - 190) * budget / widest
        rows.append(
            f"<line x1='{x:.1f}' x2='{x:.1f}' y1='0' y2='{len(peaks) * 22}' stroke='#222' stroke-dasharray='4'/>"
        )
    return f"<svg viewBox='0 0 {width} {len(peaks) * 22}' width='100%' font-size='12'>{''.join(rows)}</svg>"


def _row(batch: int, peak: int, budget: int | None, widest: int) -> str:
    bar = list("█" * max(round(WIDTH * peak / widest), 1) + " " * WIDTH)[: WIDTH + 1]
    if budget is not None:
        bar[min(round(WIDTH * budget / widest), WIDTH)] = "┃"
    over = " over" if budget is not None and peak > budget else ""
    return f"  {batch:>7} {''.join(bar).rstrip():<{WIDTH + 1}} {format_size(peak)}{over}"
