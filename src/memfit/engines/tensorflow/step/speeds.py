"""How fast kernels are relative to each other: only the order in which operations end depends on it."""

from __future__ import annotations

from memfit.engines.tensorflow.step import machine
from memfit.simulation.graph import Speed

DEFAULT = Speed()
SPEEDS = {
    "Conv2DBackpropFilter": Speed(5e-6, 6.0e10, 3.6e9, 1.4e10),
    "Conv2DBackpropInput": Speed(5e-6, 5.6e10, 9.8e9, 1.4e10),
    "Conv2D": Speed(5e-6, 1.5e11, 2.4e10, 1.8e10),
    "_FusedConv2D": Speed(5e-6, 2.0e11, 1e15, 2.3e9),
    "Conv3D": Speed(5e-6, 2.4e10),
    "Conv3DBackpropFilterV2": Speed(5e-6, 4e9),
    "Conv3DBackpropInputV2": Speed(5e-6, 1.5e10),
    "MatMul": Speed(1e-5, 1e11, 1e15, 5.8e9),
    "_FusedMatMul": Speed(2e-5, 1e11, 1e15, 7e9),
    "BatchMatMulV2": Speed(1e-5, 2.4e10),
    "Einsum": Speed(2e-5, 4e10),
    "SparseSoftmaxCrossEntropyWithLogits": Speed(5e-6, memory=1.4e9),
    "BatchMatMulV3": Speed(1e-5, 2.4e10),
    "DepthwiseConv2dNative": Speed(8e-4, 2e10),
    "DepthwiseConv2dNativeBackpropInput": Speed(1.2e-3, 1e15, 1e15, 4.7e9),
    "DepthwiseConv2dNativeBackpropFilter": Speed(1.2e-3, 1.35e10),
    **{op: Speed(memory=2e9) for op in ("MaxPoolGrad", "SelectV2", "UnsortedSegmentSum")},
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
        op: Speed(5e-6, memory=8e9)
        for op in ("Sum", "Mean", "Transpose", "BiasAddGrad", "MaxPool", "BiasAdd", "SquaredDifference", "Tile")
    },
    **{op: Speed(memory=8e9) for op in ("AssignAddVariableOp", "AssignSubVariableOp", "GreaterEqual", "Sub")},
    **{op: Speed(memory=4e9) for op in ("Softmax", "Erf", "Erfc", "Exp", "Tanh", "Sigmoid", "Pow", "Log", "Log1p")},
}


ONEDNN = Speed(5e-6, 1.2e11, 1e15, 1.5e10)


def speed(op: str) -> Speed:
    if machine.onednn() and op.startswith(("Conv", "_FusedConv", "Depthwise")):
        return ONEDNN
    return SPEEDS.get(op, DEFAULT)
