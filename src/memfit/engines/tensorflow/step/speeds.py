"""How fast kernels are relative to each other: only the order in which operations end depends on it."""

from __future__ import annotations

from memfit.engines.tensorflow.step import onednn
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.simulation.graph import Speed

DEFAULT = Speed(memory=3.3e10)
SPEEDS = {
    "Conv2DBackpropFilter": Speed(5e-6, 1.15e11, 4.5e9, 4e10),
    "Conv2DBackpropInput": Speed(5e-6, 8.1e10, 5e9, 4e10),
    "Conv2D": Speed(5e-6, 2.0e11, 3.2e10, 2.4e10),
    "_FusedConv2D": Speed(5e-6, 2.7e11, 1e15, 3.1e9),
    "Conv3D": Speed(5e-6, 1.2e11, 1e10),
    "Conv3DBackpropFilterV2": Speed(3e-3, 1.7e10),
    "Conv3DBackpropInputV2": Speed(5e-4, 5e10),
    "MatMul": Speed(1e-5, 1e11, 1e15, 4.4e9),
    "_FusedMatMul": Speed(2e-5, 1e11, 1e15, 1.1e10),
    "BatchMatMulV2": Speed(1e-5, 2.4e10),
    "Einsum": Speed(2e-5, 4e10),
    "SparseSoftmaxCrossEntropyWithLogits": Speed(5e-6, memory=1.4e9),
    "BatchMatMulV3": Speed(1e-5, 2.4e10),
    "DepthwiseConv2dNative": Speed(8e-4, 2e10),
    "DepthwiseConv2dNativeBackpropInput": Speed(1.2e-3, 1e15, 1e15, 4.7e9),
    "DepthwiseConv2dNativeBackpropFilter": Speed(1.2e-3, 1.35e10),
    **{op: Speed(memory=3.3e10, reads_all=False) for op in ("GatherV2", "ResourceGather", "Slice", "StridedSlice")},
    **{op: Speed(memory=3.3e9) for op in ("MaxPoolGrad", "MaxPool3D", "SelectV2", "UnsortedSegmentSum")},
    **{
        op: Speed(memory=6e8)
        for op in (
            "StatelessRandomUniformV2",
            "StatelessRandomNormalV2",
            "RandomStandardNormal",
            "RandomUniform",
            "MaxPool3DGrad",
        )
    },
    **{
        op: Speed(5e-6, memory=1.3e10)
        for op in ("Sum", "Mean", "Transpose", "BiasAddGrad", "MaxPool", "BiasAdd", "SquaredDifference", "Tile")
    },
    **{op: Speed(memory=1.5e10) for op in ("AssignAddVariableOp", "AssignSubVariableOp", "GreaterEqual")},
    **{
        op: Speed(memory=8e9)
        for op in ("AvgPool", "AvgPoolGrad", "Softmax", "Erf", "Erfc", "Exp", "Tanh", "Sigmoid", "Pow", "Log", "Log1p")
    },
}


ONEDNN = {
    **dict.fromkeys(onednn.FORWARD, Speed(5e-6, 1.2e11, memory=1.5e10)),
    **dict.fromkeys(onednn.TO_INPUT, Speed(5e-6, 8e10, memory=1e10)),
    **dict.fromkeys(onednn.TO_FILTER, Speed(5e-6, 5e10, memory=6e9)),
    **dict.fromkeys(onednn.DEPTHWISE, Speed(5e-6, 3.5e10, memory=1.5e10)),
    **dict.fromkeys(onednn.DEPTHWISE_TO_FILTER, Speed(5e-6, 1e10, memory=1.5e10)),
    "MaxPoolGrad": Speed(memory=8e9),
    "MaxPool3DGrad": Speed(memory=4.5e9),
}


def speed(op: str, outputs: list[Shape]) -> Speed:
    if op in ONEDNN and onednn.runs(op, outputs):
        return ONEDNN[op]
    return SPEEDS.get(op, DEFAULT)
