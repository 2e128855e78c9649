"""Targets for a model whose user gave none: what its losses take, in the structure of its outputs."""

from __future__ import annotations

from typing import Any

from memfit.models.structure import Spec, dtype_name, map_structure


def guess_targets(model: Any, x: Any) -> list[Any]:
    """Specs of targets to try in turn: one, unless nothing says what a custom step takes as `y`."""
    losses = _losses(model)
    outputs = _outputs(model, x)
    like_outputs = None if outputs is None else _like(outputs, losses)
    return [like_outputs] if losses is not None or like_outputs is None else [None, like_outputs]


def _losses(model: Any) -> Any:
    compile_loss = getattr(model, "_compile_loss", None)
    return None if compile_loss is None else compile_loss._user_loss


def _outputs(model: Any, x: Any) -> Any:
    """Specs of the outputs, or None where the model does not say."""
    import keras

    try:
        tensors = map_structure(lambda spec: keras.KerasTensor(spec.shape, spec.dtype), x)
        outputs = keras.Model.compute_output_spec(model, tensors)
    except Exception:  # a custom step may have a model whose own call is never used
        return None
    return map_structure(lambda t: Spec(tuple(t.shape), dtype_name(t.dtype), "y"), outputs)


def _like(outputs: Any, losses: Any) -> Any:
    """A target for each output, of the shape and dtype that its loss takes."""
    if isinstance(outputs, dict):
        return {key: _like(value, _part(losses, key)) for key, value in outputs.items()}
    if isinstance(outputs, list | tuple):
        return [_like(value, _part(losses, index)) for index, value in enumerate(outputs)]
    if losses is not None and "sparse" in _loss_name(losses):
        return Spec(outputs.shape[:-1], "int64", "y", bound=outputs.shape[-1] or 2)
    return Spec(outputs.shape, "float32", "y")


def _part(losses: Any, key: Any) -> Any:
    if isinstance(losses, dict):
        return losses.get(key)
    if isinstance(losses, list | tuple):
        return losses[key] if isinstance(key, int) and key < len(losses) else None
    return losses


def _loss_name(loss: Any) -> str:
    if isinstance(loss, str):
        return loss.lower()
    return str(getattr(loss, "name", None) or getattr(loss, "__name__", type(loss).__name__)).lower()
