"""What the measuring child does: build the model, train it for a few steps, hand back what was held."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from memfit import engines
from memfit.device.death import failure_text
from memfit.device.oom import is_out_of_memory, read_failure
from memfit.device.worker import Reporter
from memfit.engines import Recorder
from memfit.errors import DoesNotFit, MemfitError
from memfit.measurement.result import Measurement, from_recording
from memfit.models.batch import Batch, batches, portable, require_trainable
from memfit.models.carry import Parcel, unpack
from memfit.models.names import LayerNames, owned_variables
from memfit.models.target import Loaded, Target

BUILD = "building the model"
XLA_NOTE = "XLA compiles the step into one program and hides its layers: what they hold stands under (compiled)"


@dataclass(frozen=True)
class MeasureJob:
    """`source` is where the model comes from: packed up, or a target to load."""

    source: Parcel | Target
    batch_size: int
    x: Any
    y: Any
    steps: int
    budget: int | None = None

    def with_budget(self, budget: int | None) -> MeasureJob:
        return replace(self, budget=budget)


def run(job: MeasureJob, reporter: Reporter) -> Measurement:
    engine = engines.current()
    if job.budget is not None:
        engine.enforce(job.budget)
    reporter.progress("starting TensorFlow")
    names = LayerNames()
    with engine.recorder() as recorder:
        try:
            model, step_seconds = _train(job, recorder, reporter, names)
        except MemfitError:
            raise
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            raise _does_not_fit(error, job.budget, names) from error
        reporter.progress("reading the trace")
        recording = recorder.finish(names)
    return from_recording(
        recording,
        batch_size=job.batch_size,
        step_seconds=step_seconds,
        model_name=model.name,
        notes=[XLA_NOTE] if model.jit_compile else [],
    )


def _train(job: MeasureJob, recorder: Recorder, reporter: Reporter, names: LayerNames) -> tuple[Any, float]:
    reporter.progress(BUILD)
    with recorder.phase(BUILD):
        loaded = _load(job.source)
        model, x = loaded.model, job.x if job.x is not None else portable(loaded.x, job.batch_size)
        y = job.y if job.y is not None else portable(loaded.y, job.batch_size)
        require_trainable(model, x)
        tries = [batch.filled(job.batch_size) for batch in batches(model, x, y)]
        recorder.sample(owned_variables(model))
    names.learn(model)
    seconds = []
    for step in range(1, job.steps + 1):
        reporter.progress(f"step {step} of {job.steps}")
        with recorder.phase(f"step {step}"):
            start = time.perf_counter()
            tries = [_train_step(model, tries, recorder)]
            seconds.append(time.perf_counter() - start)
        names.learn(model)
        recorder.sample(owned_variables(model))
        reporter.state(*_live_and_peak())
    return model, min(seconds)


def _load(source: Parcel | Target) -> Loaded:
    return source.load() if isinstance(source, Target) else Loaded(unpack(source))


def _train_step(model: Any, tries: list[Batch], recorder: Recorder) -> Batch:
    """One step on the first batch that the model's own step takes, and that batch."""
    *earlier, last = tries
    for batch in earlier:
        try:
            return _train_on(model, batch, recorder)
        except Exception as error:
            if is_out_of_memory(error):
                raise
    return _train_on(model, last, recorder)


def _train_on(model: Any, batch: Batch, recorder: Recorder) -> Batch:
    recorder.inputs(batch.sizes())
    if batch.y is not None:
        model.train_on_batch(batch.x, batch.y)
    else:
        model.make_train_function()
        model.train_function(iter([batch.x]))  # as `fit(x)` feeds it; train_on_batch would wrap x in a tuple
    return batch


def _live_and_peak() -> tuple[int, int]:
    state = engines.current().state()
    return state.live, state.peak


def _does_not_fit(error: BaseException, budget: int | None, names: Callable[[Any], str | None]) -> DoesNotFit:
    engine = engines.current()
    failure = read_failure(str(error))
    op = failure.op or ""
    failure = replace(
        failure,
        op=engine.plain_name(op) or None,
        layer=engine.layer_of_failure(error, op, names),
        limit=budget,
    )
    return DoesNotFit(failure_text(failure, budget), budget=budget, failure=failure)
