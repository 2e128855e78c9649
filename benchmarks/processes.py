"""Starting a job of `child.py` in a fresh process and hearing its answer, or how it died."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.registry import Case

ROOT = Path(__file__).parents[1]
THREADS = {"TF_NUM_INTEROP_THREADS": "2", "TF_NUM_INTRAOP_THREADS": "2"}
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "2", "KERAS_BACKEND": "tensorflow", "CUDA_VISIBLE_DEVICES": ""}
TIMEOUT_SECONDS = 1800
OUT_OF_MEMORY = re.compile(r"resource.?exhausted|out of memory|\bOOM\b", re.IGNORECASE)


class JobFailed(Exception):
    """A job ended without an answer, for a reason that is not a limit on memory."""


@dataclass(frozen=True)
class Outcome:
    """`answer` is None where the process ran out of memory or was ended by a signal: `death` says how."""

    answer: dict[str, Any] | None
    death: str
    seconds: float


def run_job(job: str, case: Case, batch: int, environment: dict[str, str], *questions: Any) -> Outcome:
    return run("benchmarks.child", [job, case.name, str(batch), *map(json.dumps, questions)], environment)


def run(module: str, arguments: list[str], environment: dict[str, str]) -> Outcome:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=ROOT,
        env=os.environ | QUIET | THREADS | environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_SECONDS,
    )
    seconds = time.perf_counter() - started
    if done.returncode == 0:
        return Outcome(json.loads(done.stdout.splitlines()[-1]), "", seconds)
    return Outcome(None, _death(done), seconds)


def _death(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode < 0:
        return signal.strsignal(-done.returncode) or f"signal {-done.returncode}"
    if OUT_OF_MEMORY.search(done.stderr):
        return "out of memory"
    raise JobFailed(_error(done.stderr) or f"exit code {done.returncode}")


def _error(log: str) -> str:
    """The first line of the error that ended a process."""
    after_the_stack = log.rpartition("Traceback (most recent call last):")[2]
    named = re.search(r"^[A-Za-z_][\w.]*: .*", after_the_stack, re.MULTILINE)
    return named[0] if named else "".join(log.splitlines()[-1:])
