"""What the estimating child does: build the target's model without weights, estimate, and render."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memfit import engines
from memfit.device.worker import Reporter
from memfit.models.batch import portable, require_trainable
from memfit.models.target import Target

if TYPE_CHECKING:
    from memfit.estimation.run import BuiltStep


@dataclass(frozen=True)
class EstimateJob:
    target: Target
    batch_size: int
    budget: int | None
    calibrate: bool


@dataclass(frozen=True)
class Rendered:
    """An estimate as values for a script, and as text for a person."""

    values: dict[str, Any]
    text: str


def run(job: EstimateJob, reporter: Reporter) -> Rendered:
    reporter.progress("starting TensorFlow")
    with engines.current().unallocated():
        step = _traced(job, reporter)
    estimate = step.estimate(job.batch_size, job.budget)
    reporter.progress("simulating other batch sizes")
    return Rendered(estimate.to_dict(), str(estimate))


def _traced(job: EstimateJob, reporter: Reporter) -> BuiltStep:
    from memfit.estimation.run import trace_built

    reporter.progress("building the model without its weights")
    loaded = job.target.load_without_weights()
    x, y = portable(loaded.x, 1), portable(loaded.y, 1)
    require_trainable(loaded.model, x)
    _calibrate(reporter, anew=job.calibrate)
    reporter.progress("tracing the training step")
    return trace_built(loaded.model, job.batch_size, x, y)


def _calibrate(reporter: Reporter, anew: bool) -> None:
    """Once on a machine, unless it is asked for. An estimate that has to do without says so."""
    engine = engines.current()
    if anew:
        engine.calibrate(reporter.progress)
    elif not engine.calibrated():
        with suppress(Exception):
            engine.calibrate(reporter.progress)
