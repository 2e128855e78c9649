"""Sizes in and out: "8GiB" or an int comes in, an int of bytes is kept, MiB and GiB go out to a person."""

from __future__ import annotations

import re

from memfit.errors import UsageError

Size = int | str

_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGTP", start=1):
    _UNITS[f"{_letter}IB"] = 1024**_power
    _UNITS[f"{_letter}B"] = 1000**_power

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*")


def parse_size(size: Size) -> int:
    """Bytes meant by `size`: an int, or a text such as "8GiB", "500MB" or "1.5 GB"."""
    if isinstance(size, str):
        return _positive(_parse_text(size), size)
    if isinstance(size, bool) or not isinstance(size, int):
        raise UsageError(f'a size must be an int of bytes or a text such as "8GiB". Received: {size!r}')
    return _positive(size, size)


def format_size(size: float) -> str:
    """`size` for a person: the largest binary unit that leaves at least 1."""
    sign, size = ("-", -size) if size < 0 else ("", size)
    if size < 1024:
        return f"{sign}{size:.0f} B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        size /= 1024
        if size < 1024 or unit == "TiB":
            break
    return f"{sign}{size:.{1 if size < 100 else 0}f} {unit}" if unit != "GiB" else f"{sign}{size:.2f} GiB"


def _parse_text(text: str) -> int:
    match = _SIZE.fullmatch(text)
    unit = _UNITS.get(match[2].upper()) if match else None
    if match is None or unit is None:
        raise UsageError(f'a size is a number with KiB, MiB, GiB, KB, MB or GB, such as "8GiB". Received: {text!r}')
    return int(float(match[1]) * unit)


def _positive(size: int, received: Size) -> int:
    if size <= 0:
        raise UsageError(f"a size must be more than 0 bytes. Received: {received!r}")
    return size
