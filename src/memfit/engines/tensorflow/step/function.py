"""A hand-written training step, a `tf.function` of the user's, traced for all batch sizes."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow import markers
from memfit.engines.tensorflow.step.trace import StandIn
from memfit.engines.tensorflow.step.traced import CompiledStep, TracedStep, step_of


def traced_function(function: Any, args: Any, kwargs: Any) -> tuple[TracedStep | CompiledStep | None, int]:
    """The step traced for all batch sizes, or for its own where its code fixes it; and its own batch size."""
    tensors = [leaf for leaf in tf.nest.flatten((args, kwargs)) if tf.is_tensor(leaf) and leaf.shape.rank]
    batch = int(tensors[0].shape[0]) if tensors else 1
    for stand_in in (StandIn(1009), StandIn(1009, fixed=batch)):
        size = batch if stand_in.fixed else stand_in.batch
        specs = tf.nest.map_structure(lambda leaf, size=size: _spec(leaf, batch, size), (args, kwargs))
        fresh = tf.function(function.python_function, jit_compile=function._jit_compile)
        with markers.marking(), warnings.catch_warnings(action="ignore"), suppress(Exception):
            concrete = fresh.get_concrete_function(*specs[0], **specs[1])
            shapes = {name: str(shape) for name, shape in markers.output_shapes(_name).items()}
            return step_of(concrete, stand_in, [], _name, shapes, function._jit_compile is True), batch
    return None, batch


def _spec(leaf: Any, batch: int, size: int) -> Any:
    if not tf.is_tensor(leaf):
        return leaf
    shape = leaf.shape.as_list()
    return tf.TensorSpec([size if index == 0 and d == batch else d for index, d in enumerate(shape)], leaf.dtype)


def _name(layer: Any) -> str | None:
    return str(layer.name)
