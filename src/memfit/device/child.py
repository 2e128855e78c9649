"""The parent's side: a child Python with a budget in force, whose death is a result like any other."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import cloudpickle

from memfit import engines
from memfit.device.channel import Job, Printed, Progress, Raised, Result, State
from memfit.device.death import IllegalInstruction, completed, explain_death
from memfit.device.host import host_memory
from memfit.errors import ChildFailed, DoesNotFit

_BOOT = (
    "import json, sys; sys.path[:], stdin = json.loads(sys.argv.pop()); "
    "from memfit.device.worker import main; main(stdin)"
)


def run_in_child(
    function: str,
    payload: Any,
    *,
    budget: int | None = None,
    on_progress: Callable[[str], None] | None = None,
    stdin: int | None = None,
) -> Any:
    """Call `function` ("module:name") with `payload` in a fresh Python under `budget` and return its result.

    `stdin` is a file descriptor that the job may read as its standard input; else it finds none there.
    Raises what the job raised, `DoesNotFit` where the child died of memory, and `ChildFailed` where it died of
    something else. The child and its temporary files are gone when this returns, however it returns.
    """
    job = Job(function, cloudpickle.dumps(payload))
    engine = engines.current()
    limit = budget if budget is not None else max(host_memory().free, 2**20)
    environment = engine.environment(limit)
    try:
        return _run(job, environment, budget, on_progress or (lambda _: None), stdin)
    except IllegalInstruction:
        return _run(job, environment | engine.cautious_environment(), budget, on_progress or (lambda _: None), stdin)


def _run(
    job: Job,
    environment: dict[str, str],
    budget: int | None,
    on_progress: Callable[[str], None],
    stdin: int | None,
) -> Any:
    with tempfile.TemporaryDirectory(prefix="memfit-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as log_stream, _start(folder, log_stream, environment, stdin) as child:
            try:
                answer, state = _converse(child, job, on_progress)
            finally:
                child.kill()
        text = log.read_text(errors="replace")
    if isinstance(answer, Result):
        return answer.value
    if answer is not None:
        raise _error(answer, text)
    raise explain_death(child.returncode, text, budget=budget, state=state)


def _start(folder: str, log: IO[bytes], environment: dict[str, str], stdin: int | None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", _BOOT, json.dumps([sys.path, stdin])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        pass_fds=() if stdin is None else (stdin,),
        env=os.environ | environment | {"TMPDIR": folder},  # so that its temporary files go when the folder does
    )


def _converse(
    child: subprocess.Popen[bytes], job: Job, on_progress: Callable[[str], None]
) -> tuple[Result | Raised | None, State | None]:
    """Hand the job over and listen until the answer, or until the child is gone and has given none."""
    assert child.stdin is not None
    assert child.stdout is not None
    state: State | None = None
    try:
        pickle.dump(job, child.stdin)
        child.stdin.flush()
        while True:
            message = pickle.load(child.stdout)
            if isinstance(message, Result | Raised):
                return message, state
            if isinstance(message, State):
                state = message
            elif isinstance(message, Progress):
                on_progress(message.text)
            elif isinstance(message, Printed):
                sys.stderr.write(message.text)
    except (EOFError, BrokenPipeError, pickle.UnpicklingError):
        child.wait()
        return None, state


def _error(answer: Raised, log: str) -> Exception:
    error = answer.error or ChildFailed(answer.summary)
    if isinstance(error, DoesNotFit):
        error = completed(error, log)
    error.add_note(answer.traceback)
    return error
