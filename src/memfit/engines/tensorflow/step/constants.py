"""Constants of the batch's size, such as attention masks: Grappler would compute them, but only their shape counts.

And those of a few bytes that tell a shape or an axis, which TensorFlow remembers for each traced function."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.step.reads import as_handle, as_read

LARGE = 1 << 20  # bytes that are not worth computing
SMALL = 100 << 10  # bytes up to which Grappler folds all that is constant: past it, what is no larger than its inputs
FILLED = frozenset(["Fill", "OnesLike", "ZerosLike"])  # one value and a shape, whatever the size
WITHHELD = "memfit_constant"
REMEMBERED = 64  # bytes up to which TensorFlow keeps the constants that it has inferred shapes with


def withhold(definition: Any, graph: Any, plain: dict[str, str]) -> set[str]:
    """Let large constants be read from a variable, and equal ones from the same. `plain` are the nodes' names."""
    first = large_constants(graph)
    made_by = {plain[name]: plain[source] for name, source in first.items()}
    results = {plain[name]: graph.get_operation_by_name(name).outputs[0] for name in first.values()}
    for node in list(definition.node) if first else ():
        node.input[:] = [made_by.get(name, name) for name in node.input]
        if node.name in results:
            result = results[node.name]
            source = definition.node.add(name=f"{node.name}/{WITHHELD}", device=node.device)
            as_handle(source, result.dtype, result.shape)
            del node.input[:]
            as_read(node, result.dtype, source.name)
    return set(results)


def give_back(nodes: Iterable[Any], withheld: set[str]) -> list[Any]:
    """The nodes of the optimized graph with constants again, of which nobody needs the value."""
    for node in nodes:
        if node.name in withheld:
            node.op = "Const"
            del node.input[:]
    return [node for node in nodes if not node.name.endswith(f"/{WITHHELD}")]


def constants_that_tell_shapes(nodes: Iterable[Any]) -> int:
    """How many there are: integers that something else than a cast takes."""
    used = {name for node in nodes if node.op != "Cast" for name in node.input}
    return sum(node.name in used and _tells_a_shape(node) for node in nodes)


def _tells_a_shape(node: Any) -> bool:
    if node.op != "Const":
        return False
    dtype = tf.as_dtype(node.attr["dtype"].type)
    size: int = prod(dimension.size for dimension in node.attr["value"].tensor.tensor_shape.dim) * dtype.size
    return bool(dtype.is_integer) and 0 < size <= REMEMBERED


def large_constants(graph: Any) -> dict[str, str]:
    """The operations that Grappler would turn into large constants, each with the first that computes the same."""
    sizes: dict[str, int] = {}
    large = []
    for op in graph.get_operations():
        size = _constant_size(op, sizes)
        if size is not None:
            sizes[op.name] = size
            if size >= LARGE and op.type not in FILLED | {"Const"}:
                large.append(op)
    return _by_first(large)


def _constant_size(op: Any, sizes: dict[str, int]) -> int | None:
    """None where the result is not known before the step runs, or where Grappler leaves it to the step."""
    if len(op.outputs) != 1 or op.op_def.is_stateful or not op.outputs[0].shape.is_fully_defined():
        return None
    size: int = op.outputs[0].shape.num_elements() * op.outputs[0].dtype.size
    if op.type == "Const":
        return size
    inputs = [sizes.get(tensor.op.name) for tensor in op.inputs]
    known = [part for part in inputs if part is not None]
    if not known or len(known) < len(inputs) or op.control_inputs:
        return None
    return size if op.type in FILLED or size <= max(SMALL, sum(known)) else None


def _by_first(large: Iterable[Any]) -> dict[str, str]:
    numbers: dict[Any, int] = {}
    number_of: dict[str, int] = {}

    def number(op: Any) -> int:
        """The same for operations that compute the same."""
        if op.name not in number_of:
            attributes = {name: value.SerializeToString() for name, value in op.node_def.attr.items()}
            what = (op.type, *sorted(attributes.items()), *(number(tensor.op) for tensor in op.inputs))
            number_of[op.name] = numbers.setdefault(what, len(numbers))
        return number_of[op.name]

    first: dict[int, str] = {}
    return {op.name: first.setdefault(number(op), op.name) for op in large}
