"""How far a training had come, and whether memory rose on the way."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

_EPOCH = re.compile(r"Epoch (\d{1,7})/(\d{1,7})")
_FINISHED = re.compile(r"(?m:^ {0,4}(\d{1,9})/\1 (?:- |━|\[=))")
_MEMORY = re.compile(
    r"(?i:\b(?:memory|mem|rss|vram|ram|gpu|in use|allocated|used|current|live)\b)[^\n\d]{0,24}"
    r"(\d{1,12}(?:\.\d{1,6})?) ?(?i:([KMGT]i?B)\b)"
)
_DUMP = re.compile(r"\.cc:\d|\bBin \(|[Cc]hunks")  # an allocator's own listing, which rises by nature
_SCALE = {"k": 1, "m": 2, "g": 3, "t": 4}
_FEWEST = 4
_READ = 2_000_000


@dataclass(frozen=True)
class Progress:
    """`rising` are the sizes that a training printed, where they rise from line to line."""

    epoch: int | None = None
    finished: int = 0
    rising: tuple[int, ...] = ()


def read_progress(text: str) -> Progress:
    epochs = _EPOCH.findall(text)
    return Progress(
        epoch=int(epochs[-1][0]) if epochs else None,
        finished=sum(1 for _ in _FINISHED.finditer(text)),
        rising=_rising(text[-_READ:]),
    )


def _rising(text: str) -> tuple[int, ...]:
    """The longest series of sizes under the same words that ends above where it began, and hardly ever falls."""
    series: dict[str, list[int]] = defaultdict(list)
    for match in _MEMORY.finditer(text):
        line = text[max(text.rfind("\n", 0, match.start()), match.start() - 120) : match.start()]
        if _DUMP.search(line):
            continue
        words = re.sub(r"[\d.]+", "#", line)
        series[words].append(int(float(match[1]) * 1024 ** _SCALE[match[2][0].lower()]))
    rising = [sizes for sizes in series.values() if _rises(sizes)]
    rising.sort(key=len)
    return tuple(rising[-1]) if rising else ()


def _rises(sizes: list[int]) -> bool:
    if len(sizes) < _FEWEST or sizes[-1] < 1.2 * sizes[len(sizes) // 4]:
        return False
    falls = sum(later < earlier for earlier, later in pairwise(sizes))
    return falls <= len(sizes) // 10
