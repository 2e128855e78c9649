"""A model that may be traced but must stay as it was: whatever is built meanwhile is taken back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from memfit.models.names import optimizers


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """Layers, metrics and optimizers have the attributes and variables after this block that they had before it."""
    saved = [(part, _saved(vars(part))) for part in _parts(model)]
    try:
        yield
    finally:
        for part, attributes in saved:
            _restore(vars(part), attributes)


def _parts(model: Any) -> list[Any]:
    found = [*model._flatten_layers(), *getattr(model, "metrics", [])]
    for optimizer in optimizers(model):
        inner = getattr(optimizer, "inner_optimizer", None)
        found += [optimizer, inner, *getattr(optimizer, "_inner_optimizers", [])]
    found += [getattr(model, name, None) for name in ("_compile_loss", "_compile_metrics", "_loss_tracker")]
    trackers = [getattr(part, "_tracker", None) for part in found]
    unique = {id(part): part for part in [*found, *trackers] if part is not None}
    return list(unique.values())


def _saved(value: Any) -> Any:
    """A copy of the containers, in which everything else is the thing itself."""
    value = _container(value)
    if type(value) is dict:
        return {key: (part, _saved(part)) for key, part in value.items()}
    if type(value) is list:
        return [(part, _saved(part)) for part in value]
    return set(value) if type(value) is set else None


def _restore(value: Any, saved: Any) -> None:
    """Put a container's contents back, in place."""
    value = _container(value)
    if type(value) is dict:
        for key in [key for key in value if key not in saved]:
            del value[key]
        for key, (part, contents) in saved.items():
            _restore(part, contents)
            value[key] = part
    elif type(value) is list:
        for part, contents in saved:
            _restore(part, contents)
        value[:] = [part for part, _ in saved]
    elif type(value) is set:
        value.clear()
        value.update(saved)


def _container(value: Any) -> Any:
    """The plain container below the wrappers that TensorFlow and Keras put around a model's attributes."""
    kind = type(value).__name__
    if kind == "_DictWrapper":
        return value.__wrapped__
    return value._storage if kind == "ListWrapper" else value
