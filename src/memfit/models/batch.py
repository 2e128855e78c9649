"""What a training step takes: specs of its inputs and targets, and a batch of the user's or of random values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memfit.errors import BadInput, UsageError
from memfit.models.structure import Spec, dtype_name, flatten, map_structure, random_values
from memfit.models.targets import guess_targets


@dataclass(frozen=True)
class Batch:
    """Arrays or specs, in the structure that the model takes."""

    x: Any
    y: Any

    def sizes(self) -> set[int]:
        return {array.nbytes for array in flatten((self.x, self.y)) if array is not None}

    def filled(self, batch_size: int) -> Batch:
        """The same with `batch_size` samples: the user's, repeated if need be, or random ones."""
        return Batch(*(map_structure(lambda leaf: _fill(leaf, batch_size), part) for part in (self.x, self.y)))

    def specs(self) -> Batch:
        return Batch(*(map_structure(_as_spec, part) for part in (self.x, self.y)))


def check_batch_size(batch_size: Any) -> int:
    if isinstance(batch_size, bool) or not isinstance(batch_size, int | np.integer) or batch_size < 1:
        raise UsageError(f"a batch size must be a whole number of at least 1. Received: {batch_size!r}")
    return int(batch_size)


def portable(data: Any, batch_size: int) -> Any:
    """`data` as it can travel to a child: arrays cut to one batch, specs as `Spec`."""
    return map_structure(lambda leaf: _portable_leaf(leaf, batch_size), data)


def require_trainable(model: Any, x: Any) -> None:
    """Refuse a model that cannot be trained as it is, with what is missing."""
    if not model.compiled:
        raise BadInput("the model is not compiled: call model.compile(optimizer, loss) first")
    if x is None and not _input_specs_known(model):
        raise BadInput(
            "the model has not been built, so its input shapes are not known: pass x (an array or a spec), "
            "or let the target function return (model, x, y)"
        )


def batches(model: Any, x: Any, y: Any) -> list[Batch]:
    """What the step may take, to try in turn; more than one where nothing says what a custom step takes as `y`."""
    tries = [x] if x is not None else _inputs_to_try(model)
    for spec in flatten(map_structure(_as_spec, tries[0])):
        _require_known_length(spec)
    if y is not None:
        return [Batch(x, y) for x in tries]
    return [Batch(x, guess) for x in tries for guess in guess_targets(model, map_structure(_as_spec, x))]


def fixed_batch(model: Any) -> int | None:
    """The batch size that the model's inputs were declared with, if any."""
    declared = {tensor.shape[0] for tensor in getattr(model, "inputs", None) or ()} - {None}
    return min(declared, default=None)


def _portable_leaf(leaf: Any, batch_size: int) -> Any:
    if leaf is None or isinstance(leaf, Spec):
        return leaf
    if _is_spec(leaf):
        return Spec(tuple(leaf.shape), dtype_name(leaf.dtype), str(getattr(leaf, "name", None) or "x"))
    if not hasattr(leaf, "__array__"):
        raise BadInput(
            f"x and y must be arrays, tensors or specs (keras.KerasTensor, tf.TensorSpec). Received: a "
            f"{type(leaf).__name__}. Of a data set or generator, pass one batch: x, y = next(iter(data))"
        )
    array = np.asarray(leaf[:batch_size])
    if array.ndim == 0 or len(array) == 0:
        raise BadInput("x and y need at least one sample. Received: an empty array")
    return array


def _is_spec(leaf: Any) -> bool:
    described = hasattr(leaf, "shape") and hasattr(leaf, "dtype")
    return described and (not hasattr(leaf, "__array__") or type(leaf).__name__ == "KerasTensor")


def _as_spec(leaf: Any) -> Any:
    return Spec((None, *leaf.shape[1:]), dtype_name(leaf.dtype)) if isinstance(leaf, np.ndarray) else leaf


def _require_known_length(spec: Spec | None) -> None:
    if spec is not None and None in spec.shape[1:]:
        raise BadInput(
            f"input {spec.name!r} has the shape {spec.shape}: pass x (an array or a spec) so that the length is known, "
            "or let the target function return (model, x, y)"
        )


def _fill(leaf: Any, batch_size: int) -> Any:
    if leaf is None:
        return None
    if isinstance(leaf, np.ndarray):
        return np.resize(leaf, (batch_size, *leaf.shape[1:])) if len(leaf) < batch_size else leaf[:batch_size]
    return random_values((batch_size, *(dimension or 1 for dimension in leaf.shape[1:])), leaf.dtype, leaf.bound)


def _input_specs_known(model: Any) -> bool:
    return getattr(model, "inputs", None) is not None or bool(getattr(model, "_build_shapes_dict", None))


def _inputs_to_try(model: Any) -> list[Any]:
    """As declared; Keras declares float32 unless it is told otherwise, also where a step of doubles takes doubles."""
    declared = _input_specs(model)
    return [declared, map_structure(_doubled, declared)] if model.compute_dtype == "float64" else [declared]


def _doubled(spec: Spec) -> Spec:
    return replace(spec, dtype="float64") if spec.dtype == "float32" else spec


def _input_specs(model: Any) -> Any:
    """Specs in the structure of the model's inputs: symbolic ones, or the shapes it was built with."""
    bound = _integer_bound(model)
    if getattr(model, "inputs", None) is not None:
        structure = getattr(model, "_inputs_struct", None)
        if structure is None:
            structure = model._functional._inputs_struct if hasattr(model, "_functional") else model.inputs
        return map_structure(lambda t: Spec(tuple(t.shape), dtype_name(t.dtype), t.name, bound), structure)
    specs = [_shape_specs(shape, model.compute_dtype) for shape in model._build_shapes_dict.values()]
    return specs[0] if len(specs) == 1 else specs


def _shape_specs(shape: Any, dtype: str) -> Any:
    if isinstance(shape, dict):
        return {key: _shape_specs(value, dtype) for key, value in shape.items()}
    if shape and isinstance(shape[0], list | tuple):
        return [_shape_specs(value, dtype) for value in shape]
    return Spec(tuple(shape), "float32" if "16" in dtype else dtype)


def _integer_bound(model: Any) -> int:
    """One more than the largest integer that every embedding of the model can look up."""
    sizes = [layer.input_dim for layer in model._flatten_layers() if type(layer).__name__ == "Embedding"]
    return min(sizes, default=127)
