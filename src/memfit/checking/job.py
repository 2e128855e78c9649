"""What the checking child does: become the script, and stop where it begins to train."""

from __future__ import annotations

from dataclasses import dataclass

from memfit import engines
from memfit.checking import children
from memfit.checking.result import Check
from memfit.checking.watcher import Stop, Watcher
from memfit.device.oom import is_out_of_memory
from memfit.device.worker import Reporter, summary
from memfit.diagnosis.run import explain
from memfit.errors import BadInput, DoesNotFit, Failure
from memfit.scripts import Script, after_import, exit_code


@dataclass(frozen=True)
class CheckJob:
    script: Script
    budget: int
    every: bool


def run(job: CheckJob, reporter: Reporter) -> list[Check]:
    reporter.progress(f"running {job.script.target} up to its training")
    watcher = Watcher(job.budget, job.every, reporter)
    watch(watcher)
    children.watch(job.budget, job.every, reporter)
    ended = 0
    try:
        job.script.run()
    except Stop:
        pass
    except SystemExit as error:
        ended = exit_code(error)
    except Exception as error:
        _failed(error, watcher)
    if watcher.problem is not None:
        raise watcher.problem
    checks: list[Check] = watcher.checks or children.answered() or []
    if not checks:
        raise BadInput(_never_trained(job.script, ended))
    return checks


def watch(watcher: Watcher) -> None:
    for module, action in engines.current().watching(watcher).items():
        after_import(module, action)


def _failed(error: Exception, watcher: Watcher) -> None:
    """An error of the script's own: memory that ran out before the training is an answer, too."""
    if is_out_of_memory(error):
        diagnosis = explain(error)
        where = f" (line {diagnosis.source.line})" if diagnosis.source else ""
        failure = Failure(shape=diagnosis.shape, dtype=diagnosis.dtype, bytes=diagnosis.bytes, op=diagnosis.op)
        text = f"the script ran out of memory before its training{where}: {diagnosis.cause}; {diagnosis.evidence[0]}"
        raise DoesNotFit(text, failure=failure) from error
    if not watcher.checks:
        raise BadInput(f"the script failed before its training: {summary(error)}") from error


def _never_trained(script: Script, ended: int) -> str:
    if ended == 2 and not script.arguments:
        return f"{script.target} ended with exit code 2 before it trained: give it its arguments after its name"
    code = f" with exit code {ended}" if ended else ""
    return f"{script.target} ended{code} without calling fit, train_on_batch or a tf.function that applies gradients"
