"""Loops and calls that start before all of their inputs are there.

The runtime lowers them before Grappler sees the graph. Where Grappler itself does it, it adds control edges, so that
those that use variables wait for all of their inputs. Real steps have no such edges: loops run ahead of their data.
"""

from __future__ import annotations

import re
from typing import Any

_LOOP = re.compile(r"(.*)/LoopControlInputs/_\d+")
_CALL = re.compile(r"(?:Func/)?(.*)/input_control_node/_\d+")
_LOOP_BODY = re.compile(r".*/loop_body_control/_\d+")
_LOOP_VARIABLE = re.compile(r".*/merge/_(\d+)")


def told_to_wait(definition: Any) -> set[str]:
    """The operations that wait for others by control edges of the user's own graph, by the end of their name."""
    bodies = [definition.node, *(function.node_def for function in definition.library.function)]
    return {n.name for nodes in bodies for n in nodes if any(name.startswith("^") for name in n.input)}


def without_strict_inputs(nodes: list[Any], waiting: set[str]) -> list[Any]:
    """The optimized graph's nodes without the edges that only Grappler's own lowering adds."""
    kept = {node.name: edges for node in nodes if (edges := _own_edges(node, waiting)) is not None}
    for node in nodes if kept else ():
        if any(name[1:] in kept for name in node.input if name.startswith("^")):
            replaced = (e for name in node.input for e in (kept.get(name[1:], [name]) if name[0] == "^" else [name]))
            node.input[:] = _once(list(replaced))
    return [node for node in nodes if node.name not in kept]


def _own_edges(node: Any, waiting: set[str]) -> list[str] | None:
    """What a node that gathers control edges would gather in a real step; None for every other node."""
    if node.op != "NoOp":
        return None
    if (loop := _LOOP.fullmatch(node.name)) is not None:
        return None if _waits(loop[1], waiting) else []
    call = _CALL.fullmatch(node.name)
    if call is None or _waits(call[1], waiting):
        return None
    body = [edge for edge in node.input if _LOOP_BODY.fullmatch(edge)]
    variables = {int(match[1]): edge for edge in node.input if (match := _LOOP_VARIABLE.fullmatch(edge))}
    return body or [edge for _, edge in sorted(variables.items())[:1]]


def _waits(name: str, waiting: set[str]) -> bool:
    parts = name.split("/")
    return any("/".join(parts[start:]) in waiting for start in range(len(parts)))


def _once(edges: list[str]) -> list[str]:
    """Control edges once each, behind the data."""
    data = [edge for edge in edges if edge[0] != "^"]
    return data + list(dict.fromkeys(edge for edge in edges if edge[0] == "^"))
