"""A curve of live bytes over time, drawn in characters."""

from __future__ import annotations

from collections.abc import Sequence

from memfit.sizes import format_size

Point = tuple[float, int]
_LEVELS = " ▁▂▃▄▅▆▇█"


def curve_rows(points: Sequence[Point], *, width: int = 64, height: int = 8) -> list[str]:
    """(seconds, bytes) as a filled curve; each column shows the highest of its span, so that no peak is lost."""
    columns = highest_by_span(points, width)
    top = max(columns, default=0)
    if top <= 0:
        return []
    rows = [_row([value / top for value in columns], height, row) for row in range(height - 1, -1, -1)]
    labels = [format_size(top), *[""] * (height - 2), "0 B"]
    return [f"  {label:>10} ┤{row}" for label, row in zip(labels, rows, strict=True)]


def highest_by_span(points: Sequence[Point], spans: int) -> list[int]:
    """The highest value in each of `spans` equal stretches of time; a value holds until the next point."""
    if not points:
        return []
    start, end = points[0][0], points[-1][0]
    highest = [0] * spans
    last_span, last_value = 0, 0
    for seconds, value in points:
        span = min(int((seconds - start) / ((end - start) or 1.0) * spans), spans - 1)
        for between in range(last_span, span + 1):
            highest[between] = max(highest[between], last_value)
        highest[span] = max(highest[span], value)
        last_span, last_value = span, value
    return highest


def _row(columns: list[float], height: int, row: int) -> str:
    steps = len(_LEVELS) - 1
    return "".join(_LEVELS[min(max(round((share * height - row) * steps), 0), steps)] for share in columns)
