"""The part of a training in which memory ran out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from memfit.diagnosis.stack import Frame

Phase = Literal["building", "data", "input pipeline", "forward", "backward", "optimizer update", "evaluation"]

OPTIMIZERS = (
    r"(?:adam|adamw|adamax|nadam|sgd|rmsprop|adagrad|adadelta|adafactor|ftrl|lion|lamb|muon|optimizer"
    r"|loss_scale_optimizer|gradient_accumulation)"
)
_OPTIMIZER_OP = re.compile(rf"(?:^|/){OPTIMIZERS}(?:_\d+)?/|_(?:momentum|velocity)/", re.IGNORECASE)
_BACKWARD_OP = re.compile(r"(?:^|/)gradient(?:_tape|s)(?:_\d+)?/|transpose\(jvp")
_PIPELINE = re.compile(
    r"transformation with iterator|passed to \w{1,40}Dataset\w{0,4}:\d|Iterator::Root::|TensorSliceDataset"
)
_INITIALIZERS = re.compile(
    r"Stateless(?:Random|Truncated|Parameterized)|RandomUniform|TruncatedNormal|Initializer|VarHandle"
)
_DATA_OPS = ("_EagerConst", "Const", "Cast", "TensorSliceDataset", "TensorDataset")
_CONVERSIONS = {"constant", "convert_to_tensor", "convert_to_eager_tensor", "from_tensor_slices", "from_tensors"}


def phase_of(op: str, stack: Sequence[Frame], text: str) -> Phase | None:
    library = [frame for frame in stack if not frame.of_the_user]
    functions = {frame.function.rpartition(".")[2] for frame in stack}
    if functions & {"evaluate", "test_step", "predict", "predict_step", "test_function", "predict_function"}:
        return "evaluation"
    if _OPTIMIZER_OP.search(op) or any(re.search(r"[/\\]optimizers?[/\\]", frame.file) for frame in library):
        return "optimizer update"
    if _BACKWARD_OP.search(op) or (library and library[-1].function in ("gradient", "backward")):
        return "backward"
    if "transformation with iterator" in text or (not op and _PIPELINE.search(text)) or _called_back(library):
        return "input pipeline"
    return _before_the_step(op, stack, functions, text)


def _called_back(library: Sequence[Frame]) -> bool:
    """Is it a Python function that a data set's pipeline calls?"""
    return any("script_ops" in frame.file for frame in library)


def _before_the_step(op: str, stack: Sequence[Frame], functions: set[str], text: str) -> Phase | None:
    code = "\n".join(frame.code for frame in stack if frame.of_the_user)
    if (
        functions & _CONVERSIONS
        or op in _DATA_OPS
        or re.search(r"from_tensor|tf\.constant\(|convert_to_tensor\(", code)
    ):
        return "data"
    if _INITIALIZERS.search(op) or functions & {"add_weight", "build", "build_wrapper", "_initialize"}:
        return "building"
    if op and ("/" in op or "call" in functions or ".call()" in text or functions & {"fit", "train_step", "__call__"}):
        return "forward"
    return "forward" if functions & {"fit", "train_step"} or ".call()" in text else None
