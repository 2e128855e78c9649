"""From TensorFlow's optimized graph to the engine-neutral one."""

from __future__ import annotations

import math
import operator
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from memfit.engines.tensorflow.step import health, kernels, layout, machine, nested, onednn
from memfit.engines.tensorflow.step.completion import Shapes, base, split
from memfit.engines.tensorflow.step.shapes import HANDLES, Shape, argument_size
from memfit.engines.tensorflow.step.speeds import speed
from memfit.engines.tensorflow.step.trace import INPUT, Optimized
from memfit.engines.tensorflow.step.work import work
from memfit.engines.tensorflow.step.workspace import temporaries
from memfit.simulation.graph import Kind, Node, Owner, Size, StepGraph, Variable

FOLDS: dict[str, Callable[..., Any]] = {
    "AddV2": operator.add,
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Less": operator.lt,
    "LessEqual": operator.le,
    "Greater": operator.gt,
    "GreaterEqual": operator.ge,
    "Equal": operator.eq,
    "NotEqual": operator.ne,
    "LogicalAnd": lambda a, b: a and b,
    "LogicalOr": lambda a, b: a or b,
    "LogicalNot": operator.not_,
    "Minimum": min,
    "Maximum": max,
    "FloorMod": lambda a, b: a % b if b else None,
    "Cast": lambda a: a,
    "FloorDiv": lambda a, b: a // b if b else None,
}
BOOL = tf.bool.as_datatype_enum
DOUBLE = tf.float64.as_datatype_enum
LARGE = 4096  # elements
INTEGRAL = {tf.int32.as_datatype_enum, tf.int64.as_datatype_enum, tf.bool.as_datatype_enum}


def convert(
    optimized: Optimized, variables: list[Variable], index_of: dict[str, int], owner: Callable[[str], Owner]
) -> StepGraph:
    """`owner` says of an op's name what it is for and whose it is."""
    return _Converter(optimized, variables, index_of, owner).run()


class _Converter:
    def __init__(
        self, optimized: Optimized, variables: list[Variable], index_of: dict[str, int], owner: Callable[[str], Owner]
    ) -> None:
        self.definition, self.variables, self.owner = optimized.definition, variables, owner
        self.order = construction_order(layout.rewrite(construction_order(optimized.nodes), optimized.shapes))
        self.position = {n.name: k for k, n in enumerate(self.order)}
        self.inputs = {name: k for k, name in enumerate(self.definition.arguments)}
        self.shapes = Shapes(optimized, self.order, variables, index_of)
        self.notes = self.shapes.notes
        self.compiler = nested.Compiler(optimized.functions, self.definition.stand_in)
        self.wide: dict[str, int] = {}

    def run(self) -> StepGraph:
        nodes = [self.node(n) for n in self.order]
        mark_foldable(nodes)
        self.remember_maxima(nodes)
        sizes = [argument_size(t, self.definition.stand_in) for t in self.definition.arguments.values()]
        return StepGraph(
            nodes,
            self.variables,
            sizes,
            notes=self.notes + self.wide_notes(),
            uncertain=bool(self.notes),
            threads=machine.operation_threads(),
            remembered=self.definition.remembered,
        )

    def remember_maxima(self, nodes: list[Node]) -> None:
        """oneDNN's max-pooling notes for each output where the maximum was, whether or not a gradient will read it."""
        for node, source in zip(nodes, self.order, strict=True):
            pooled = self.shapes.shapes[node.name]
            if node.op in kernels.POOLS.values() and onednn.runs(node.op, pooled):
                place = 1 if math.prod(source.attr["ksize"].list.i) < 256 else 4  # bytes to say where in the window
                node.outputs = [node.outputs[0], replace(pooled[0], width=place).size()]
        for node in nodes:
            if node.op in kernels.POOLS and len(node.inputs) > 1:
                index, port = node.inputs[1]
                pool = nodes[index]
                if pool.op == kernels.POOLS[node.op] and port == 0 and len(pool.outputs) > 1:
                    node.inputs.append((index, 1))

    def wide_notes(self) -> list[str]:
        """Say where float64 doubles what float32 would take."""
        doubles = [t.name.split(":")[0] for t in self.definition.arguments.values() if t.dtype.name == "float64"]
        layers = sorted(self.wide, key=lambda layer: -self.wide[layer])[:3]
        notes = [f"input {name!r} is float64: float32 would take half" for name in doubles]
        return notes + [f"layer {layer!r} works in float64: float32 would take half" for layer in layers]

    def node(self, source: Any) -> Node:
        data = [split(i) for i in source.input if not i.startswith("^")]
        inputs = [(self.position[name], port) for name, port in data]
        controls = [self.position[i[1:]] for i in dict.fromkeys(source.input) if i.startswith("^")]
        kind = self.kind(source)
        outputs = self.shapes.shapes[source.name]
        node = Node(source.name, source.op, kind, inputs, controls, [self.size(s) for s in outputs])
        node.expensive = source.op not in kernels.CHEAP and kind != Kind.ARGUMENT
        node.speed = speed(source.op, outputs)
        node.owner = self.owner(self.definition.originals.marked(source.name))
        self.note_width(node, outputs)
        self.details(node, source, outputs)
        return node

    def note_width(self, node: Node, outputs: list[Shape]) -> None:
        large = any(s.dtype == DOUBLE and s.known and s.elements >= LARGE for s in outputs)
        layer = node.owner[1]
        if large and not layer.startswith("("):
            self.wide[layer] = self.wide.get(layer, 0) + sum(s.elements for s in outputs)

    def size(self, shape: Shape) -> Size:
        return shape.size() if shape.known else Size(0.0)

    def kind(self, source: Any) -> Kind:
        if source.name in self.inputs:
            return Kind.ARGUMENT
        if source.name.endswith("/" + INPUT):
            return Kind.NOTHING
        return kernels.kind(source.op)

    def details(self, node: Node, source: Any, outputs: list[Shape]) -> None:
        kind = node.kind
        if kind == Kind.ARGUMENT:
            node.variable, node.inputs, node.controls = self.inputs[source.name], [], []
        elif kind in (Kind.READ, Kind.ASSIGN, Kind.UPDATE, Kind.SPARSE):
            node.variable = self.shapes.variable(source)
            if node.variable < 0:
                node.kind = Kind.COMPUTE
        elif kind == Kind.ENTER:
            node.frame = source.attr["frame_name"].s.decode()
            node.parallel = source.attr["parallel_iterations"].i or 10
            node.constant_frame = source.attr["is_constant"].b
        elif kind == Kind.CONSTANT:
            node.value = scalar(source)
        elif kind == Kind.LIST:
            node.list_op = kernels.LISTS[source.op]
            if node.list_op == "unstack":
                dims = self.shapes.input_shapes(source)[0].dims
                node.value = dims[0] if dims else 1
        elif kind == Kind.COMPUTE:
            self.compute(node, source, outputs)

    def compute(self, node: Node, source: Any, outputs: list[Shape]) -> None:
        call = kernels.Call(source.op, source, self.shapes.input_shapes(source), outputs, self.shapes.axes(source))
        if outputs and all(s.dtype in HANDLES for s in outputs):
            node.outputs = [Size(0.0) for _ in outputs]
            if source.op in kernels.LISTS_OF_VARIANTS:
                node.kind, node.list_op = Kind.LIST, kernels.LISTS_OF_VARIANTS[source.op]
                return
        if kernels.is_view(call):
            node.kind = Kind.ALIAS
            return
        if (whole := kernels.parted(call)) is not None:
            node.kind, node.whole = Kind.PARTS, whole
            return
        if nested.is_compiled(source):
            self.compiled(node, call)
            return
        try:
            node.forwards = kernels.candidates(call)
            node.temps = temporaries(call)
            node.flops, node.patches = work(call)
        except (IndexError, ZeroDivisionError) as error:
            self.notes.append(f"{source.op} {source.name}: {error}")
        node.temps_first = source.op in kernels.TEMPS_FIRST
        node.forward_temp = 1 if source.op == "MaxPoolGrad" else -1
        fold = FOLDS.get(source.op)
        if fold and outputs and outputs[0].dtype in INTEGRAL and outputs[0].elements == 1:
            node.value = folding(fold)
        elif outputs and outputs[0].dtype == BOOL and outputs[0].elements == 1:
            sound = health.expected(source, lambda name: self.shapes.by_name[base(name)])
            node.value = None if sound is None else lambda values: sound

    def compiled(self, node: Node, call: kernels.Call) -> None:
        arguments = [self.shapes.value(name) for name in call.node.input if not name.startswith("^")]
        node.temps = self.compiler.temporaries(call.node, arguments)
        if node.temps is None:
            self.notes.append(f"what XLA takes for {call.node.name} cannot be known: the bound is wider")


