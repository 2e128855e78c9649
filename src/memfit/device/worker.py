"""The child's side: reads one job, does it, and answers. It ends when its parent does."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from typing import IO, Any, NoReturn

from memfit.device.channel import Job, Printing, Progress, Raised, Result, Sender, State
from memfit.errors import MemfitError


class Reporter:
    """What a job tells its parent while it works."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def progress(self, text: str) -> None:
        self._sender.send(Progress(text))

    def answer(self, value: Any) -> NoReturn:
        """Give the job's result now and end this process, whatever else is going on in it."""
        self._sender.send(Result(value))
        os._exit(0)

    def state(self, live: int, peak: int) -> None:
        self._sender.send(State(live, peak))


def main(stdin: int | None = None) -> None:
    """`stdin` is the file that the job may read as its standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends this process
    lifeline = os.fdopen(os.dup(0), "rb")
    sender = Sender(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what native code prints belongs in the log
    os.dup2(stdin if stdin is not None else os.open(os.devnull, os.O_RDONLY), 0)
    sys.stdout = sys.stderr = Printing(sender)
    job = _read_job(lifeline)
    threading.Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    sender.send(_answer(job, Reporter(sender)))
    os._exit(0)  # engines that ran out of memory may abort while they are being taken down


def _read_job(stream: IO[bytes]) -> Job:
    import pickle

    job: Job = pickle.load(stream)
    return job


def _end_with_parent(lifeline: IO[bytes]) -> None:
    lifeline.read()
    os._exit(1)


def _answer(job: Job, reporter: Reporter) -> Result | Raised:
    try:
        module, name = job.function.split(":")
        return Result(getattr(importlib.import_module(module), name)(_unpickle(job.payload), reporter))
    except MemfitError as error:
        return Raised(error, str(error), traceback.format_exc())
    except (Exception, SystemExit) as error:
        return Raised(None, summary(error), traceback.format_exc())


def _unpickle(payload: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(payload)


def summary(error: BaseException) -> str:
    """One line: the error, and the last line of code that is not of an installed library."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if of_the_user(frame.filename)]
    where = f" ({os.path.basename(frames[-1].filename)}, line {frames[-1].lineno})" if frames else ""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return f"{type(error).__name__}: {text}{where}" if text else f"{type(error).__name__}{where}"


def of_the_user(filename: str) -> bool:
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    library = os.path.dirname(os.__file__)
    in_demo = os.path.join(own, "demo")
    installed = "site-packages" in filename or filename.startswith((library, "<frozen"))
    return not installed and (not filename.startswith(own) or filename.startswith(in_demo))
