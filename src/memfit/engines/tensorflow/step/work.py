"""How much each kernel computes, to know how long it holds its thread."""

from __future__ import annotations

import math
from dataclasses import replace

from memfit.engines.tensorflow.step import einsum, machine, onednn
from memfit.engines.tensorflow.step.kernels import Call, equation
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.simulation.graph import Size

ROWS = {"Conv2DBackpropFilter": 22, "Conv2DBackpropInput": 190}  # bytes: to begin with a row of a patch takes as long
ROW = 50  # the same, for other convolutions
FORK = 1_900_000  # bytes: likewise, to divide the work on one image among threads
REPACKED = 11  # each of them packs the filters anew, so many times as slowly as patches are copied
SHARED = 256 << 10  # bytes that each thread works on at least


def work(call: Call) -> tuple[Size, Size]:
    """Floating-point operations and bytes that are unfolded or transposed before them."""
    op = call.op
    if op.startswith(("Depthwise", "_FusedDepthwise")):
        taps = call.outputs[0] if "BackpropFilter" in op else call.inputs[1]
        image = call.inputs[2] if "Backprop" in op else call.outputs[0]
        return scaled(image, 2.0 * math.prod(taps.dims[:2])), Size(0.0)
    if op.startswith(("Conv2D", "Conv3D", "_FusedConv")):
        image = call.inputs[2] if "Backprop" in op else call.outputs[0]
        filters = call.outputs[0] if "BackpropFilter" in op else call.inputs[1]
        volume = math.prod(filters.dims[:-1])
        flops = scaled(image, 2.0 * volume * whole_vectors(call, filters))
        return flops, scaled(image, patches(call, filters, image) / math.prod(image.dims[1:]))
    if op in ("MatMul", "_FusedMatMul", "BatchMatMulV2", "BatchMatMul", "BatchMatMulV3"):
        return operations((*call.outputs[0].dims, inner_size(call)), call.outputs[0]), turned(call)
    if op == "Einsum":
        text, result = equation(call), call.outputs[0]
        multiplied, copied = einsum.multiplications(text, call.inputs), einsum.copied(text, call.inputs, result)
        return operations(multiplied, result), total(copied)
    return Size(0.0), Size(0.0)


def patches(call: Call, filters: Shape, image: Shape) -> float:
    """Bytes of patches that Eigen copies for one image, and what it does beside, as so many bytes more."""
    positions, taps = math.prod(image.dims[1:-1]), math.prod(filters.dims[:-2])
    unfolded = positions * math.prod(filters.dims[:-1]) * image.width
    rows = positions * taps * (ROWS.get(call.op) or ROW * (call.op in onednn.FORWARD))
    divides = call.op == "Conv2DBackpropInput" and shares_images(filters, image)
    return unfolded + rows + (FORK + REPACKED * filters.elements * filters.width if divides else 0)


def shares_images(filters: Shape, gradient: Shape) -> bool:
    """Does Eigen divide the product of each image among its threads, rather than the images?"""
    positions, taps, channels = math.prod(gradient.dims[1:-1]), math.prod(filters.dims[:-1]), filters.dims[-1]
    unit = positions * channels + taps * channels + positions * taps
    return unit // machine.kernel_threads() >= SHARED // gradient.width


def whole_vectors(call: Call, filters: Shape) -> float:
    """oneDNN computes whole vectors of the channels that it makes: so many times what they are, where they are few."""
    if not onednn.runs(call.op, call.outputs):
        return 1.0
    made = filters.dims[-2] if call.op in onednn.TO_INPUT else filters.dims[-1]
    return math.ceil(made / machine.lanes()) * machine.lanes() / made


def turned(call: Call) -> Size:
    """The matrices that the kernel has to unfold because they come transposed: of oneDNN's, the right-hand one."""
    sides = ("transpose_b",) if onednn.runs(call.op, call.outputs) else ("transpose_a", "transpose_b")
    asked = [side for side in sides if side in call.node.attr and call.node.attr[side].b]
    return total([call.inputs[side == "transpose_b"] for side in asked])


def total(shapes: list[Shape]) -> Size:
    """The bytes of all that grow with the batch alike; beside those, the others are small."""
    sizes = [shape.size() for shape in shapes]
    degree = max((size.degree for size in sizes), default=0)
    return Size(sum(size.scale for size in sizes if size.degree == degree), degree)


def operations(dims: tuple[int, ...], shape: Shape) -> Size:
    """Two for each multiplication, as a function of the batch."""
    size = replace(shape, dims=dims, width=2).size()
    return size if dims else Size(0.0)


def inner_size(call: Call) -> int:
    transposed = any(call.node.attr[k].b for k in ("transpose_a", "adj_x") if k in call.node.attr)
    dims = call.inputs[0].dims
    if len(dims) < 2:
        return 1
    return dims[-2] if transposed else dims[-1]


def scaled(shape: Shape, factor: float) -> Size:
    size = shape.size()
    return Size(size.scale / max(1, shape.width) * factor, size.degree)
