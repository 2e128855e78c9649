"""What each kernel does with memory on a CPU: which input it reuses, which temporaries it takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from memfit.engines.tensorflow.step import onednn
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.simulation.graph import Kind

ALIASES = frozenset(
    """
    Identity Reshape ExpandDims Squeeze StopGradient PreventGradient IdentityN Bitcast EnsureShape CheckNumerics
    PlaceholderWithDefault RefIdentity Assign AssignAdd DestroyTemporaryVariable OptionalFromValue OptionalGetValue
    """.split()
)
CHEAP = frozenset(
    """
    Const Identity IdentityN Reshape ExpandDims Squeeze Shape ShapeN Rank Size NoOp Switch Merge Enter Exit
    NextIteration LoopCond VarHandleOp Placeholder StopGradient PreventGradient ControlTrigger BroadcastGradientArgs
    ConcatOffset _Arg _Retval
    """.split()
)
UNARY = frozenset(
    """
    Neg Exp Log Log1p Expm1 Sqrt Rsqrt Square Tanh Sigmoid Erf Abs Sign Sin Cos Floor Ceil Round Rint Reciprocal Inv
    LogicalNot Softplus Softsign Relu Relu6 Elu Selu LeakyRelu Softmax LogSoftmax ClipByValue ZerosLike OnesLike
    BiasAdd BiasAddV1 Erfinv Invert Erfc Snapshot Tan Atan Asin Acos Sinh Cosh Asinh Acosh Atanh Digamma Lgamma
    _UnaryOpsComposition Conj
    """.split()
)
BINARY = frozenset(
    """
    Add AddV2 Sub Mul RealDiv Div Maximum Minimum Pow SquaredDifference DivNoNan MulNoNan FloorMod FloorDiv Mod
    TruncateDiv Xdivy Xlogy Atan2 LogicalAnd LogicalOr BitwiseAnd BitwiseOr BitwiseXor RightShift LeftShift
    NextAfter SigmoidGrad TanhGrad SqrtGrad RsqrtGrad InvGrad ReciprocalGrad SoftplusGrad SoftsignGrad ReluGrad
    Relu6Grad EluGrad SeluGrad LeakyReluGrad Xlog1py TruncateMod
    """.split()
)
IN_PLACE = frozenset(
    """
    _FusedMulSub MatrixBandPart Cholesky MatrixInverse MatrixExponential MatrixSquareRoot MatrixLogarithm
    MaxPoolGradWithArgmax MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3
    """.split()
)
DECOMPOSITIONS = frozenset(["Qr", "Svd", "SelfAdjointEigV2"])  # any output of the matrix's shape takes its buffer
ALIGNED = 64  # bytes
REDUCTIONS = frozenset(["Sum", "Mean", "Max", "Min", "Prod", "All", "Any"])
KINDS = {
    "Switch": Kind.SWITCH,
    "RefSwitch": Kind.SWITCH,
    "Merge": Kind.MERGE,
    "RefMerge": Kind.MERGE,
    "Enter": Kind.ENTER,
    "RefEnter": Kind.ENTER,
    "Exit": Kind.EXIT,
    "RefExit": Kind.EXIT,
    "NextIteration": Kind.NEXT,
    "LoopCond": Kind.LOOP_COND,
    "Const": Kind.CONSTANT,
    "VarHandleOp": Kind.HANDLE,
    "ReadVariableOp": Kind.READ,
    "AssignVariableOp": Kind.ASSIGN,
    "AssignAddVariableOp": Kind.UPDATE,
    "AssignSubVariableOp": Kind.UPDATE,
    "NoOp": Kind.NOTHING,
    "Assert": Kind.NOTHING,
    "ControlTrigger": Kind.NOTHING,
    "_Retval": Kind.NOTHING,
}
LISTS = {
    "EmptyTensorList": "create",
    "TensorListReserve": "create",
    "TensorListPushBack": "push",
    "TensorListPopBack": "pop",
    "TensorListSetItem": "set",
    "TensorListGetItem": "get",
    "TensorListFromTensor": "unstack",
    "TensorListStack": "stack",
    "TensorListLength": "length",
    "TensorListElementShape": "small",
}
LISTS_OF_VARIANTS = {"ZerosLike": "zeros", "AddN": "add"}


@dataclass
class Call:
    """One node with the shapes around it."""

    op: str
    node: Any
    inputs: list[Shape]
    outputs: list[Shape]
    axes: set[int] | None = None  # that a reduction takes away or that a tensor is split along, where they are constant


def equation(call: Call) -> str:
    return str(call.node.attr["equation"].s.decode())


def kind(op: str) -> Kind:
    if op in ALIASES:
        return Kind.ALIAS
    if op in LISTS:
        return Kind.LIST
    if op.startswith(("ResourceScatter", "ResourceSparseApply", "ResourceGather")):
        return Kind.SPARSE if not op.startswith("ResourceGather") else Kind.COMPUTE
    if op.startswith("ResourceApply"):
        return Kind.UPDATE
    return KINDS.get(op, Kind.COMPUTE)


def same(a: Shape, b: Shape) -> bool:
    return a.dtype == b.dtype and a.elements == b.elements


def candidates(call: Call) -> tuple[tuple[int, ...], ...]:
    """For each output the inputs whose buffer it may take over."""
    wanted = _candidates(call)
    kept = []
    for output, inputs in zip(call.outputs, wanted, strict=False):
        kept.append(tuple(i for i in inputs if i < len(call.inputs) and same(call.inputs[i], output)))
    return tuple(kept)


def _candidates(call: Call) -> tuple[tuple[int, ...], ...]:
    op = call.op
    if op in UNARY:
        return ((0,),)
    if op in BINARY:
        return ((0, 1),)
    if op == "AddN":
        return (tuple(range(len(call.inputs))),)
    if op in ("Select", "SelectV2"):
        return ((1, 2),)
    if op in ("FusedBatchNormV3", "FusedBatchNormV2", "FusedBatchNorm"):
        return ((0,), (3,), (4,))
    if op in ("SparseSoftmaxCrossEntropyWithLogits", "SoftmaxCrossEntropyWithLogits"):
        return ((), (0,))
    if op == "MaxPoolGrad" and not onednn.runs(op, call.outputs):
        return ((0,),)
    if op in IN_PLACE:
        return ((0,),)
    if op in DECOMPOSITIONS:
        return tuple((0,) for _ in call.outputs)
    if op.startswith("TensorScatter"):  # of what it takes, the updates' buffer, not that of the tensor that it updates
        return ((2,),)
    return ()


def is_view(call: Call) -> bool:
    """Does the output share its input's buffer although the kernel is not always an alias?"""
    op = call.op
    if not call.inputs or not call.outputs:
        return False
    a, b = call.inputs[0], call.outputs[0]
    if op in REDUCTIONS:
        return a.dtype == b.dtype and a.elements == b.elements
    if op in ("Pad", "PadV2", "Tile", "BroadcastTo", "Cast", "MirrorPad"):
        return same(a, b)
    if op == "Transpose":
        return [d for d in a.dims if d != 1] == [d for d in b.dims if d != 1] and same(a, b) and identity_order(call)
    if op in ("StridedSlice", "Slice"):
        return not b.guessed and (same(a, b) or outermost(a, b))
    if op in ("ConcatV2", "AddN", "Pack"):
        return len(call.inputs) == (2 if op == "ConcatV2" else 1)
    return False


