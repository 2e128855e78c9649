"""Processes that a script starts: those of `multiprocessing` are watched too, other Pythons are refused."""

from __future__ import annotations

import multiprocessing.process
import os
import pickle
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from memfit.device.worker import Reporter
from memfit.errors import BadInput

_ANSWER = "memfit-check-answer"


class _ByFile:
    """Reports from a process of the script's: the answer lies in a file that the first process looks for."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def progress(self, text: str) -> None:
        """Nobody listens to that."""

    def answer(self, value: Any) -> NoReturn:
        unfinished = self._folder / f"{_ANSWER}-{os.getpid()}"
        unfinished.write_bytes(pickle.dumps(value))
        unfinished.rename(self._folder / _ANSWER)
        os._exit(0)


class _Watched:
    """A process's own target, with the watcher in place before it runs."""

    def __init__(self, target: Callable[..., Any], budget: int, every: bool, folder: str) -> None:
        self._target, self._budget, self._every, self._folder = target, budget, every, folder

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from memfit.checking.job import watch
        from memfit.checking.watcher import Stop, Watcher

        reporter: Any = _ByFile(self._folder)
        watcher = Watcher(self._budget, self._every, reporter)
        watch(watcher)
        try:
            return self._target(*args, **kwargs)
        except Stop:
            reporter.answer(watcher.problem or watcher.checks)


def watch(budget: int, every: bool, reporter: Reporter) -> None:
    folder = tempfile.gettempdir()
    process: Any = multiprocessing.process.BaseProcess
    start = process.start

    def watched_start(self: Any) -> None:
        if self._target is not None:
            self._target = _Watched(self._target, budget, every, folder)
        start(self)

    process.start = watched_start
    threading.Thread(target=_await, args=(Path(folder) / _ANSWER, reporter), daemon=True).start()
    sys.addaudithook(_refuse_pythons)


def answered() -> Any:
    """What a process of the script's found out, if one did."""
    answer = Path(tempfile.gettempdir()) / _ANSWER
    return pickle.loads(answer.read_bytes()) if answer.exists() else None


def _await(answer: Path, reporter: Reporter) -> None:
    while not answer.exists():
        time.sleep(0.1)
    reporter.answer(pickle.loads(answer.read_bytes()))


def _refuse_pythons(event: str, args: tuple[Any, ...]) -> None:
    """A Python that is started for another script would train for real."""
    if event != "subprocess.Popen":
        return
    words = [os.fsdecode(word) for word in args[1]] if isinstance(args[1], Sequence) else []
    if words and "python" in Path(words[0]).name and any(word.endswith(".py") for word in words[1:3]):
        other = next(word for word in words[1:] if word.endswith(".py"))
        raise BadInput(f"the script starts another one, {other!r}, which would train for real: check that one instead")
