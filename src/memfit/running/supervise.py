"""The parent of `memfit run`: invisible while all is well; it starts the script again when memory has killed it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memfit import engines
from memfit.device.host import host_memory
from memfit.running.death import died_of_memory, oom_kills
from memfit.running.order import Order
from memfit.running.record import read_journal
from memfit.scripts import Script
from memfit.training.messages import say

TRIES = 5
PASSED_ON = {
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2")
    if hasattr(signal, name)
}


def supervise(script: Script, words: list[str], budget: int | None) -> tuple[int, list[dict[str, Any]]]:
    """The script's return code, negative for a signal as `subprocess` has it, and the records of its trainings."""
    script.check()
    begin = _input_position()
    with tempfile.TemporaryDirectory(prefix="memfit-") as folder:
        for attempt in range(TRIES):
            order, code, kills = _attempt(words, budget, 2**attempt, folder)
            death = died_of_memory(code, order, kills)
            if death is None or attempt == TRIES - 1 or not death.in_training:
                if death is not None:
                    say(death.text)
                break
            say(f"{death.text}; starting it again with micro-batches half as large (try {attempt + 2} of {TRIES})")
            if begin is not None:
                os.lseek(0, begin, os.SEEK_SET)
        return code, read_journal(order.journal)


def _attempt(words: list[str], budget: int | None, parts: int, folder: str) -> tuple[Order, int, int]:
    before = oom_kills()
    lifeline, held = os.pipe()
    os.set_inheritable(lifeline, True)
    order = Order(words, budget, parts, lifeline, folder)
    limit = budget if budget is not None else max(host_memory().free, 2**20)
    try:
        with _signals_held() as mask:
            child = subprocess.Popen(
                [sys.executable, "-m", "memfit.running.child", order.text()],
                pass_fds=(lifeline,),
                env=os.environ | engines.current().environment(limit, logged=False),
                preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, mask),
            )
            _wait(child)
    finally:
        os.close(lifeline)
        os.close(held)
    return order, child.returncode, oom_kills() - before


@contextmanager
def _signals_held() -> Iterator[Any]:
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, PASSED_ON | {signal.SIGCHLD})
    try:
        yield mask
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _wait(child: subprocess.Popen[bytes]) -> None:
    """Pass on what is sent to this process alone; what the terminal sends reaches the child by itself."""
    while child.poll() is None:
        got = signal.sigtimedwait(PASSED_ON | {signal.SIGCHLD}, 1.0)
        if got is not None and got.si_signo != signal.SIGCHLD and got.si_code <= 0:
            child.send_signal(got.si_signo)


def _input_position() -> int | None:
    """A file on standard input can be read again; a terminal or a pipe cannot."""
    try:
        return os.lseek(0, 0, os.SEEK_CUR)
    except OSError:
        return None