def folding(fold: Callable[..., Any]) -> Callable[[list[Any]], Any]:
    return lambda values: None if any(v is None for v in values) else fold(*values)


def scalar(source: Any) -> Any:
    proto = source.attr["value"].tensor
    if proto.dtype not in INTEGRAL or any(d.size != 1 for d in proto.tensor_shape.dim):
        return None
    return np.asarray(tf.make_ndarray(proto)).reshape(-1)[0].item()


def construction_order(nodes: list[Any]) -> list[Any]:
    """TensorFlow's order of nodes: topological, first come first served."""
    index = {n.name: k for k, n in enumerate(nodes)}
    users: dict[int, list[int]] = {}
    waiting = []
    for k, node in enumerate(nodes):
        needs = {index[base(i)] for i in node.input if not is_back_edge(nodes, index, node, i)}
        waiting.append(len(needs))
        for need in needs:
            users.setdefault(need, []).append(k)
    queue = deque(k for k, count in enumerate(waiting) if count == 0)
    order = []
    while queue:
        k = queue.popleft()
        order.append(nodes[k])
        for user in users.get(k, ()):
            waiting[user] -= 1
            if waiting[user] == 0:
                queue.append(user)
    return order


def is_back_edge(nodes: list[Any], index: dict[str, int], node: Any, tensor: str) -> bool:
    return bool(node.op == "Merge" and nodes[index[base(tensor)]].op == "NextIteration")


NEVER_FOLDED = (
    "Random",
    "Multinomial",
    "Assign",
    "TemporaryVariable",
    "Stateless",
    "Iterator",
    "PartitionedCall",
    "Xla",
    "Assert",
    "Py",
    "Enter",
    "Exit",
)


def mark_foldable(nodes: list[Node]) -> None:
    """The runtime computes once, when the step is first run, what depends on constants only."""
    for node in nodes:
        if node.kind not in (Kind.COMPUTE, Kind.ALIAS) or node.controls or not node.inputs:
            continue
        if any(word in node.op for word in NEVER_FOLDED):
            continue
        node.foldable = all(
            (nodes[i].kind == Kind.CONSTANT and not nodes[i].controls) or nodes[i].foldable for i, _ in node.inputs
        )
