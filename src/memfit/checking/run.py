"""The call: check a script in a child process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from memfit import device
from memfit.checking.job import CheckJob
from memfit.checking.result import Check
from memfit.errors import MemfitError
from memfit.scripts import Script
from memfit.sizes import Size, parse_size


def check_script(
    script: Script,
    budget: Size | None = None,
    *,
    every: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> list[Check]:
    """Run `script` up to its first training call, or to all of them, and foresee each; nothing is trained.

    Without a budget, what this machine has free is taken for one.
    """
    script.check()
    limit = device.host_memory().free if budget is None else parse_size(budget)
    job = CheckJob(script, limit, every)
    answer = device.run_in_child("memfit.checking.job:run", job, on_progress=on_progress, stdin=_own_stdin())
    if isinstance(answer, MemfitError):
        raise answer
    checks: list[Check] = answer
    return checks


def _own_stdin() -> int | None:
    """Ours, for a script that reads it; None where there is none."""
    try:
        number = sys.stdin.fileno()
        os.fstat(number)
    except (AttributeError, OSError, ValueError):
        return None
    return os.dup(number)
