"""How fast kernels are relative to each other: only the order in which operations end depends on it.

Measured on two kinds of processors, with two threads: with AVX2 (Eigen's kernels, and oneDNN's where they are
switched on), and with AVX-512, where TensorFlow uses oneDNN's.
"""

from __future__ import annotations

from memfit.engines.tensorflow.step import machine, onednn
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.simulation.graph import Speed

EIGEN_DEFAULT = Speed(memory=3.3e10)
EIGEN = {
    "Conv2DBackpropFilter": Speed(5e-6, 1.47e11, 4.5e9, 2.7e10),
    "Conv2DBackpropInput": Speed(5e-6, 1.95e11, 2.6e10, 1.5e10),
    **dict.fromkeys(("Conv2D", "_FusedConv2D"), Speed(5e-6, 1.55e11, 2.4e10, 2.3e10)),
    "Conv3D": Speed(5e-6, 1.2e11, 1e10),
    "Conv3DBackpropFilterV2": Speed(3e-3, 1.7e10),
    "Conv3DBackpropInputV2": Speed(5e-4, 5e10),
    **dict.fromkeys(("MatMul", "_FusedMatMul"), Speed(1e-5, 1.6e11, 3.5e9, 1.5e10)),
    "BatchMatMulV2": Speed(1e-5, 2.4e10),
    "Einsum": Speed(2e-5, 5e10, 2.6e9),
    "SparseSoftmaxCrossEntropyWithLogits": Speed(5e-6, memory=1.4e9),
    "BatchMatMulV3": Speed(1e-5, 2.4e10),
    "DepthwiseConv2dNative": Speed(8e-4, 2e10),
    "DepthwiseConv2dNativeBackpropInput": Speed(1.2e-3, 1e15, 1e15, 4.7e9),
    "DepthwiseConv2dNativeBackpropFilter": Speed(1.2e-3, 1.35e10),
    **{op: Speed(memory=3.3e10, reads_all=False) for op in ("GatherV2", "ResourceGather", "Slice", "StridedSlice")},
    **{op: Speed(memory=3.3e9) for op in ("MaxPoolGrad", "MaxPool3D", "SelectV2", "UnsortedSegmentSum", "Softplus")},
    **{op: Speed(memory=6e9) for op in ("ResizeBilinear", "ResizeBilinearGrad", "TensorListStack")},
    **{op: Speed(memory=1e9) for op in ("SoftmaxCrossEntropyWithLogits", "ArgMax", "ImageProjectiveTransformV3")},
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

WIDE_DEFAULT = Speed(1.5e-6, memory=7e10)
WIDE = {
    "Conv2DBackpropFilter": Speed(2e-4, 2.2e11, memory=2.7e10),
    "Conv2DBackpropInput": Speed(6.5e-5, 2.4e11, memory=2.5e10),
    "Conv2D": Speed(7e-5, 2.35e11, memory=5.1e10),
    "_FusedConv2D": Speed(1e-4, 2.3e11, memory=6.4e10),
    "Conv3DBackpropFilterV2": Speed(2.4e-4, 2.25e11, memory=3.1e10),
    "Conv3DBackpropInputV2": Speed(1.2e-4, 2.4e11),
    **dict.fromkeys(("Conv3D", "_FusedConv3D"), Speed(1.1e-4, 2.4e11, memory=1.8e10)),
    "MatMul": Speed(6e-6, 2.4e11, 3e9, 3e10),
    "_FusedMatMul": Speed(3e-5, 2.3e11, memory=2.5e10),
    **dict.fromkeys(("BatchMatMulV2", "BatchMatMulV3"), Speed(7e-5, 2.7e11, memory=2.9e10)),
    "Einsum": Speed(1.4e-4, 1.7e11, memory=2.4e10),
    **dict.fromkeys(("DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative"), Speed(9e-5, 2.4e11, memory=3.9e10)),
    "DepthwiseConv2dNativeBackpropInput": Speed(9e-5, 1.1e11),
    "DepthwiseConv2dNativeBackpropFilter": Speed(compute=1.35e10),
    "MaxPoolGrad": Speed(8e-5, memory=9e10),
    "MaxPool3DGrad": Speed(5e-5, memory=6.4e10),
    "AvgPoolGrad": Speed(1e-4, memory=2.8e10),
    "BatchToSpaceND": Speed(2.4e-4, memory=6.5e10),
    **dict.fromkeys(("MaxPool", "MaxPool3D", "AvgPool"), Speed(5e-5, memory=4.3e10)),
    **dict.fromkeys(("Softmax", "_MklSwish"), Speed(6e-5, memory=3.3e10)),
    **dict.fromkeys(("Mean", "Sum", "Tile", "BiasAddGrad", "Transpose", "Square", "Sub"), Speed(2e-6, memory=3e10)),
    **dict.fromkeys(
        ("SquaredDifference", "Erfc", "Erf", "Sigmoid", "_UnaryOpsComposition"), Speed(5e-6, memory=2.1e10)
    ),
    **dict.fromkeys(("SelectV2", "Slice", "GatherV2", "AssignSubVariableOp"), Speed(3e-6, memory=2.3e10)),
    **dict.fromkeys(("BiasAdd", "AssignAddVariableOp", "ConcatV2", "Sqrt"), Speed(2e-6, memory=4e10)),
    **dict.fromkeys(
        ("UnsortedSegmentSum", "ResizeBilinear", "TensorListStack", "TensorListFromTensor"), Speed(memory=1.4e10)
    ),
    "ResizeBilinearGrad": Speed(memory=1e10),
    "Softplus": Speed(5e-5, memory=5.3e9),
    "SparseSoftmaxCrossEntropyWithLogits": Speed(2e-5, memory=3.7e9),
    **dict.fromkeys(("StatelessRandomUniformV2", "RandomUniform", "ArgMax"), Speed(memory=1.8e9)),
    **dict.fromkeys(("SoftmaxCrossEntropyWithLogits", "ImageProjectiveTransformV3"), Speed(memory=1.2e9)),
    **dict.fromkeys(("StatelessRandomNormalV2", "RandomStandardNormal"), Speed(2e-5, memory=7e8)),
}


def speed(op: str, outputs: list[Shape]) -> Speed:
    served = onednn.runs(op, outputs)
    if machine.wide() and (served or op not in onednn.OPERATIONS):
        return WIDE.get(op, WIDE_DEFAULT)
    return ONEDNN[op] if served and op in ONEDNN else EIGEN.get(op, EIGEN_DEFAULT)
