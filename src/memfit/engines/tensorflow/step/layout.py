"""TensorFlow's last rewriting where oneDNN serves: its kernels come in, as new nodes behind all others.

A convolution's gradients to its filter and to its bias become one operation. And since the executor takes operations
that become ready together in the order of their nodes, the others are handed out first.
"""

from __future__ import annotations

from typing import Any

from memfit.engines.tensorflow.step import machine, onednn
from memfit.engines.tensorflow.step.completion import base

FILTER_GRADIENT, BIAS_GRADIENT = "Conv2DBackpropFilter", "BiasAddGrad"
REWRITTEN = onednn.OPERATIONS | {
    "AvgPool",
    "AvgPoolGrad",
    "AvgPool3D",
    "AvgPool3DGrad",
    "Einsum",
    "Softmax",
    "Transpose",
}


def rewrite(nodes: list[Any], shapes: dict[str, list[Any]]) -> list[Any]:
    """`nodes` (in the graph's order) as oneDNN's kernels replace them; `shapes` learns what merged nodes return."""
    if not machine.onednn():
        return nodes
    graph = _Graph(nodes)
    for name in graph.reverse_post_order():
        if name in graph.nodes and graph.nodes[name].op == FILTER_GRADIENT:
            graph.merge_bias(name, shapes)
    kept = [node for node in graph.nodes.values() if not _is_replaced(node)]
    ordered = [graph.nodes[name] for name in graph.reverse_post_order()]
    return kept + [node for node in ordered if _is_replaced(node)]


def _is_replaced(node: Any) -> bool:
    return node.op in REWRITTEN and "T" in node.attr and onednn.serves(node.attr["T"].type)


class _Graph:
    """Nodes by name, and who follows each, in the order of TensorFlow's sets of edges."""

    def __init__(self, nodes: list[Any]) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.followers: dict[str, list[str]] = {name: [] for name in self.nodes}
        for node in nodes:
            for name in dict.fromkeys(map(base, node.input)):
                self.followers[name].append(node.name)

    def reverse_post_order(self) -> list[str]:
        order, seen = [], set()
        stack = [(name, False) for name, node in self.nodes.items() if not node.input]
        while stack:
            name, done = stack.pop()
            if done:
                order.append(name)
            elif name not in seen:
                seen.add(name)
                stack.append((name, True))
                stack += [(follower, False) for follower in self.followers[name] if follower not in seen]
        return order[::-1]

    def merge_bias(self, name: str, shapes: dict[str, list[Any]]) -> None:
        """Let the gradient to a filter also return the one to its bias, where both are made of the same."""
        node = self.nodes[name]
        made_of = base(node.input[2])
        bias = next((f for f in self.followers[made_of] if self.nodes[f].op == BIAS_GRADIENT), None)
        if bias is None or node.attr["padding"].s == b"EXPLICIT" or not onednn.serves(node.attr["T"].type):
            return
        shapes[name] = [*shapes[name], *shapes[bias]]
        for follower in self.followers[bias]:
            _redirect(self.nodes[follower], bias, f"{name}:1")
        self._forget(bias)
        for source in dict.fromkeys(map(base, node.input)):
            self._move_last(source, name)
        self.followers[name] += self.followers.pop(bias)

    def _forget(self, name: str) -> None:
        for source in dict.fromkeys(map(base, self.nodes.pop(name).input)):
            self._erase(source, name)

    def _move_last(self, source: str, name: str) -> None:
        self._erase(source, name)
        self.followers[source].append(name)

    def _erase(self, source: str, name: str) -> None:
        """As TensorFlow does it: the last one takes the place."""
        edges = self.followers[source]
        last = edges.pop()
        if last != name:
            edges[edges.index(name)] = last


def _redirect(node: Any, old: str, new: str) -> None:
    for place, tensor in enumerate(node.input):
        if base(tensor) == old:
            node.input[place] = f"^{base(new)}" if tensor.startswith("^") else new
