"""The variables of a model in the order in which they come to be, and what their initializers hold meanwhile."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from memfit.engines import Owned
from memfit.engines.tensorflow.step.trace import CAPTURED, is_variable
from memfit.engines.tensorflow.unallocated import initializer_of
from memfit.simulation.graph import Variable

_FILLED = ("Zeros", "Ones", "Constant")  # one op, whose output becomes the variable
_TEMPORARIES = {"OrthogonalInitializer": 4, "Orthogonal": 4, "Identity": 1, "IdentityInitializer": 1}


def describe_all(owned: Iterable[Owned], captured: dict[str, Any]) -> tuple[list[Variable], dict[str, int]]:
    """Every variable, and the index of each by the name that its handle has in the traced step.

    A tensor that was made outside the step, such as a table of positions, is held like a variable.
    """
    known = list(owned)
    variables = [describe(one) for one in known]
    place = {o.variable.value.handle.ref(): k for k, o in enumerate(known) if hasattr(o.variable.value, "handle")}
    index = {}
    for name, raw in captured.items():
        if not is_variable(raw):
            index[f"{name}/{CAPTURED}"] = len(variables)
            variables.append(_unowned(raw, "other"))
            continue
        key = raw.handle.ref()
        if key not in place:
            place[key] = len(variables)
            variables.append(_unowned(raw, "weights"))
        index[name] = place[key]
    return variables, index


def _unowned(raw: Any, kind: str) -> Variable:
    return Variable(raw.name, (raw.shape.num_elements() or 0) * raw.dtype.size, kind)


def describe(owned: Owned) -> Variable:
    variable = owned.variable
    size = math.prod(variable.shape) * int(tf.as_dtype(variable.dtype).size)
    is_slot = owned.kind == "optimizer" and len(variable.shape) > 0
    return Variable(
        name=variable.path,
        size=size,
        kind=owned.kind,
        layer=owned.layer,
        build=[] if is_slot else [size] * _temporaries(variable),
        shared=f"{tuple(variable.shape)} {variable.dtype}" if is_slot else "",
        value=_counter(variable),
    )


def _temporaries(variable: Any) -> int:
    """Random initializers hold a sample and its scaled copy beside the result."""
    initializer = initializer_of(variable)
    name = type(initializer).__name__
    if initializer is None:
        return 2 if len(variable.shape) >= 2 and "float" in variable.dtype else 0
    return 0 if name in _FILLED else _TEMPORARIES.get(name, 2)


def _counter(variable: Any) -> Any:
    """The value of a scalar integer, which conditions may depend on."""
    if len(variable.shape) or not ("int" in variable.dtype or variable.dtype == "bool"):
        return None
    return variable.numpy().item()
