"""From facts to causes: each rule looks for one, and says what speaks for it and how strongly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memfit.diagnosis.reading import Reading
from memfit.sizes import format_size

MANY = 1000  # samples; more in one tensor outside of a step is taken for a data set
_TABLE = 5000  # times as many rows as columns: no layer but an embedding has such weights
_WIDE = ("float64", "complex128")


@dataclass(frozen=True)
class Cause:
    """`confidence` is between 0 and 1."""

    name: str
    confidence: float
    evidence: str


Rule = Callable[[Reading], Cause | None]


def rank(reading: Reading) -> list[Cause]:
    """The causes that something speaks for, the surest first."""
    found = [cause for rule in RULES for cause in [rule(reading)] if cause is not None]
    return sorted(found, key=lambda cause: -cause.confidence)


def host_memory(reading: Reading) -> Cause | None:
    if reading.kind == "killed":
        return Cause(
            "host_memory", 0.9, "the system killed the process (exit 137): the machine or its container was full"
        )
    if reading.kind == "numpy":
        size = format_size(reading.failure.bytes or 0)
        return Cause("host_memory", 0.9, f"NumPy asked the machine itself for {size} and did not get it")
    if reading.kind == "python":
        return Cause("host_memory", 0.85, "Python itself got no memory from the machine")
    if reading.failure.allocator in ("cpu", "mklcpu", "cuda_host_bfc", "gpu_host_bfc") or _on_host(reading):
        return Cause("host_memory", 0.5, f"the allocator {reading.failure.allocator!r} takes the machine's own memory")
    return None


def device_shared(reading: Reading) -> Cause | None:
    if reading.sharing:
        return Cause("device_shared", 0.9, "; ".join(reading.sharing[:3]))
    failure, total = reading.failure, reading.device_total
    if total and failure.in_use is not None and failure.bytes and failure.in_use + failure.bytes < 0.6 * total:
        held = f"this process held {format_size(failure.in_use)} of a device with {format_size(total)}"
        return Cause("device_shared", 0.75, f"{held}: somebody else has the rest")
    return None


def fragmentation(reading: Reading) -> Cause | None:
    failure = reading.failure
    if None in (failure.in_use, failure.limit, failure.bytes) or reading.sharing:
        return None
    free = (failure.limit or 0) - (failure.in_use or 0)
    if free < (failure.bytes or 0) or (failure.largest_free or 0) >= (failure.bytes or 0):
        return None
    largest = "" if failure.largest_free is None else f", the largest piece {format_size(failure.largest_free)}"
    sure = 0.6 if failure.largest_free is None else 0.93
    return Cause(
        "fragmentation",
        sure,
        f"{format_size(free)} were free{largest}; {format_size(failure.bytes or 0)} were asked for",
    )


def leak(reading: Reading) -> Cause | None:
    progress = reading.progress
    if progress.rising:
        first, last = format_size(progress.rising[0]), format_size(progress.rising[-1])
        return Cause("leak", 0.95, f"memory rose from {first} to {last} over {len(progress.rising)} printed values")
    if reading.phase == "building" and progress.finished >= 2:
        return Cause(
            "leak", 0.92, f"a model was being built after {progress.finished} trainings had finished in this process"
        )
    if reading.kind and (progress.epoch or 0) >= 3 and reading.kind != "numpy":
        return Cause("leak", 0.4, f"it failed in epoch {progress.epoch}, on steps that had fitted before")
    return None


def optimizer_state(reading: Reading) -> Cause | None:
    if reading.phase != "optimizer update":
        return None
    return Cause("optimizer_state", 0.9, f"the failed op belongs to the optimizer{_op(reading)}")


def wide_dtype(reading: Reading) -> Cause | None:
    dtype = reading.failure.dtype
    if dtype not in _WIDE:
        return None
    sure = 0.6 if reading.kind == "numpy" else 0.88
    half = format_size((reading.failure.bytes or 0) // 2)
    return Cause("wide_dtype", sure, f"the tensor is {dtype}: half as wide it would take {half}")


def evaluation_batch(reading: Reading) -> Cause | None:
    if reading.phase != "evaluation":
        return None
    return Cause(
        "evaluation_batch", 0.9, f"it happened in evaluation or prediction, not in a training step{_op(reading)}"
    )


def dataset_in_one_tensor(reading: Reading) -> Cause | None:
    failure = reading.failure
    first = failure.shape[0] if failure.shape else 0
    named = [name for name, length in reading.samples.items() if length == first and first != reading.batch]
    if first and named:
        return Cause(
            "dataset_in_one_tensor", 0.92, f"the first dimension, {first}, is the length of {named[0]}: all samples"
        )
    if reading.kind == "engine" and failure.shape is None and failure.op is None and reading.crashed:
        return Cause(
            "dataset_in_one_tensor", 0.85, "TensorFlow died while it copied an array that belongs to no op: data"
        )
    if reading.phase == "data" and (first == 0 or first >= MANY or failure.op == "_EagerConst"):
        return Cause("dataset_in_one_tensor", 0.9, f"an array{_of(first)} was being put into TensorFlow whole")
    if first >= MANY and reading.phase in ("forward", None) and reading.kind == "engine" and not _in_a_step(reading):
        return Cause(
            "dataset_in_one_tensor", 0.75, f"a tensor{_of(first)} outside of any training step: all samples at once"
        )
    return None


def embedding_too_large(reading: Reading) -> Cause | None:
    failure = reading.failure
    if not failure.shape or len(failure.shape) != 2 or failure.shape[0] == reading.batch or not _weight_like(reading):
        return None
    words = " ".join([failure.op or "", reading.layer or "", reading.layer_class or "", reading.code]).lower()
    rows, width = failure.shape
    if "embed" in words or "gather" in (failure.op or "").lower() or rows >= _TABLE * width:
        return Cause(
            "embedding_too_large", 0.9, f"the tensor {list(failure.shape)} is an embedding's table, or its gradient"
        )
    return None


def model_too_large(reading: Reading) -> Cause | None:
    if reading.phase == "building":
        return Cause("model_too_large", 0.86, f"it happened while weights were being made{_op(reading)}")
    if reading.phase == "backward" and _weight_like(reading):
        shape = list(reading.failure.shape or ())
        return Cause("model_too_large", 0.7, f"{shape} has no batch dimension: it is the gradient of a weight")
    return None


def batch_or_activation(reading: Reading) -> Cause | None:
    failure = reading.failure
    if reading.kind != "engine" or reading.phase in ("building", "data", "optimizer update", "evaluation"):
        return None
    if not failure.shape:
        return (
            Cause("batch_too_large", 0.45, "a training step asked for more than was left")
            if _in_a_step(reading)
            else None
        )
    batch = failure.shape[0]
    one = (failure.bytes or 0) // max(batch, 1)
    if batch <= 2 or (failure.limit and one > failure.limit // 4):
        return Cause(
            "activation_too_large", 0.8, f"one sample's share of {list(failure.shape)} alone is {format_size(one)}"
        )
    if batch == reading.batch:
        return Cause(
            "batch_too_large", 0.87, f"the first dimension, {batch}, is the batch size: {format_size(one)} a sample"
        )
    sure = 0.3 if _weight_like(reading) else 0.65
    return Cause(
        "batch_too_large", sure, f"{list(failure.shape)}, {format_size(one)} a sample if {batch} is the batch size"
    )


RULES: tuple[Rule, ...] = (
    host_memory,
    device_shared,
    fragmentation,
    leak,
    optimizer_state,
    wide_dtype,
    evaluation_batch,
    dataset_in_one_tensor,
    embedding_too_large,
    model_too_large,
    batch_or_activation,
)


def _weight_like(reading: Reading) -> bool:
    """Is it shaped like a weight or its gradient, rather than like a batch of something?"""
    shape, op = reading.failure.shape or (), reading.failure.op or ""
    if reading.phase == "building":
        return True
    if reading.batch is not None:
        return reading.batch not in shape[:1] and (reading.phase == "backward" or "ReadVariableOp" in op)
    return "ReadVariableOp" in op or (len(shape) == 2 and "MatMul_1" in op)


def _in_a_step(reading: Reading) -> bool:
    names = {frame.function.rpartition(".")[2] for frame in reading.stack}
    return bool(names & {"fit", "train_step", "train_on_batch", "train_function", "one_step_on_data"}) or (
        ".fit(" in reading.code or reading.phase == "backward"
    )


def _on_host(reading: Reading) -> bool:
    return (reading.failure.device or "") in ("CPU", "CUDA host")


def _op(reading: Reading) -> str:
    return f" ({reading.failure.op})" if reading.failure.op else ""


def _of(first: int) -> str:
    return f" of {first:,} rows" if first else ""
