"""A hand-written training step, run by the same means as Keras's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras
import tensorflow as tf

from memfit.engines import TracedStep
from memfit.engines.tensorflow.step.function import traced_function
from memfit.engines.tensorflow.training import parts
from memfit.engines.tensorflow.training.functions import Batch, ran_out
from memfit.engines.tensorflow.training.setting import Setting
from memfit.engines.tensorflow.training.split import Split
from memfit.engines.tensorflow.training.undo import size
from memfit.engines.tensorflow.training.whole import Whole


@dataclass
class OwnBatch(Batch):
    """A batch of a hand-written step's. `model` is the layers that the step refers to, `held` its variables."""

    function: Any = None
    held: Callable[[], list[Any]] = list

    def traced(self) -> TracedStep | None:
        """For all batch sizes; None where the step runs eagerly, or its code fixes the size."""
        if not hasattr(self.function, "python_function"):
            return None
        found, _ = traced_function(self.function, *self.data)
        return None if found is None or found.only else found

    def gradients(self) -> int:
        return size(v for layer in self.model for v in layer.trainable_variables)

    def _held(self) -> int:
        return size(self.held())

    def at_most(self) -> int | None:
        return None


def microbatch(step: Callable[..., Any], optimizer: Any, keeper: Any) -> Callable[..., Any]:
    """`step` with the same arguments and results; what it runs out of memory on, it runs again in parts."""
    traced = hasattr(step, "python_function")
    function = getattr(step, "python_function", step)
    owners = functools.cache(lambda: [*([optimizer] if optimizer is not None else []), *_owners(function)])
    setting = Setting(
        step=lambda data: function(*data[0], **data[1]),
        variables=lambda: list({id(v): v for owner in owners() for v in owner.variables}.values()),
        metrics=lambda: [v for owner in owners() if isinstance(owner, keras.metrics.Metric) for v in owner.variables],
        ran_out=ran_out,
        eager=not traced,
        jit=getattr(step, "_jit_compile", None),
        autograph=traced,
    )
    whole, split = Whole(setting), Split(setting)

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not tf.executing_eagerly():  # inside another function, which would have to be guarded itself
            return step(*args, **kwargs)
        data = parts.as_tensors((args, kwargs))
        layers = [owner for owner in owners() if isinstance(owner, keras.Layer)]
        keeper.step += 1
        samples = parts.samples(data)
        return keeper.run(OwnBatch("train", layers, data, samples, None, whole, split, step, setting.variables))

    return guarded


def _owners(function: Any) -> list[Any]:
    """Models, metrics and optimizers that a function refers to: by name, in its closure, or through its object."""
    kinds = (keras.Layer, keras.metrics.Metric, keras.optimizers.Optimizer, tf.Module)
    found = {id(value): value for value in _referred(function) if isinstance(value, kinds)}
    for owner in list(found.values()):
        found.update({id(m): m for m in getattr(owner, "metrics", []) or []})
    return [owner for owner in found.values() if hasattr(owner, "variables")]


def _referred(function: Any, depth: int = 2) -> Iterator[Any]:
    plain = inspect.unwrap(getattr(function, "__func__", function))
    if not hasattr(plain, "__code__"):
        return
    variables = inspect.getclosurevars(plain)
    values = [*variables.nonlocals.values(), *variables.globals.values(), *(plain.__defaults__ or ())]
    if (owner := getattr(function, "__self__", None)) is not None:
        values += [owner, *vars(owner).values()]
    for value in values:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
        yield from inner
        if depth and inspect.isfunction(value):
            yield from _referred(value, depth - 1)
