"""TensorLists: they hold references to their elements, which is how a loop's activations stay alive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memfit.simulation.memory import Buffer

if TYPE_CHECKING:
    from memfit.simulation.graph import Node
    from memfit.simulation.operations import Operations


def run_list(operations: Operations, index: int, inputs: Any) -> tuple[list[Any], list[Any]]:
    node = operations.plan.nodes[index]
    return _RUN[node.list_op](operations, index, node, inputs), []


def _empty(items: list[Any]) -> Any:
    buffer = Buffer(-1, 0, -1)
    buffer.items = items
    return buffer


def _owned(handle: Any) -> Any:
    """The list itself if nobody else holds it, else a copy that shares the elements."""
    if handle.refs == 1:
        handle.refs += 1
        return handle
    items = list(handle.items or [])
    for item in items:
        if item is not None:
            item.refs += 1
    return _empty(items)


def _create(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    count = inputs[1].value if node.op == "TensorListReserve" and inputs[1] is not None else 0
    return [_empty([None] * int(count or 0))]


def _push(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    handle = _owned(inputs[0])
    if inputs[1] is not None:
        inputs[1].refs += 1
    handle.items.append(inputs[1])
    return [handle]


def _pop(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    handle = _owned(inputs[0])
    element = handle.items.pop() if handle.items else None
    return [handle, element]


def _set(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    handle = _owned(inputs[0])
    position = inputs[1].value if inputs[1] is not None else None
    if inputs[2] is not None:
        inputs[2].refs += 1
    if position is None or not 0 <= position < len(handle.items):
        handle.items.append(inputs[2])
    else:
        operations.memory.drop(handle.items[position])
        handle.items[position] = inputs[2]
    return [handle]


def _get(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    position = inputs[1].value if inputs[1] is not None else 0
    items = inputs[0].items or []
    element = items[position] if position is not None and 0 <= position < len(items) else (items[0] if items else None)
    if element is None:
        return [operations.memory.new(operations.plan.sizes[index][0], index)]
    element.refs += 1
    return [element]


def _unstack(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    count = int(node.value or 1)
    size = operations.plan.sizes[node.inputs[0][0]][node.inputs[0][1]] // max(1, count)
    return [_empty(operations.several(index, inputs, [size] * count))]


def _stack(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    size = operations.plan.sizes[index][0]
    if size == 0:
        size = sum(i.request for i in inputs[0].items if i is not None)
    return [operations.memory.new(size, index)]


def _length(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    buffer = operations.memory.new(4, index)
    buffer.value = len(inputs[0].items or [])
    return [buffer]


def _small(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    return [operations.memory.new(16, index)]


def _zeros(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    items = inputs[0].items or []
    made = iter(operations.several(index, inputs, [item.request for item in items if item is not None]))
    return [_empty([None if item is None else next(made) for item in items])]


def _add(operations: Operations, index: int, node: Node, inputs: Any) -> list[Any]:
    rows = zip(*(handle.items or [] for handle in inputs), strict=False)
    return [_empty([_sum(operations, index, row) for row in rows])]


def _sum(operations: Operations, index: int, row: Any) -> Any:
    there = [item for item in row if item is not None]
    if len(there) == 1:
        there[0].refs += 1
        return there[0]
    return operations.memory.new(there[0].request, index) if there else None


_RUN = {
    "zeros": _zeros,
    "add": _add,
    "create": _create,
    "push": _push,
    "pop": _pop,
    "set": _set,
    "get": _get,
    "unstack": _unstack,
    "stack": _stack,
    "length": _length,
    "small": _small,
}
