"""Did the script die of memory, and where?"""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from memfit.running.order import Order
from memfit.sizes import format_size

_CRASHES = {signal.SIGSEGV: "a segfault", signal.SIGABRT: "an abort", signal.SIGBUS: "a bus error"}
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')
_LIBRARIES = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python[\d.]+)[/\\]")
_TRAINING = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")


@dataclass(frozen=True)
class Death:
    """`in_training`: in a step that a smaller micro-batch would make smaller."""

    text: str
    in_training: bool


def died_of_memory(returncode: int, order: Order, kills: int) -> Death | None:
    """`kills`: how many processes the kernel's OOM killer has ended meanwhile."""
    number = -returncode
    frames = read_stack(order.crash)
    if number == signal.SIGKILL and kills > 0:
        return Death("the kernel's OOM killer ended the script: the machine or its container ran out of memory", True)
    if number in _CRASHES and order.budget is not None and _in_tensorflow(frames):
        place = _place(frames)
        how = _CRASHES[signal.Signals(number)]
        text = (
            f"the script died of memory{place}: {how} inside TensorFlow under a budget of {format_size(order.budget)}"
        )
        return Death(text, any(function in _TRAINING for _, _, function in frames))
    return None


def read_stack(crash: Path) -> list[tuple[str, int, str]]:
    """The stack of the thread that crashed, innermost first."""
    try:
        text = crash.read_text(errors="replace")
    except OSError:
        return []
    current = text.partition("Current thread")[2].partition("\n\n")[0]
    return [(m["file"], int(m["line"]), m["function"]) for m in _FRAME.finditer(current)]


def oom_kills() -> int:
    """Processes that the kernel has ended for want of memory, here or in this container, since it started."""
    counts = [_counter(Path("/proc/vmstat")), _counter(Path("/sys/fs/cgroup/memory.events"))]
    return sum(count for count in counts if count is not None)


def _counter(file: Path) -> int | None:
    try:
        found = re.search(r"^oom_kill (\d+)$", file.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) if found else None


def _in_tensorflow(frames: list[tuple[str, int, str]]) -> bool:
    return any("tensorflow" in file for file, _, _ in frames[:8])


def _place(frames: list[tuple[str, int, str]]) -> str:
    own = next(((file, line) for file, line, _ in frames if not _LIBRARIES.search(file)), None)
    return f" at {Path(own[0]).name}:{own[1]}" if own else ""
