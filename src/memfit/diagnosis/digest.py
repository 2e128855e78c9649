"""Of a long text the parts that may matter, so that reading it takes no longer than finding them.

They are found by plain search for words, from the end, and their number is bounded: what is read with care stays small
however the text was made.
"""

from __future__ import annotations

from collections.abc import Iterator

LONG = 400_000
HEAD, TAIL = 20_000, 250_000
BEFORE = 300

# what to look for, how many of it from the end, how much of the text after each
_WORDS: tuple[tuple[str, int, int], ...] = (
    ("Traceback (most recent call last)", 4, 30_000),
    ("Detected at node", 3, 20_000),
    ("OOM when allocating", 20, 1_500),
    ("RESOURCE_EXHAUSTED", 20, 4_000),
    ("esource exhausted", 20, 1_500),
    ("ut of memory", 20, 4_000),
    ("ran out of memory trying", 20, 1_500),
    ("failed to alloc", 20, 1_500),
    ("Failed to allocate", 20, 1_500),
    ("Unable to allocate", 20, 800),
    ("MemoryError", 20, 300),
    ("tried to allocate", 10, 600),
    ("Dst tensor is not", 5, 300),
    ("Cannot parse tensor", 5, 800),
    ("bad_alloc", 5, 300),
    ("running low on memory", 5, 300),
    ("memory_limit_:", 3, 300),
    ("Limit: ", 3, 600),
    ("Free memory/Total", 3, 300),
    ("Created device", 10, 300),
    ("memory in use", 10, 300),
    ("illed", 20, 300),
    ("oom", 20, 300),
    ("OOM", 20, 300),
    ("137", 5, 100),
    ("egmentation fault", 5, 100),
    ("ransformation with iterator", 5, 600),
    ("calling layer", 3, 600),
)
_PIECES = ("Free  at ", 20_000, 80)  # of a dump's many lines only these


def digest(text: str) -> str:
    """`text` itself, or of a long one its beginning, its end and what lies around the words to look for."""
    if len(text) <= LONG:
        return text
    spans = [(0, HEAD), (len(text) - TAIL, len(text))]
    for words, most, after in _WORDS:
        spans += [(max(at - BEFORE, 0), min(at + after, len(text))) for at in _from_the_end(text, words, most)]
    whole = _merged(spans)
    pieces = [(at, at + _PIECES[2]) for at in _from_the_end(text, *_PIECES[:2])]
    return "\n".join(text[start:end] for start, end in _merged([*whole, *pieces]))


def _from_the_end(text: str, words: str, most: int) -> Iterator[int]:
    end = len(text)
    for _ in range(most):
        at = text.rfind(words, 0, end)
        if at < 0:
            return
        yield at
        end = at


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
