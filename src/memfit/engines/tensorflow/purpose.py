"""What an op is for, by the marks in its name and in the annotations around it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from memfit.engines.tensorflow import markers

LayerNames = Callable[[Any], str | None]
_GRADIENT = re.compile(r"(^|/|_)gradient(_tape|s)/|^AddN(_\d+)?(/|$)")  # sums of gradients stand outside all scopes


def purpose(
    op: str, names: LayerNames, *, annotations: tuple[str, ...] = (), temporary: bool = False
) -> tuple[str, str]:
    """Kind and layer of what `op` allocates."""
    layer = layer_of(op, annotations, names)
    if markers.OPTIMIZER in op or markers.OPTIMIZER in annotations:
        return "optimizer", layer or "(optimizer)"
    if markers.BACKWARD in op or markers.BACKWARD in annotations or _GRADIENT.search(op):
        return "workspace" if temporary else "gradients", layer or "(backward pass)"
    if temporary:
        return "workspace", layer or "(outside layers)"
    return "activations", layer or ("(loss)" if "loss" in op else "(outside layers)")


def layer_of(op: str, annotations: tuple[str, ...], names: LayerNames) -> str | None:
    index = markers.layer_index(op)
    if index is None:
        index = next((i for i in map(markers.layer_index, reversed(annotations)) if i is not None), None)
    return None if index is None else names(markers.marked_layer(index))
