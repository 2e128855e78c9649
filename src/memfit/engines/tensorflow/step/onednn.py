"""Which operations run as oneDNN's kernels, which TensorFlow puts in after Grappler where they serve the type."""

from __future__ import annotations

import tensorflow as tf

from memfit.engines.tensorflow.step import machine
from memfit.engines.tensorflow.step.shapes import Shape

FORWARD = frozenset(["Conv2D", "_FusedConv2D", "Conv3D", "_FusedConv3D"])
TO_INPUT = frozenset(["Conv2DBackpropInput", "Conv3DBackpropInputV2"])
TO_FILTER = frozenset(["Conv2DBackpropFilter", "Conv3DBackpropFilterV2"])
DEPTHWISE = frozenset(["DepthwiseConv2dNative", "_FusedDepthwiseConv2dNative", "DepthwiseConv2dNativeBackpropInput"])
DEPTHWISE_TO_FILTER = frozenset(["DepthwiseConv2dNativeBackpropFilter"])
PRODUCTS = frozenset(["MatMul", "_FusedMatMul", "BatchMatMulV2", "BatchMatMulV3"])
POOLS = frozenset(["MaxPool", "MaxPoolGrad", "MaxPool3D", "MaxPool3DGrad"])
OPERATIONS = FORWARD | TO_INPUT | TO_FILTER | DEPTHWISE | DEPTHWISE_TO_FILTER | PRODUCTS | POOLS


def runs(op: str, outputs: list[Shape]) -> bool:
    return op in OPERATIONS and machine.onednn() and serves(outputs[0].dtype)


def serves(dtype: int) -> bool:
    """Whether oneDNN has kernels for this type on this processor."""
    if dtype == tf.bfloat16.as_datatype_enum:
        return machine.has("avx512f") or machine.has("avx_ne_convert")
    if dtype == tf.float16.as_datatype_enum:
        wide = machine.has("avx512bw") and (machine.has("avx512_fp16") or machine.has("amx_fp16"))
        return wide or machine.has("avx_ne_convert")
    return bool(dtype == tf.float32.as_datatype_enum)
