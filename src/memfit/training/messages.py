"""memfit's own lines: on standard error, one for each change, never in the middle of Keras's progress bar."""

from __future__ import annotations

import sys

_said: set[str] = set()


def say(text: str) -> None:
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout.write("\n")
        sys.stdout.flush()
    print(f"memfit: {text}", file=sys.stderr, flush=True)
