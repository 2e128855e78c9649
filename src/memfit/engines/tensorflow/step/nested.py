"""Functions inside a step that XLA compiles on their own, as Keras has it do with grouped convolutions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context

from memfit.engines.tensorflow.step.shapes import Shape
from memfit.engines.tensorflow.step.trace import StandIn
from memfit.engines.tensorflow.step.xla import Temporaries, assigned_bytes

MARK = "_XlaMustCompile"
INTEGERS = (tf.int32.as_datatype_enum, tf.int64.as_datatype_enum)
RESOURCE = tf.resource.as_datatype_enum
_NUMBERS = itertools.count()


def is_compiled(node: Any) -> bool:
    return MARK in node.attr and bool(node.attr[MARK].b)


class Compiler:
    """`functions` are those of the graph, by name. Equal ones are compiled once."""

    def __init__(self, functions: dict[str, Any], stand_in: StandIn) -> None:
        self.functions, self.stand_in = functions, stand_in
        self.known: dict[Any, Temporaries | None] = {}

    def temporaries(self, node: Any, arguments: list[Shape]) -> Callable[[int], list[int]] | None:
        """What a call of a function takes beside its results; None where that cannot be known."""
        if not all(shape.known for shape in arguments):
            return None
        function = with_values(self.functions[node.attr["f"].func.name], arguments)
        if function is None:
            return None
        key = function.SerializeToString(deterministic=True), tuple(shape.dims for shape in arguments)
        if key not in self.known:
            self.known[key] = self._compiled(function, arguments)
        return self.known[key]

    def _compiled(self, function: Any, arguments: list[Shape]) -> Temporaries | None:
        try:
            at_stand_in = self._ask(function, arguments, self.stand_in.batch)
        except Exception:  # whatever XLA refuses
            return None

        def ask(batch: int) -> int:
            try:
                return self._ask(function, arguments, batch)
            except Exception:  # it was traced for the stand-in in more than its shapes
                return at_stand_in * batch // self.stand_in.batch

        return Temporaries(ask)

    def _ask(self, function: Any, arguments: list[Shape], batch: int) -> int:
        at_batch = type(function)()
        at_batch.CopyFrom(function)
        at_batch.signature.name = f"memfit_compiled_{next(_NUMBERS)}"
        for node in at_batch.node_def:
            if node.op == "Const" and node.attr["dtype"].type in INTEGERS:
                _set_batch(node.attr["value"].tensor, self.stand_in, batch)
        context.context().add_function_def(at_batch)
        specs = [tf.TensorSpec(shape.at(batch), shape.dtype) for shape in arguments]
        return assigned_bytes(at_batch.signature.name, specs, [])


def _set_batch(tensor: Any, stand_in: StandIn, batch: int) -> None:
    """In a shape that was traced as a constant, the batch for its stand-in."""
    values = tf.make_ndarray(tensor)
    if any(stand_in.of_batch(int(value)) for value in values.flat):
        actual = [int(v) * batch // stand_in.batch if stand_in.of_batch(int(v)) else v for v in values.flat]
        tensor.CopyFrom(tf.make_tensor_proto(np.reshape(actual, values.shape), values.dtype))


def with_values(function: Any, arguments: list[Shape]) -> Any:
    """The function with values for variables, without names of its own: None where variables are not only read."""
    copy = type(function)()
    copy.CopyFrom(function)
    copy.signature.name = ""
    for field in (copy.attr, copy.arg_attr, copy.resource_arg_unique_id):
        field.clear()
    renamed, handles = {}, set()
    for index, (argument, shape) in enumerate(zip(copy.signature.input_arg, arguments, strict=True)):
        if argument.type == RESOURCE:
            handles.add(argument.name)
        renamed[argument.name] = f"argument_{index}"
        argument.Clear()
        argument.name, argument.type = f"argument_{index}", shape.dtype
    for node in copy.node_def:
        if handles.intersection(node.input) and not _hands_on(node, renamed):
            return None
        node.input[:] = [renamed.get(name, name) for name in node.input]
    for key, value in list(copy.ret.items()):
        copy.ret[key] = renamed.get(value, value)
    return copy


def _hands_on(node: Any, renamed: dict[str, str]) -> bool:
    """Let a node that reads a variable hand on the value instead."""
    if node.op != "ReadVariableOp":
        return False
    dtype = node.attr["dtype"].type
    node.op = "Identity"
    node.attr.clear()
    node.attr["T"].type = dtype
    renamed[f"{node.name}:value:0"] = f"{node.name}:output:0"
    return True
