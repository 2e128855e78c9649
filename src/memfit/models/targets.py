"""Targets for a model whose user gave none: what its losses take, in the structure of its outputs."""

from __future__ import annotations

from typing import Any

from memfit.models.structure import Spec, dtype_name, flatten, map_structure


def guess_targets(model: Any, x: Any) -> list[Any]:
    """Specs of targets to try in turn: one, unless nothing says what a custom step or loss takes as `y`."""
    losses = _losses(model)
    outputs = _outputs(model, x)
    if outputs is None:
        return [None, map_structure(lambda spec: Spec(spec.shape, spec.dtype, "y"), x), Spec((None,), "int64", "y")]
    like_outputs = _like(outputs, losses)
    if losses is None:
        return [None, like_outputs, map_structure(_classes, outputs), *_one_for_all(outputs)]
    return [like_outputs, map_structure(_classes, outputs)] if _has_custom(losses) else [like_outputs]


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
    name = "" if losses is None else _loss_name(losses)
    if "sparse" in name:
        return _classes(outputs)
    if name.startswith("ctc") and len(outputs.shape) == 3:
        batch, length, classes = outputs.shape
        return Spec((batch, max(1, (length or 2) // 2)), "int64", "y", bound=classes or 2)
    return Spec(outputs.shape, "float32", "y")


def _classes(output: Spec) -> Spec:
    return Spec(output.shape[:-1], "int64", "y", bound=output.shape[-1] or 2)


def _one_for_all(outputs: Any) -> list[Any]:
    """The same target for each of several outputs, as of exits that all learn the same."""
    first, *others = flatten(outputs)
    return [Spec(first.shape, "float32", "y"), _classes(first)] if others else []


def _has_custom(losses: Any) -> bool:
    import keras

    parts = keras.tree.flatten(losses)
    return any(not isinstance(loss, str) and not type(loss).__module__.startswith("keras.") for loss in parts if loss)


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
