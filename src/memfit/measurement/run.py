"""The calls: measure a model object, or a target that the child builds by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfit import device
from memfit.errors import UsageError
from memfit.measurement.job import MeasureJob
from memfit.measurement.result import Measurement
from memfit.models.batch import check_batch_size, portable, require_trainable
from memfit.models.carry import pack
from memfit.models.target import Target
from memfit.sizes import Size, parse_size


def measure(
    model: Any, batch_size: int = 32, *, x: Any = None, y: Any = None, steps: int = 2, budget: Size | None = None
) -> Measurement:
    """How much memory does a training step of `model` really need?

    Trains `steps` real steps in a child process, on `x` and `y` or on random data of the right shapes and dtypes,
    and records every allocation. `model` itself is not touched.

    Args:
        model: A compiled `keras.Model`.
        batch_size: Samples in each step.
        x: Arrays or specs (`keras.KerasTensor`, `tf.TensorSpec`); needed by a model that is not built.
        y: Arrays or specs; needed where the loss is the user's own and its targets are unlike the outputs.
        steps: Steps to train. The first also builds the optimizer's variables.
        budget: A limit, such as `"500MiB"`, that TensorFlow's own allocator enforces in the child.

    Raises:
        DoesNotFit: The child ran out of memory; `.failure` has the tensor, the op and the layer.
    """
    batch_size = check_batch_size(batch_size)
    require_trainable(model, x)
    job = MeasureJob(pack(model), batch_size, portable(x, batch_size), portable(y, batch_size), _check_steps(steps))
    return _run(job, budget, None)


def measure_target(
    target: Target,
    batch_size: int = 32,
    *,
    steps: int = 2,
    budget: Size | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Measurement:
    """The same for a model that the child builds or loads by itself."""
    target.check()
    return _run(MeasureJob(target, check_batch_size(batch_size), None, None, _check_steps(steps)), budget, on_progress)


def _run(job: MeasureJob, budget: Size | None, on_progress: Callable[[str], None] | None) -> Measurement:
    limit = None if budget is None else parse_size(budget)
    measurement: Measurement = device.run_in_child(
        "memfit.measurement.job:run", job.with_budget(limit), budget=limit, on_progress=on_progress
    )
    return measurement


def _check_steps(steps: Any) -> int:
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < 1:
        raise UsageError(f"steps must be a whole number of at least 1. Received: {steps!r}")
    return steps
