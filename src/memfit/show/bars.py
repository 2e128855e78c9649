"""Rows of a name, a size, a share and a bar."""

from __future__ import annotations

from collections.abc import Iterable

from memfit.sizes import format_size

WIDTH = 28
_EIGHTHS = " ▏▎▍▌▋▊▉"


def bar_rows(parts: Iterable[tuple[str, int]], total: int, *, name_width: int = 30) -> list[str]:
    rows = []
    for name, size in parts:
        share = size / total if total else 0.0
        rows.append(
            f"  {_fit(name, name_width):<{name_width}} {format_size(size):>10} {share:>6.1%}  {bar(share)}".rstrip()
        )
    return rows


def bar(share: float, width: int = WIDTH) -> str:
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    return "█" * (eighths // 8) + (_EIGHTHS[eighths % 8] if eighths % 8 else "")


def _fit(name: str, width: int) -> str:
    return name if len(name) <= width else f"…{name[-(width - 1) :]}"