def parted(call: Call) -> int | None:
    """The input of which every output is a part, in its buffer: rows that begin where kernels want them to begin."""
    if call.op == "Unpack":
        whole, first = 0, call.node.attr["axis"].i == 0
    elif call.op in ("Split", "SplitV"):
        whole, first = int(call.op == "Split"), call.axes == {0}
    else:
        return None
    return whole if first and row_bytes(call.inputs[whole]) % ALIGNED == 0 else None


def identity_order(call: Call) -> bool:
    dims = [d for d in call.inputs[0].dims if d != 1]
    return len(set(dims)) == len(dims)


def outermost(a: Shape, b: Shape) -> bool:
    if not a.dims or not b.dims:
        return False
    rest = b.dims[1:] if len(b.dims) == len(a.dims) else b.dims
    return list(rest) == list(a.dims[1:]) and row_bytes(a) % ALIGNED == 0 and len(a.dims) > 1


def row_bytes(shape: Shape) -> int:
    return math.prod(shape.dims[1:]) * shape.width


POOLS = {"MaxPoolGrad": "MaxPool", "MaxPool3DGrad": "MaxPool3D"}
TEMPS_FIRST = frozenset(
    {
        "Einsum",
        "MaxPoolGrad",
        "Mean",
        "MirrorPadGrad",
        "SoftmaxCrossEntropyWithLogits",
        "SparseSoftmaxCrossEntropyWithLogits",
        "Sum",
    }
)
