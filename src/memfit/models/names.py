"""Whose is it: names for the layers of a model, and the owner of each of its variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

UNUSED = "(layers that the model does not use)"


@dataclass(frozen=True)
class OwnedVariable:
    variable: Any
    kind: str
    layer: str


class LayerNames:
    """Names of a model's layers, for the engine; a layer that the model does not hold goes by its own name."""

    def __init__(self, model: Any = None) -> None:
        self._names = {} if model is None else layer_names(model)

    def learn(self, model: Any) -> None:
        self._names = layer_names(model)

    def __call__(self, layer: Any) -> str | None:
        return self._names.get(id(layer)) or str(layer.name)


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


def owned_variables(model: Any) -> list[OwnedVariable]:
    """Every variable that training holds, in the order in which they come to be: weights, metrics, optimizers'."""
    names = layer_names(model)
    layer_of: dict[int, str] = {}
    for layer in [*_all_layers(model), model]:
        for variable in layer.variables:
            layer_of.setdefault(id(variable), names[id(layer)])
    weights = [OwnedVariable(v, "weights", layer_of.get(id(v), "(variables)")) for v in model.variables]
    metrics = [OwnedVariable(v, "weights", "(metrics)") for v in model.metrics_variables if id(v) not in layer_of]
    served = {owned.variable.path.replace("/", "_"): owned.layer for owned in weights}
    slots = [OwnedVariable(v, "optimizer", _slot_layer(v.path, served)) for o in optimizers(model) for v in o.variables]
    return list({id(owned.variable): owned for owned in [*weights, *metrics, *slots]}.values())


def unused_variables(model: Any) -> list[OwnedVariable]:
    """Those of layers that the model does not use but holds on to, as a model cut out of a larger one does.

    Keras links the layers of a functional model in both directions: none of them goes while another is needed.
    """
    used = {id(layer) for layer in [*_all_layers(model), model]}
    ours = {id(variable) for variable in model.variables}
    linked: dict[int, Any] = {}
    pending = [*_all_layers(model), model]
    while pending:
        layer = pending.pop()
        nodes = [*getattr(layer, "_inbound_nodes", ()), *getattr(layer, "_outbound_nodes", ())]
        parents = [tensor._keras_history.operation for node in nodes for tensor in node.input_tensors]
        for other in [*(node.operation for node in nodes), *parents]:
            if id(other) not in used and id(other) not in linked:
                linked[id(other)] = other
                pending.append(other)
    variables = [v for layer in linked.values() for v in getattr(layer, "variables", ()) if id(v) not in ours]
    return [OwnedVariable(v, "weights", UNUSED) for v in {id(v): v for v in variables}.values()]


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
