"""The calls: estimate a model object here, or a target in a child that builds it without weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from memfit import device, engines
from memfit.device.host import given_back
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
    with given_back():
        step = _trace_double(model, batch_size, portable(x, 1), portable(y, 1))
    with given_back():
        return step.estimate(batch_size, limit)


def _trace_double(model: Any, batch_size: int, x: Any, y: Any) -> BuiltStep:
    with double(model) as twin:
        return trace_built(twin, batch_size, x, y, original=model)


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


@dataclass(frozen=True)
class BuiltStep:
    """A model's step, traced. The model itself is no longer needed."""

    name: str
    traced: engines.TracedStep
    notes: tuple[str, ...] = ()
    doubt: float = 1.0

    def estimate(self, batch_size: int, budget: int | None = None) -> Estimate:
        graph, only = self.traced.graph_for(0), self.traced.only
        calibrated = engines.current().calibrated()
        notes = [
            *_limits(only),
            *_left_over(graph),
            *graph.notes,
            *self.notes,
            *([] if calibrated else [UNCALIBRATED_NOTE]),
        ]
        return from_forecast(
            Forecast(self.traced.graph_for, doubt=self.doubt * (1.0 if calibrated else UNCALIBRATED_DOUBT), only=only),
            batch_size,
            model_name=self.name,
            output_shapes=self.traced.output_shapes,
            notes=notes,
            budget=budget,
        )


def trace_built(
    model: Any, batch_size: int, x: Any, y: Any, method: str = "train_step", *, original: Any = None
) -> BuiltStep:
    """The step of a model that may be changed: its optimizer is built, and its variables may have no memory.

    `method` is the step to foresee: training's, or `test_step` for evaluation. `original` is the user's own model
    where `model` is its double.
    """
    tries = [batch.specs() for batch in batches(model, x, y)]
    unused = unused_variables(model if original is None else original)
    traced, batch = _trace(model, tries, method, batch_size, unused)
    unsized = any(spec is not None and spec.name == UNSIZED for spec in flatten(batch.y))
    reasons = [(EAGER_NOTE, EAGER_DOUBT)] * bool(model.run_eagerly) + [(UNSIZED_NOTE, UNSIZED_DOUBT)] * unsized
    return BuiltStep(model.name, traced, tuple(note for note, _ in reasons), math.prod(doubt for _, doubt in reasons))


def estimate_step(step: engines.TracedStep | None, name: str, batch_size: int) -> Estimate:
    """The same for a hand-written step that has been traced."""
    if step is None:
        raise BadInput(f"{name} cannot be traced: memfit cannot foresee what it takes")
    return BuiltStep(name, step).estimate(batch_size)


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
