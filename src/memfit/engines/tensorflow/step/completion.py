"""The shapes of all tensors: those that Grappler inferred, and those that follow from what a tensor is made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.step import kernels
from memfit.engines.tensorflow.step.shapes import HANDLES, Shape, from_property, width
from memfit.engines.tensorflow.step.trace import Optimized
from memfit.simulation.graph import Variable

SHAPED_BY = {
    "Fill": 0,
    "BroadcastTo": 1,
    "Reshape": 1,
    "StridedSliceGrad": 0,
    "Conv2DBackpropInput": 0,
    "Conv2DBackpropFilter": 1,
    "Conv3DBackpropInputV2": 0,
    "Conv3DBackpropFilterV2": 1,
    "DepthwiseConv2dNativeBackpropInput": 0,
    "DepthwiseConv2dNativeBackpropFilter": 1,
}


AXES = {**dict.fromkeys(kernels.REDUCTIONS, (1, 0)), "Split": (0, 1), "SplitV": (2, 0)}  # inputs: axes, and tensor


class Shapes:
    """`shape("name:1")` is the shape of a tensor, as far as it can be known."""

    def __init__(
        self, optimized: Optimized, order: list[Any], variables: list[Variable], index_of: dict[str, int]
    ) -> None:
        self.order, self.variables, self.variable_of = order, variables, index_of
        self.by_name = {n.name: n for n in order}
        properties, stand_in = optimized.shapes, optimized.definition.stand_in
        self.shapes = {n.name: [from_property(p, stand_in) for p in properties.get(n.name, ())] for n in order}
        self.unknown = Shape((), 0, 0, False, stand_in)
        self.notes: list[str] = []
        self.complete()

    def complete(self) -> None:
        missing = 0
        for _ in range(3):
            missing = 0
            for node in self.order:
                shapes = self.shapes[node.name]
                for k, shape in enumerate(shapes):
                    if not shape.known:
                        shapes[k] = self.guess(node, k, shape)
                        missing += not shapes[k].known
            if not missing:
                return
        self.notes.append(
            f"{missing} sizes of {len(self.order)} ops cannot be known before they run: the bound is wider"
        )

    def guess(self, node: Any, port: int, shape: Shape) -> Shape:
        if node.op in ("Shape", "ShapeN"):
            source = self.shape(node.input[port])
            return replace(shape, dims=(len(source.dims),), known=True)
        if node.op in SHAPED_BY:
            return self.described(node, shape)
        if (node.op, port) in (("TensorListPopBack", 1), ("TensorListGetItem", 0)):
            return self.element(node, shape)
        if node.op == "TensorListElementShape":
            return replace(shape, dims=(1,), known=True)  # a few bytes, whatever its rank
        if node.op in kernels.LISTS:
            return shape
        known = [s for s in self.input_shapes(node) if s.known and (s.width or shape.dtype in HANDLES)]
        if not known:
            return shape
        same = [s for s in known if s.dtype == shape.dtype] or known
        largest = max(same, key=lambda s: s.elements)
        if node.op in ("MatMul", "_FusedMatMul"):
            return self.product(node, shape)
        if node.op in kernels.REDUCTIONS:
            return self.reduced(node, shape)
        return replace(shape, dims=largest.dims, known=True, guessed=True)

    def described(self, node: Any, shape: Shape) -> Shape:
        """The shape that another node has measured and that this one takes as an argument."""
        name, port = split(node.input[SHAPED_BY[node.op]])
        source = self.by_name.get(name)
        if source is not None and source.op == "VariableShape":
            variable = self.variables[self.variable(source)]
            return replace(shape, dims=(variable.size // max(1, shape.width),), known=True)
        if source is None or source.op not in ("Shape", "ShapeN"):
            return shape
        measured = self.shape(source.input[port])
        return replace(shape, dims=measured.dims, known=measured.known)

    def element(self, node: Any, shape: Shape) -> Shape:
        """The shape of what was put into the list that this node takes from."""
        seen, stack = set(), [base(node.input[0])]
        while stack:
            name = stack.pop()
            if name in seen:
                continue
            seen.add(name)
            source = self.by_name[name]
            found = self.put_in(source)
            if found is not None and found.known:
                return replace(shape, dims=found.dims, known=True)
            stack.extend(base(i) for i in source.input[: 2 if source.op == "Merge" else 1] if not i.startswith("^"))
        return shape

    def put_in(self, source: Any) -> Shape | None:
        if source.op == "TensorListPushBack":
            return self.shape(source.input[1])
        if source.op == "TensorListSetItem":
            return self.shape(source.input[2])
        if source.op == "TensorListFromTensor":
            whole = self.shape(source.input[0])
            return replace(whole, dims=whole.dims[1:])
        return None

    def reduced(self, node: Any, shape: Shape) -> Shape:
        whole, gone = self.shape(node.input[0]), self.axes(node)
        if not whole.known or gone is None:
            return shape
        kept = node.attr["keep_dims"].b
        dims = tuple(1 if k in gone else d for k, d in enumerate(whole.dims) if kept or k not in gone)
        return replace(shape, dims=dims, known=True)

    def axes(self, node: Any) -> set[int] | None:
        """The dimensions that a reduction takes away, or along which a tensor is split; None where not constant."""
        if node.op not in AXES:
            return None
        told, of = AXES[node.op]
        axes = self.by_name.get(base(node.input[told]))
        if axes is None or axes.op != "Const":
            return None
        rank = len(self.shape(node.input[of]).dims)
        return {int(axis) % rank for axis in tf.make_ndarray(axes.attr["value"].tensor).reshape(-1)} if rank else set()

    def product(self, node: Any, shape: Shape) -> Shape:
        a, b = self.input_shapes(node)[:2]
        if len(a.dims) != 2 or len(b.dims) != 2 or not (a.known and b.known):
            return shape
        rows = a.dims[1] if node.attr["transpose_a"].b else a.dims[0]
        columns = b.dims[0] if node.attr["transpose_b"].b else b.dims[1]
        return replace(shape, dims=(rows, columns), known=True)

    def input_shapes(self, node: Any) -> list[Shape]:
        return [self.shape(i) for i in node.input if not i.startswith("^")]

    def shape(self, tensor: str) -> Shape:
        name, port = split(tensor)
        shapes = self.shapes.get(name, [])
        return shapes[port] if port < len(shapes) else self.unknown

    def value(self, tensor: str) -> Shape:
        """The same, or the shape of a variable where the tensor is its handle."""
        handle = self.by_name[split(tensor)[0]]
        if handle.op != "VarHandleOp":
            return self.shape(tensor)
        dims = tuple(dimension.size for dimension in handle.attr["shape"].shape.dim)
        dtype = handle.attr["dtype"].type
        return replace(self.unknown, dims=dims, dtype=dtype, width=width(dtype), known=True)

    def variable(self, source: Any) -> int:
        name = base(source.input[0]) if source.input else ""
        for _ in range(64):
            node = self.by_name.get(name)
            if node is None:
                return -1
            if node.op in ("VarHandleOp", "_Arg"):
                return self.variable_of.get(name, -1)
            if not node.input:
                return -1
            name = base(node.input[0])
        return -1


def base(tensor: str) -> str:
    return tensor.lstrip("^").split(":")[0]


def split(tensor: str) -> tuple[str, int]:
    name, _, port = tensor.partition(":")
    return name, int(port or 0)
