"""The graph at one batch size, as flat lists that the executor reads quickly."""

from __future__ import annotations

from collections import Counter
from typing import Any

from memfit.simulation.graph import Kind, Node, StepGraph

LARGEST_FOLDED = 10 << 20
CROSSINGS = (Kind.ENTER, Kind.NEXT, Kind.EXIT)  # into a loop, to its next time round, out of it
HANDED_ON = (Kind.READ, Kind.ASSIGN, Kind.ALIAS, Kind.NOTHING)


class Plan:
    """The graph at one batch size, as flat lists."""

    def __init__(self, graph: StepGraph, batch: int):
        nodes = graph.nodes
        self.graph, self.nodes, self.batch = graph, nodes, batch
        self.sizes = [[s.at(batch) for s in n.outputs] for n in nodes]
        self.folded = folded(nodes, self.sizes)
        self.kinds = [Kind.CONSTANT if k in self.folded else n.kind for k, n in enumerate(nodes)]
        self.expensive = [n.expensive and k not in self.folded for k, n in enumerate(nodes)]
        self.arity = [len(n.inputs) for n in nodes]
        self.initial = [waits_for(k, n, self.folded) for k, n in enumerate(nodes)]
        self.data_out, self.control_out = edges(nodes, self.folded)
        self.roots = [
            k
            for k, n in enumerate(nodes)
            if self.initial[k] == 0 and (self.data_out[k] or self.control_out[k] or self.kinds[k] != Kind.CONSTANT)
        ]
        self.forwards = [n.forwards for n in nodes]
        self.temps_first = [n.temps_first for n in nodes]
        self.folds: list[Any] = [n.value if callable(n.value) else None for n in nodes]
        self.temps: list[list[int]] = [n.temps(batch) if n.temps else [] for n in nodes]
        self.seconds = [self._seconds(k, n) for k, n in enumerate(nodes)]
        self.copied_on_read = {n.variable for n in nodes if n.kind == Kind.SPARSE}
        self.merges = {k for k, kind in enumerate(self.kinds) if kind == Kind.MERGE}
        self.loop_conditions = {k for k, kind in enumerate(self.kinds) if kind == Kind.LOOP_COND}
        self.crossings = {k: kind for k, kind in enumerate(self.kinds) if kind in CROSSINGS}
        self.enters = Counter(n.frame for n in nodes if n.kind == Kind.ENTER)

    def _seconds(self, index: int, node: Node) -> float:
        if not self.expensive[index]:
            return 0.0
        speed = node.speed
        return (
            speed.start
            + node.flops.at(self.batch) / speed.compute
            + node.patches.at(self.batch) / speed.unfold
            + self._bytes(index, node) / speed.memory
        )

    def _bytes(self, index: int, node: Node) -> int:
        """What the operation reads and writes; handing on a buffer takes no time."""
        if node.kind in HANDED_ON:
            return 0
        written = sum(self.sizes[index])
        if not node.speed.reads_all:
            return 2 * written
        return written + sum(self.sizes[i][p] for i, p in node.inputs if p < len(self.sizes[i]))


def folded(nodes: list[Node], sizes: list[list[int]]) -> set[int]:
    found: set[int] = set()
    for k, node in enumerate(nodes):
        small = node.foldable and all(size <= LARGEST_FOLDED for size in sizes[k])
        if small and all(i in found or nodes[i].kind == Kind.CONSTANT for i, _ in node.inputs):
            found.add(k)
    return found


def waits_for(index: int, node: Node, folded_nodes: set[int]) -> int:
    if index in folded_nodes:
        return 0
    return 1 if node.kind == Kind.MERGE else len(node.inputs) + len(node.controls)


def edges(nodes: list[Node], skip: set[int]) -> tuple[list[list[tuple[int, int, int]]], list[list[int]]]:
    data: list[list[tuple[int, int, int]]] = [[] for _ in nodes]
    control: list[list[int]] = [[] for _ in nodes]
    for consumer, node in enumerate(nodes):
        if consumer in skip:
            continue
        for slot, (producer, port) in enumerate(node.inputs):
            data[producer].append((consumer, slot, port))
        for producer in node.controls:
            control[producer].append(consumer)
    return data, control
