"""Whose is it: names for the layers of a model, and the owner of each of its variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class OwnedVariable:
    variable: Any
    kind: str
    layer: str


def layer_names(model: Any) -> dict[int, str]:
    """A name for each layer by its id: its own, below the names of the layers that hold it ("block/dense")."""
    names: dict[int, str] = {id(model): f"({model.name})"}
    pending = [(layer, "") for layer in reversed(_sublayers(model))]
    while pending:
        layer, above = pending.pop()
        if id(layer) in names:
            continue
        names[id(layer)] = above + layer.name
        pending += [(inner, f"{above}{layer.name}/") for inner in reversed(_sublayers(layer))]
    return names


def owned_variables(model: Any) -> Iterator[OwnedVariable]:
    """Every variable that training holds: the model's, its metrics' and its optimizers'."""
    names = layer_names(model)
    seen: set[int] = set()
    layer_of_path: dict[str, str] = {}
    for layer in [*_all_layers(model), model]:
        for variable in layer.variables:
            if id(variable) not in seen:
                seen.add(id(variable))
                layer_of_path[variable.path.replace("/", "_")] = names[id(layer)]
                yield OwnedVariable(variable, "weights", names[id(layer)])
    for variable in model.metrics_variables:
        if id(variable) not in seen:
            seen.add(id(variable))
            yield OwnedVariable(variable, "weights", "(metrics)")
    for optimizer in optimizers(model):
        for variable in optimizer.variables:
            yield OwnedVariable(variable, "optimizer", _slot_layer(variable.path, layer_of_path))


def optimizers(model: Any) -> list[Any]:
    """All optimizers of a model: the compiled one, and those that a custom step keeps in attributes."""
    import keras

    found = [getattr(model, "optimizer", None), *vars(model).values()]
    unique = {id(value): value for value in found if isinstance(value, keras.optimizers.Optimizer)}
    return list(unique.values())


def _all_layers(model: Any) -> list[Any]:
    """Innermost layers first, so that a variable is counted for the layer that made it."""
    layers: list[Any] = []
    for layer in _sublayers(model):
        layers += [*_all_layers(layer), layer]
    return layers


def _sublayers(layer: Any) -> list[Any]:
    return list(layer._flatten_layers(include_self=False, recursive=False))


def _slot_layer(path: str, layer_of_path: dict[str, str]) -> str:
    """The layer of an optimizer's variable: Keras names it after the variable it serves."""
    name = path.replace("/", "_")
    served = [weight for weight in layer_of_path if weight in name]
    return layer_of_path[max(served, key=len)] if served else "(optimizer)"
