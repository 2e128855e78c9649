"""The calls: estimate a model object here, or a target in a child that builds it without weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memfit import device, engines
from memfit.errors import BadInput
from memfit.estimation.forecast import Forecast
from memfit.estimation.job import EstimateJob, Rendered
from memfit.estimation.result import Estimate, from_forecast
from memfit.models.batch import Batch, batches, check_batch_size, fixed_batch, portable, require_trainable
from memfit.models.carry import pack, unpack
from memfit.models.names import UNUSED, LayerNames, OwnedVariable, owned_variables, unused_variables
from memfit.models.structure import flatten
from memfit.models.target import Target
from memfit.models.targets import UNSIZED
from memfit.models.untouched import untouched
from memfit.simulation.graph import StepGraph
from memfit.sizes import Size, format_size, parse_size

EAGER_NOTE = "run_eagerly=True keeps every intermediate result: this is the compiled step, and the bound is wider"
EAGER_DOUBT = 1.6
UNCALIBRATED_NOTE = "this machine's kernels were not measured, so the bound is wider: memfit estimate --calibrate"
UNCALIBRATED_DOUBT = 1.005
UNSIZED_NOTE = "nothing tells the size of the step's targets, so they are left out and the bound is wider: pass y"
UNSIZED_DOUBT = 1.1


def estimate(model: Any, batch_size: int = 32, *, x: Any = None, y: Any = None, budget: Size | None = None) -> Estimate:
    """How much memory will one training step of `model` need?

    Traces the model's own `train_step` once, for all batch sizes, and simulates its execution. Neither weights nor
    anything of the batch's size is allocated, and `model` itself is not touched.

    Args:
        model: A compiled `keras.Model`.
        batch_size: Samples in a step.
        x: Arrays or specs (`keras.KerasTensor`, `tf.TensorSpec`); needed by a model that is not built.
        y: The same for targets, where the model's outputs and losses do not tell what they look like.
        budget: A limit, such as `"8GiB"`, to compare with.
    """
    batch_size = check_batch_size(batch_size)
    limit = None if budget is None else parse_size(budget)
    require_trainable(model, x)
    with double(model) as twin:
        return estimate_built(twin, batch_size, portable(x, 1), portable(y, 1), limit, original=model)


@contextmanager
def double(model: Any) -> Iterator[Any]:
    """A model like `model` that may be traced and changed, whose variables take no memory."""
    with engines.current().unallocated():
        try:
            twin = unpack(pack(model))
        except BadInput:  # it cannot be rebuilt from its configuration, so it is traced itself
            with untouched(model):
                yield model
        else:
            yield twin


def estimate_built(
    model: Any,
    batch_size: int,
    x: Any,
    y: Any,
    budget: int | None,
    method: str = "train_step",
    *,
    original: Any = None,
) -> Estimate:
    """The same for a model that may be changed: its optimizer is built, and its variables may have no memory.

    `method` is the step to foresee: training's, or `test_step` for evaluation. `original` is the user's own model
    where `model` is its double.
    """
    tries = [batch.specs() for batch in batches(model, x, y)]
    unused = unused_variables(model if original is None else original)
    step, batch = _trace(model, tries, method, batch_size, unused)
    unsized = any(spec is not None and spec.name == UNSIZED for spec in flatten(batch.y))
    notes = [*_limits(step.only), *_left_over(step.graph_for(0)), *step.graph_for(0).notes, *_doubts(model)]
    notes += [UNSIZED_NOTE] * unsized
    return from_forecast(
        Forecast(step.graph_for, doubt=_doubt(model) * (UNSIZED_DOUBT if unsized else 1.0), only=step.only),
        batch_size,
        model_name=model.name,
        output_shapes=step.output_shapes,
        notes=notes,
        budget=budget,
    )


def estimate_step(step: engines.TracedStep | None, name: str, batch_size: int) -> Estimate:
    """The same for a hand-written step that has been traced."""
    if step is None:
        raise BadInput(f"{name} cannot be traced: memfit cannot foresee what it takes")
    notes = list(step.graph_for(0).notes)
    doubt = 1.0 if engines.current().calibrated() else UNCALIBRATED_DOUBT
    return from_forecast(
        Forecast(step.graph_for, doubt=doubt),
        batch_size,
        model_name=name,
        output_shapes=step.output_shapes,
        notes=notes,
        budget=None,
    )


def estimate_target(
    target: Target,
    batch_size: int = 32,
    *,
    budget: Size | None = None,
    calibrate: bool = False,
    on_progress: Callable[[str], None] | None = None,
) -> Rendered:
    """Estimate what the child builds; what comes back is ready to be shown."""
    target.check()
    limit = None if budget is None else parse_size(budget)
    job = EstimateJob(target, check_batch_size(batch_size), limit, calibrate)
    rendered: Rendered = device.run_in_child("memfit.estimation.job:run", job, on_progress=on_progress)
    return rendered


def _trace(
    model: Any, tries: list[Batch], method: str, batch_size: int, unused: list[OwnedVariable]
) -> tuple[engines.TracedStep, Batch]:
    """The step for every batch size or, where it does not work with every one, for a single one; and what it takes."""
    names = LayerNames(model)
    single = fixed_batch(model) or batch_size
    attempts = [(batch, only) for only in (None, single) for batch in tries]
    errors = []
    for batch, only in attempts:
        try:
            return _trace_one(model, batch, names, method, only, unused), batch
        except BadInput:
            raise
        except Exception as error:  # nothing says what a custom step takes as `y`
            errors.append(error)
    told = errors[min(1, len(tries) - 1)]
    hint = "" if len(tries) == 1 else ". If it takes targets that the model does not tell, pass y"
    raise BadInput(f"the model's training step cannot be traced: {_reason(told, names)}{hint}") from told


def _limits(only: int | None) -> list[str]:
    return [] if only is None else [f"the step works only with a batch of {only}: this is the estimate for it"]


def _left_over(graph: StepGraph) -> list[str]:
    held = sum(variable.size for variable in graph.variables if variable.layer == UNUSED)
    return [f"{format_size(held)} are weights of layers that the model does not use but is linked to"] if held else []


def _doubts(model: Any) -> list[str]:
    notes = [EAGER_NOTE] if model.run_eagerly else []
    return notes if engines.current().calibrated() else [*notes, UNCALIBRATED_NOTE]


def _doubt(model: Any) -> float:
    calibrated = 1.0 if engines.current().calibrated() else UNCALIBRATED_DOUBT
    return calibrated * (EAGER_DOUBT if model.run_eagerly else 1.0)


def _trace_one(
    model: Any, batch: Batch, names: LayerNames, method: str, only: int | None, unused: list[OwnedVariable]
) -> engines.TracedStep:
    data = batch.x if batch.y is None else (batch.x, batch.y)
    step = getattr(model, method)
    return engines.current().trace_step(model, data, lambda: [*owned_variables(model), *unused], names, step, only)


def _reason(error: BaseException, names: LayerNames) -> str:
    layer = engines.current().layer_of_failure(error, "", names)
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    where = f"layer {layer!r} raised " if layer else ""
    return f"{where}{type(error).__name__}: {text}"
