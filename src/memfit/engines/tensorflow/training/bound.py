"""A bound on what a step takes that costs nothing: generous, so that it rules out trouble but never foretells it."""

from __future__ import annotations

import math
from typing import Any

from memfit.engines.tensorflow.training.undo import size

STATE = 7  # times the weights: they themselves, their gradients twice, an optimizer's variables and temporaries
LAYERS = 16  # times a layer's outputs: gradients, gates, workspace, what is computed inside the layer
INPUTS = 40
FIXED = 64 * 2**20


def bound(model: Any, samples: int, inputs: int) -> int | None:
    """None where the model does not say what its layers put out."""
    if getattr(model, "inputs", None) is None:
        return None
    tensors = {
        id(t): t
        for layer in model._flatten_layers()
        for node in getattr(layer, "_inbound_nodes", ())
        for t in node.output_tensors
    }
    if not tensors:
        return None
    outputs = sum(math.prod(d or samples for d in t.shape) * 4 for t in tensors.values())
    return STATE * size(model.trainable_variables) + LAYERS * outputs + INPUTS * inputs + FIXED
