"""What the checking child does: become the script, and stop where it begins to train."""

from __future__ import annotations

from dataclasses import dataclass

from memfit import engines
from memfit.checking import children
from memfit.checking.result import Check, check_of_failure
from memfit.checking.watcher import Stop, Watcher
from memfit.device.oom import is_out_of_memory
from memfit.device.worker import Reporter, summary
from memfit.diagnosis.run import explain
from memfit.errors import BadInput, MemfitError
from memfit.scripts import Script, exit_code, when_imported


@dataclass(frozen=True)
class CheckJob:
    script: Script
    budget: int
    every: bool


def run(job: CheckJob, reporter: Reporter) -> list[Check] | MemfitError:
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
        _failed(error, watcher, job.budget)
    answer: list[Check] | MemfitError = watcher.problem or watcher.checks or children.answered()
    if not answer:
        raise BadInput(_never_trained(job.script, ended))
    return answer


def watch(watcher: Watcher) -> None:
    for module, action in engines.current().watching(watcher).items():
        when_imported(module, action)


def _failed(error: Exception, watcher: Watcher, budget: int) -> None:
    """An error of the script's own: memory that ran out before the training is an answer, too."""
    if is_out_of_memory(error):
        watcher.checks.append(check_of_failure(explain(error), budget))
    elif not watcher.checks:
        raise BadInput(f"the script failed before its training: {summary(error)}") from error


def _never_trained(script: Script, ended: int) -> str:
    if ended == 2 and not script.arguments:
        return f"{script.target} ended with exit code 2 before it trained: give it its arguments after its name"
    code = f" with exit code {ended}" if ended else ""
    return f"{script.target} ended{code} without calling fit, train_on_batch or a tf.function that applies gradients"
