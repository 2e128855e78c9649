"""The temporaries that each kernel takes of the allocator on a CPU: with Eigen's kernels, and with oneDNN's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection
from dataclasses import replace

from memfit.engines.tensorflow.step import calibration, einsum, machine, onednn
from memfit.engines.tensorflow.step.kernels import REDUCTIONS, Call, equation
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.engines.tensorflow.step.work import shares_images

CALIBRATED = frozenset(
    f"Conv{space}D{part}"
    for space, v in ((2, ""), (3, "V2"))
    for part in ("", f"BackpropFilter{v}", f"BackpropInput{v}")
)
PAGE = 4096
BLOCK = 40  # bytes to describe a pair of blocks to oneDNN
CONV_TARGET = 30 << 20  # bytes that Eigen's convolutions unfold at a time, whatever the machine

Rule = Callable[[Call], "Callable[[int], list[int]] | None"]


def temporaries(call: Call) -> Callable[[int], list[int]] | None:
    """What the kernel of `call` takes beside its outputs, at each batch."""
    known = calibration.current()
    if known is not None and call.op in CALIBRATED:
        measured = known.correction(call.op, features(call))
        if measured is not None:
            return lambda batch: [measured]
    return _rule(call)


def foretold(call: Call, batch: int) -> list[int]:
    """The same by the rules alone."""
    rule = _rule(call)
    return rule(batch) if rule else []


def features(call: Call) -> tuple[int, ...]:
    """What tells one convolution from another, whatever the batch: taps, channels in and out, positions."""
    filters = call.outputs[0] if "BackpropFilter" in call.op else call.inputs[1]
    image = call.inputs[2] if "Backprop" in call.op else call.outputs[0]
    return (math.prod(filters.dims[:-2]), *filters.dims[-2:], math.prod(image.dims[1:-1]))


def _rule(call: Call) -> Callable[[int], list[int]] | None:
    if onednn.runs(call.op, call.outputs):
        return scratchpad(call) if call.op in onednn.FORWARD else None
    rule = RULES.get(call.op)
    return rule(call) if rule else None


def _conv_sizes(call: Call, filters: Shape, gradient: Shape) -> tuple[int, int, int, int]:
    positions = math.prod(gradient.dims[1:-1])
    taps = math.prod(filters.dims[:-1])
    return positions, taps, filters.dims[-1], gradient.width


def conv_filter(call: Call, target: int = CONV_TARGET, space: int = 2) -> Callable[[int], list[int]] | None:
    positions, taps, channels, width = _conv_sizes(call, call.outputs[0], call.inputs[2])
    unit = positions * taps + positions * channels + taps * channels
    shard = -(-(target // width) // unit)
    return lambda batch: [shard * positions * taps * width]


def conv_input(call: Call) -> Callable[[int], list[int]] | None:
    filters, gradient = call.inputs[1], call.inputs[2]
    positions, taps, channels, width = _conv_sizes(call, filters, gradient)
    unit = positions * channels + taps * channels + positions * taps

    def size(batch: int) -> list[int]:
        alone = gradient.at(batch)[0] == 1 or shares_images(filters, gradient)
        shard = 1 if alone else -(-(CONV_TARGET // width) // unit)
        return [shard * positions * taps * width]

    return size


def conv3d_filter(call: Call) -> Callable[[int], list[int]] | None:
    return _conv3d(call, call.outputs[0], call.inputs[0], 0)


def conv3d_input(call: Call) -> Callable[[int], list[int]] | None:
    return _conv3d(call, call.inputs[1], call.outputs[0], 1)


def _conv3d(call: Call, filters: Shape, image: Shape, backwards: int) -> Callable[[int], list[int]] | None:
    gradient = call.inputs[2]
    positions, taps, channels, width = _conv_sizes(call, filters, gradient)
    unit = positions * taps + positions * channels + taps * channels

    def size(batch: int) -> list[int]:
        shard = -(-(machine.l3() // width) // unit)
        if backwards and gradient.at(batch)[0] == 1:
            shard = 1
        columns = shard * positions * taps
        touched = image.count(batch) + filters.count(batch) + gradient.count(batch)
        return [] if columns // max(1, touched) > 25 else [columns * width]

    return size


def depthwise_filter(call: Call) -> Callable[[int], list[int]] | None:
    area, depth = math.prod(call.outputs[0].dims[:2]), math.prod(call.outputs[0].dims[2:])
    padded = area * (-(-depth // 8) * 8) * call.outputs[0].width
    return lambda batch: [call.inputs[0].at(batch)[0] * padded, padded, padded]


def depthwise(call: Call) -> Callable[[int], list[int]] | None:
    filters = call.inputs[1]
    area, depth = math.prod(filters.dims[:2]), math.prod(filters.dims[2:])
    padded = (area + 1) * (-(-depth // 8) * 8) * filters.width
    return lambda batch: [padded, padded]


def max_pool_grad(call: Call) -> Callable[[int], list[int]] | None:
    pooled = call.inputs[1]
    return lambda batch: [pooled.count(batch) * pooled.width, pooled.count(batch) * 8]


def cross_entropy(call: Call) -> Callable[[int], list[int]] | None:
    loss = call.outputs[0]
    return lambda batch: [loss.count(batch) * loss.width]


def batch_norm_grad(call: Call) -> Callable[[int], list[int]] | None:
    x, scale = call.inputs[1], call.inputs[2]
    mixed = x.width != scale.width
    return lambda batch: [scale.dims[0] * 4] + ([x.count(batch) * 4] if mixed else [])


def reduction(call: Call) -> Callable[[int], list[int]] | None:
    """Eigen reduces runs of neighbouring dimensions; where they alternate more often, it turns the input first."""
    source, result = call.inputs[0], call.outputs[0]
    gone = call.axes if call.axes is not None else guessed_axes(source.dims, result.dims)
    if gone is None or len(runs(source.dims, gone)) <= 3:
        return None
    return lambda batch: [source.count(batch) * source.width]


def runs(dims: tuple[int, ...], gone: Collection[int]) -> list[bool]:
    """Whether each run of neighbouring dimensions is reduced; those of one element belong to either."""
    return [key for key, _ in itertools.groupby(axis in gone for axis, size in enumerate(dims) if size != 1)]


def guessed_axes(dims: tuple[int, ...], left: tuple[int, ...]) -> set[int] | None:
    """Which dimensions a result that has these `left` may have lost."""
    kept, gone = [d for d in left if d != 1], set()
    for axis, size in enumerate(dims):
        if kept and kept[0] == size:
            kept.pop(0)
        else:
            gone.add(axis)
    return gone if not kept else None


def low_precision_product(call: Call) -> Callable[[int], list[int]] | None:
    """Eigen multiplies half and bfloat16 matrices as float32 copies."""
    parts = [*call.inputs[:2], call.outputs[0]]
    if parts[0].width != 2:
        return None
    return lambda batch: [4 * part.count(batch) for part in parts]


def scaled_rows(call: Call) -> Callable[[int], list[int]] | None:
    """Images are scaled in one direction, then in the other."""
    image, result = call.inputs[0], call.outputs[0]
    between = replace(result, dims=(*result.dims[:2], *image.dims[2:]), width=4)
    return lambda batch: [between.count(batch) * between.width]


def input_again(call: Call) -> Callable[[int], list[int]] | None:
    source = call.inputs[0]
    return lambda batch: [source.count(batch) * source.width]


def one_channel(call: Call) -> Callable[[int], list[int]] | None:
    source = call.inputs[0]
    return lambda batch: [source.count(batch) // source.dims[-1] * source.width]


RULES: dict[str, Rule] = {
    **dict.fromkeys(("MatMul", "_FusedMatMul", "BatchMatMulV2", "BatchMatMulV3"), low_precision_product),
    "Conv2DBackpropFilter": conv_filter,
    "Conv2DBackpropInput": conv_input,
    "Conv3DBackpropFilterV2": conv3d_filter,
    "Conv3DBackpropInputV2": conv3d_input,
    "DepthwiseConv2dNative": depthwise,
    "DepthwiseConv2dNativeBackpropInput": depthwise,
    "DepthwiseConv2dNativeBackpropFilter": depthwise_filter,
    "MaxPoolGrad": max_pool_grad,
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
    "SoftmaxCrossEntropyWithLogits": cross_entropy,
    "FusedBatchNormGradV3": batch_norm_grad,
    "MirrorPadGrad": input_again,
    "RGBToHSV": one_channel,
    **dict.fromkeys(("ScaleAndTranslate", "ScaleAndTranslateGrad"), scaled_rows),
    **dict.fromkeys(REDUCTIONS, reduction),
}


def scratchpad(call: Call) -> Callable[[int], list[int]] | None:
    """The list of blocks to multiply, on pages of its own for each thread, that oneDNN's forward convolution asks
    TensorFlow for. Gradients ask oneDNN itself, out of the allocator's sight."""
    pages = -(-math.prod(call.inputs[1].dims[:-2]) * BLOCK // PAGE)
    listed = -(-pages * PAGE // BLOCK) * BLOCK
    return lambda batch: [machine.kernel_threads() * listed + PAGE]


def einsum_copies(call: Call) -> Callable[[int], list[int]] | None:
    return einsum.temporaries(equation(call), call.inputs, call.outputs[0])


RULES["Einsum"] = einsum_copies
