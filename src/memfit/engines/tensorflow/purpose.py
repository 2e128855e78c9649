"""What an op is for, by the marks in its name and in the annotations around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memfit.engines.tensorflow import markers

MarkedNames = Sequence[str | None]  # of layers, each at the number of its mark
_GRADIENT = re.compile(r"(^|/|_)gradient(_tape|s)/|^AddN(_\d+)?(/|$)")  # sums of gradients stand outside all scopes


def purpose(
    op: str, names: MarkedNames, *, annotations: tuple[str, ...] = (), temporary: bool = False
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


def layer_of(op: str, annotations: tuple[str, ...], names: MarkedNames) -> str | None:
    index = markers.layer_index(op)
    if index is None:
        index = next((i for i in map(markers.layer_index, reversed(annotations)) if i is not None), None)
    return None if index is None else names[index]
