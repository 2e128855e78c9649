"""Targets for a model whose user gave none: what its losses take, in the structure of its outputs."""

from __future__ import annotations

from functools import partial
from itertools import islice, product
from typing import Any

from memfit.models.structure import Spec, dtype_name, flatten, map_structure

UNSIZED = "a target of a size that nothing tells"
MOST = 16  # mixes of targets that are worth a try
COLUMNS = range(2, 7)  # that a loss may take a target apart into: a point, a stroke of a pen, a box


def guess_targets(model: Any, x: Any) -> list[Any]:
    """Specs of targets to try in turn: one, unless nothing says what a custom step or loss takes as `y`."""
    losses = _losses(model)
    outputs = _outputs(model, x)
    like_inputs = map_structure(lambda spec: Spec(spec.shape, spec.dtype, "y"), x)
    if outputs is None:
        return [None, like_inputs, Spec((None,), "int64", "y"), Spec((None, 1), "float32", UNSIZED)]
    guesses = _like(outputs, losses)
    if losses is None:
        guesses = [None, *guesses, *_one_for_all(outputs)]
    if len(guesses) == 1:
        return guesses
    return [*guesses, like_inputs, map_structure(_unsized, outputs), *_columns(outputs)]


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


def _like(outputs: Any, losses: Any) -> list[Any]:
    """Targets of the shapes and dtypes that the losses take: for one's own, values like the output's, or classes."""
    if isinstance(outputs, dict):
        mixes = product(*(_like(value, _part(losses, key)) for key, value in outputs.items()))
        return [dict(zip(outputs, mix, strict=True)) for mix in islice(mixes, MOST)]
    if isinstance(outputs, list | tuple):
        mixes = product(*(_like(value, _part(losses, index)) for index, value in enumerate(outputs)))
        return [list(mix) for mix in islice(mixes, MOST)]
    loss, values = next(iter(flatten(losses)), None), _values(outputs)
    if loss is None or _is_own(loss):
        among_samples = None in outputs.shape[1:]  # as of a covariance: targets are rarely as large
        return [_unsized(outputs)] * among_samples + [values, _classes(outputs)]
    name = _loss_name(loss)
    if "sparse" in name:
        return [_classes(outputs)]
    if name.startswith("ctc") and len(outputs.shape) == 3:
        batch, length, classes = outputs.shape
        return [Spec((batch, max(1, (length or 2) // 2)), "int64", "y", bound=classes or 2)]
    return [values]


def _values(output: Spec) -> Spec:
    return Spec(output.shape, _precision(output), "y")


def _precision(output: Spec) -> str:
    """Targets of a model in half precision are floats; those of one in doubles are doubles."""
    return "float64" if output.dtype == "float64" else "float32"


def _classes(output: Spec) -> Spec:
    return Spec(output.shape[:-1], "int64", "y", bound=output.shape[-1] or 2)


def _unsized(output: Spec) -> Spec:
    """What goes with an output of any size, as its one value stands for all."""
    return Spec((output.shape[0], *(1 for _ in output.shape[1:])), _precision(output), UNSIZED)


def _columns(outputs: Any) -> list[Any]:
    return [map_structure(partial(_of_columns, count), outputs) for count in COLUMNS]


def _of_columns(count: int, output: Spec) -> Spec:
    return Spec((output.shape[0], *output.shape[1:-1], count), _precision(output), UNSIZED)


def _one_for_all(outputs: Any) -> list[Any]:
    """The same target for each of several outputs, as of exits that all learn the same."""
    first, *others = flatten(outputs)
    return [_values(first), _classes(first)] if others else []


def _is_own(loss: Any) -> bool:
    return not isinstance(loss, str) and not type(loss).__module__.startswith("keras.")


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
