"""Targets for a model whose user gave none: what its losses take, in the structure of its outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from memfit.models.structure import Spec, dtype_name, map_structure, random_values


def guess_targets(model: Any, x: Any, batch_size: int) -> list[Any]:
    """Targets to try in turn: one, unless nothing says what a custom step takes as `y`."""
    losses = _losses(model)
    outputs = _outputs(model, x)
    like_outputs = None if outputs is None else _like(outputs, losses, batch_size)
    return [like_outputs] if losses is not None or like_outputs is None else [None, like_outputs]


def _losses(model: Any) -> Any:
    compile_loss = getattr(model, "_compile_loss", None)
    return None if compile_loss is None else compile_loss._user_loss


def _outputs(model: Any, x: Any) -> Any:
    """Specs of the outputs for this batch, or None where the model does not say."""
    import keras

    try:
        tensors = map_structure(lambda a: keras.KerasTensor(a.shape, dtype_name(a.dtype)), x)
        outputs = keras.Model.compute_output_spec(model, tensors)
    except Exception:  # a custom step may have a model whose own call is never used
        return None
    return map_structure(lambda t: Spec(tuple(t.shape), dtype_name(t.dtype)), outputs)


def _like(outputs: Any, losses: Any, batch_size: int) -> Any:
    """Random targets in the structure of the outputs, each of the form that its loss takes."""
    if isinstance(outputs, dict):
        return {key: _like(value, _part(losses, key), batch_size) for key, value in outputs.items()}
    if isinstance(outputs, list | tuple):
        return [_like(value, _part(losses, index), batch_size) for index, value in enumerate(outputs)]
    if losses is None or outputs is None:
        return random_values((batch_size, *outputs.shape[1:]), "float32", 2)
    return _target(outputs.shape, _loss_name(losses), batch_size)


def _target(shape: tuple[int | None, ...], loss: str, batch_size: int) -> np.ndarray[Any, Any]:
    rest = tuple(dimension or 1 for dimension in shape[1:])
    if "sparse" in loss:
        return random_values((batch_size, *rest[:-1]), "int64", rest[-1] if rest else 2)
    if "crossentropy" in loss and "binary" not in loss and rest:
        one_hot = np.zeros((batch_size, *rest), np.float32)
        classes = random_values((batch_size, *rest[:-1], 1), "int64", rest[-1])
        np.put_along_axis(one_hot, classes, 1.0, axis=-1)
        return one_hot
    values = random_values((batch_size, *rest), "float32", 2)
    return np.round(values) if "crossentropy" in loss or "hinge" in loss else values


def _part(losses: Any, key: Any) -> Any:
    if isinstance(losses, dict):
        return losses.get(key)
    if isinstance(losses, list | tuple):
        return losses[key] if isinstance(key, int) and key < len(losses) else None
    return losses


def _loss_name(loss: Any) -> str:
    name = (
        loss if isinstance(loss, str) else getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__)
    )
    return str(name).lower().replace("_", "")
