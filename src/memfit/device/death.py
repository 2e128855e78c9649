"""Why a child died without a word: of memory, or of something else."""

from __future__ import annotations

import signal
from dataclasses import replace

from memfit import engines
from memfit.device.channel import State
from memfit.device.oom import mentions_out_of_memory, read_failure
from memfit.errors import ChildFailed, DoesNotFit, Failure, MemfitError
from memfit.sizes import format_size

_CRASHES = {signal.SIGSEGV: "segfault", signal.SIGABRT: "abort", signal.SIGBUS: "bus error"}
_NEARLY_FULL = 0.9


class IllegalInstruction(ChildFailed):
    """The CPU refused an instruction that it advertises."""


def completed(error: DoesNotFit, log: str) -> DoesNotFit:
    """The same error with what only the child's log knows: the bytes that were in use at the failure."""
    failure = replace(error.failure, in_use=read_failure(log).in_use)
    return DoesNotFit(failure_text(failure, error.budget), budget=error.budget, failure=failure)


def explain_death(returncode: int, log: str, *, budget: int | None, state: State | None) -> MemfitError:
    """The error that says what ended a child, from its exit code, its log and its allocator's last known state."""
    number = -returncode if returncode < 0 else returncode - 128  # a shell says 128 + signal
    if number == signal.SIGKILL:
        return DoesNotFit(_killed_text(state), budget=budget, failure=Failure(how="killed"))
    if number in _CRASHES and (mentions_out_of_memory(log) or _nearly_full(state, budget)):
        failure = replace(_last_failure(log), how=_CRASHES[signal.Signals(number)])
        return DoesNotFit(failure_text(failure, budget), budget=budget, failure=failure)
    if number == signal.SIGILL:
        return IllegalInstruction(
            "the CPU refused an instruction that it advertises; set ONEDNN_MAX_CPU_ISA=AVX2 and try again"
        )
    return ChildFailed(f"the child process ended with {_ending(returncode, number)}. {_last_line(log)}")


def _last_failure(log: str) -> Failure:
    """The allocation that failed last, with its op's name as the user knows it."""
    failure, engine = read_failure(log), engines.current()
    op = failure.op or ""
    return replace(failure, op=engine.plain_name(op) or None, layer=engine.layer_in_name(op))


def failure_text(failure: Failure, budget: int | None) -> str:
    """One line for a person: what could not be had, for what, under which budget, and by how much."""
    limit = budget if budget is not None else failure.limit
    under = f" under a budget of {format_size(limit)}" if limit is not None else ""
    what = format_size(failure.bytes) if failure.bytes is not None else "an unknown amount"
    where = f"layer {failure.layer!r}" if failure.layer else "the step"
    how = "" if failure.how == "raised" else f" TensorFlow did not raise but died of it ({failure.how})."
    return f"out of memory{under}: {where} asked for {what}{_tensor(failure)}.{_shortfall(failure, limit)}{how}"


def _tensor(failure: Failure) -> str:
    parts = []
    if failure.shape is not None:
        parts.append(f"shape {list(failure.shape)}, {failure.dtype}")
    if failure.op:
        parts.append(f"op {failure.op}")
    return f" ({'; '.join(parts)})" if parts else ""


def _shortfall(failure: Failure, limit: int | None) -> str:
    if failure.in_use is None:
        return ""
    held = f" {format_size(failure.in_use)} were in use"
    if failure.bytes is None or limit is None:
        return f"{held}."
    short = failure.in_use + failure.bytes - limit
    return f"{held}: at least {format_size(short)} short." if short > 0 else f"{held}, the rest in pieces too small."


def _killed_text(state: State | None) -> str:
    held = f" while TensorFlow held {format_size(state.live)}" if state else ""
    return f"the system killed the child{held} (exit 137): the machine or its container ran out of memory"


def _nearly_full(state: State | None, budget: int | None) -> bool:
    return state is not None and budget is not None and state.live >= _NEARLY_FULL * budget


def _ending(returncode: int, number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"exit code {returncode}"


def _last_line(log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return f"Its last words: {lines[-1][:300]}" if lines else "It left no message"
