"""Out of memory: recognised by type first and by text second, and read for what could not be had."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

from memfit.errors import Failure

_TEXTS = re.compile(
    r"OOM when allocating"
    r"|RESOURCE_EXHAUSTED: (?:Out of memory|OOM|failed to allocate)"
    r"|Out of memory while trying to allocate"
    r"|ran out of memory trying to allocate"
    r"|failed to allocate memory"
    r"|Failed to allocate request for"
    r"|CUDA out of memory"
    r"|CUDA_ERROR_OUT_OF_MEMORY"
    r"|HIP out of memory"
    r"|MPS backend out of memory"
    r"|DefaultCPUAllocator: (?:can't|not enough) (?:allocate )?memory"
    r"|Unable to allocate [\d.]+ \w+ for an array"
    r"|std::bad_alloc"
)
_ENGINE_ERRORS = (
    "ResourceExhaustedError",
    "XlaRuntimeError",
    "JaxRuntimeError",
    "OutOfMemoryError",
    "InternalError",
    "RuntimeError",
)

_TENSOR = re.compile(r"OOM when allocating tensor with shape\s?\[([\d,]*)\] and type (\S+) on (\S+) by allocator (\S+)")
_NODE = re.compile(r"\{\{node ([^}]+)\}\}")
_DETECTED = re.compile(r"Detected at node '?([^\s']+)'? defined at")
_EAGER_OP = re.compile(r"\[Op:([^\]]+)\]")
_DUMP = re.compile(
    r"Allocator \(([^)]+)\) ran out of memory trying to allocate [\d.]+\s?\w+ \(rounded to (\d+)\)\s?"
    r"requested by op ?([^\n]*)"
)
_STATS = re.compile(r"Limit:\s+([\d.]+\s?\w*)\s+InUse:\s+([\d.]+\s?\w*)")
_NUMPY = re.compile(r"Unable to allocate ([\d.]+ \w+) for an array with shape \(([\d, ]*)\) and data type (\S+)")
_AMOUNT = re.compile(r"(?:trying|[Tt]ried) to allocate ([\d.]+\s?\w+)")

_WIDTHS = {"half": 2, "bfloat16": 2, "float": 4, "double": 8, "int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2}
_WIDTHS |= {"int32": 4, "uint32": 4, "int64": 8, "uint64": 8, "complex64": 8, "complex128": 16}
_NAMES = {"half": "float16", "float": "float32", "double": "float64"}
_UNITS = {"": 1, "B": 1, "bytes": 1} | {f"{u}iB": 1024**p for p, u in enumerate("KMGTPE", 1)}
_UNITS |= {f"{u}B": 1000**p for p, u in enumerate("KMGTPE", 1)}


def is_out_of_memory(error: BaseException) -> bool:
    """Is `error` the report of memory that could not be had? Unknown errors are not."""
    if isinstance(error, MemoryError):
        return True
    tensorflow = sys.modules.get("tensorflow.python.framework.errors_impl")
    if tensorflow is not None and isinstance(error, tensorflow.ResourceExhaustedError):
        return True
    from_engine = any(parent.__name__ in _ENGINE_ERRORS for parent in type(error).__mro__)
    return from_engine and _TEXTS.search(str(error)) is not None


def mentions_out_of_memory(text: str) -> bool:
    return _TEXTS.search(text) is not None


def read_failure(text: str) -> Failure:
    """What an error's text or a log says of the allocation that failed last. What it does not say is None."""
    failure = Failure()
    for read in (_read_dump, _read_stats, _read_amount, _read_numpy, _read_op, _read_tensor):
        failure = read(text, failure)
    return failure


def _read_dump(text: str, failure: Failure) -> Failure:
    if not (found := _DUMP.findall(text)):
        return failure
    allocator, size, op = found[-1]
    return replace(failure, allocator=allocator, bytes=int(size), op=op.strip() or None)


def _read_stats(text: str, failure: Failure) -> Failure:
    if not (found := _STATS.findall(text)):
        return failure
    limit, in_use = found[-1]
    return replace(failure, limit=_bytes(limit), in_use=_bytes(in_use))


def _read_amount(text: str, failure: Failure) -> Failure:
    if failure.bytes is not None or not (found := _AMOUNT.findall(text)):
        return failure
    return replace(failure, bytes=_bytes(found[-1]))


def _read_numpy(text: str, failure: Failure) -> Failure:
    if not (found := _NUMPY.findall(text)):
        return failure
    amount, shape, dtype = found[-1]
    return replace(failure, bytes=_bytes(amount), shape=_shape(shape), dtype=dtype, allocator="numpy")


def _read_op(text: str, failure: Failure) -> Failure:
    found = _NODE.findall(text) or _DETECTED.findall(text) or _EAGER_OP.findall(text)
    return replace(failure, op=found[-1]) if found else failure


def _read_tensor(text: str, failure: Failure) -> Failure:
    if not (found := _TENSOR.findall(text)):
        return failure
    shape_text, dtype, device, allocator = found[-1]
    shape = _shape(shape_text)
    size = _WIDTHS.get(dtype)
    for dimension in shape:
        size = None if size is None else size * dimension
    return replace(
        failure,
        shape=shape,
        dtype=_NAMES.get(dtype, dtype),
        bytes=size if size is not None else failure.bytes,
        device=device,
        allocator=allocator,
    )


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace(" ", "").split(",") if part)


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"([\d.]+)\s?(\w*)", text.strip())
    unit = _UNITS.get(match[2]) if match else None
    return int(float(match[1]) * unit) if match and unit else None
