"""Charts as inline SVG: no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from memfit.show.curve import Point, highest_by_span
from memfit.sizes import format_size

COLOURS = {
    "weights": "#4e79a7",
    "optimizer": "#f28e2b",
    "gradients": "#e15759",
    "activations": "#76b7b2",
    "workspace": "#59a14f",
    "inputs": "#edc948",
    "padding": "#bab0ac",
    "other": "#9c755f",
}
_COLUMNS = 350
_LABEL = 16


def stacked_bar(parts: Sequence[tuple[str, int]], *, width: int = 700, height: int = 22) -> str:
    """One bar of all parts, with a legend below it."""
    total = sum(size for _, size in parts) or 1
    x, boxes = 0.0, []
    for name, size in parts:
        title = f"<title>{escape(name)}: {format_size(size)}</title>"
        wide = width * size / total
        boxes.append(f"<rect x='{x:.1f}' width='{wide:.1f}' height='{height}' fill='{COLOURS[name]}'>{title}</rect>")
        x += wide
    legend = " ".join(
        f"<span style='white-space:nowrap;margin-right:1em'><span style='color:{COLOURS[name]}'>■</span> "
        f"{escape(name)} {format_size(size)}</span>"
        for name, size in parts
    )
    return f"<svg viewBox='0 0 {width} {height}' width='100%'>{''.join(boxes)}</svg><p>{legend}</p>"


def area_chart(points: Sequence[Point], *, width: int = 700, height: int = 160) -> str:
    """Live bytes over time; each column is the highest of its span."""
    columns = highest_by_span(points, _COLUMNS)
    top = max(columns, default=0)
    if top <= 0:
        return ""
    floor, step = height + _LABEL, width / (_COLUMNS - 1)
    line = " ".join(f"{i * step:.1f},{floor - value / top * height:.1f}" for i, value in enumerate(columns))
    milliseconds = (points[-1][0] - points[0][0]) * 1000
    return (
        f"<svg viewBox='0 0 {width} {floor + _LABEL}' width='100%' font-size='11'>"
        f"<polygon points='0,{floor} {line} {width},{floor}' fill='#76b7b2' stroke='#2b6f6a'/>"
        f"<text x='0' y='{_LABEL - 5}'>{format_size(top)}</text>"
        f"<text x='{width}' y='{floor + _LABEL - 4}' text-anchor='end'>{milliseconds:.0f} ms</text></svg>"
    )
