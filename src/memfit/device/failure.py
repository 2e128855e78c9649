"""What a text says of the allocation that failed: in the words of TensorFlow, NumPy, XLA, PyTorch or CUDA.

Every pattern begins with a literal and has bounded parts, so that reading takes time in proportion to the text.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable
from dataclasses import fields, replace

from memfit.errors import Failure

Reader = Callable[[str], tuple[int, Failure]]

_SIZE = r"[\d.]{1,24} ?[A-Za-z]{0,5}"
_TENSOR = re.compile(
    r"OOM when allocating tensor with shape ?\[([\d,]{0,200})\](?: and type (\w{1,20}))?"
    r"(?: on (\S{1,200}) by allocator (\w{1,80}))?"
)
_PROTO = re.compile(r"Cannot parse tensor from proto:[^\n]{0,80}\s{1,9}dtype: DT_(\w{1,12})\s{1,9}tensor_shape \{")
_DIMENSION = re.compile(r"size: (\d{1,15})")
_DUMP = re.compile(
    r"Allocator \(([^)\n]{1,80})\) ran out of memory trying to allocate [\d.]{1,12}\s?\w{1,4} "
    r"\(rounded to (\d{1,19})\)\s?(?:requested by op ?([^\n]{0,300}))?"
)
_STATS = re.compile(rf"Limit:\s{{1,40}}({_SIZE})\s{{1,9}}InUse:\s{{1,40}}({_SIZE})")
_FREE = re.compile(r"Free {1,2}at \w{1,20} (?:next \d{1,20} )?of size (\d{1,19})")
_POOL = re.compile(rf"memory_limit_: ?({_SIZE}) available size: ?({_SIZE})")
_ASYNC = re.compile(r"cuMemAllocAsync failed to allocate (\d{1,19})")
_ASYNC_NAME = re.compile(r"(\w{1,40}) $")
_NUMPY = re.compile(
    r"Unable to allocate (?:([\d.]{1,12} \w{1,5}) for an )?array with shape \(([\d, ]{0,200})\)"
    r" and data type (\S{1,40})"
)
_TORCH = re.compile(rf"(CUDA|HIP|MPS)(?: backend)? out of memory\b[^\n]{{0,400}}?[Tt]ried to allocate ({_SIZE})")
_TORCH_TOTAL = re.compile(rf"total capac?it?y of ({_SIZE})|; ({_SIZE}) total capacity")
_TORCH_USED = re.compile(rf"this process has ({_SIZE}) memory in use|; ({_SIZE}) already allocated")
_TORCH_CPU = re.compile(r"DefaultCPUAllocator: [^\n]{0,60}?tried to allocate (\d{1,19}) bytes")
_XLA = re.compile(
    r"(?:Out of memory (?:while trying to allocate|allocating)|Failed to allocate request for|Attempting to allocate)"
    rf" ({_SIZE})"
)
_XLA_BUFFER = re.compile(r"Shape: (\w{1,8})\[([\d,]{0,200})\]")
_XLA_OPERATOR = re.compile(r'op_name="([^"\n]{1,400})"')
_DRIVER = re.compile(r"failed to alloc(?:ate)? (?:[\d.]{1,12}\w{0,4} \()?(\d{1,19}) bytes\)? (?:from|on) (device|host)")
_NODE = re.compile(r"(?:\{\{|\[\[)[Nn]ode:? ([^}\s=\]]{1,300})")
_DETECTED = re.compile(r"Detected at node '?([^\s']{1,300})'? defined at")
_EAGER_OP = re.compile(r"\[Op:([^\]\n]{1,80})\]")
_WRAPPED_OP = re.compile(r"function_node __wrapped__(\w{1,60}?)_device_")

_WIDTHS = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16, "bool": 1}
_WIDTHS |= {f"{sign}int{bits}": bits // 8 for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NAMES = {"half": "float16", "float": "float32", "double": "float64", "pred": "bool", "bf16": "bfloat16"}
_NAMES |= {f"f{bits}": f"float{bits}" for bits in (16, 32, 64)} | {"c64": "complex64", "c128": "complex128"}
_NAMES |= {f"{sign}{bits}": f"{kind}{bits}" for sign, kind in (("s", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}
_UNITS = {"": 1, "B": 1, "bytes": 1} | {f"{u}iB": 1024**p for p, u in enumerate("KMGTPE", 1)}
_UNITS |= {f"{u}B": 1000**p for p, u in enumerate("KMGTPE", 1)} | {u: 1024**p for p, u in enumerate("KMGT", 1)}


def read_failure(text: str) -> Failure:
    """What an error's text or a log says of the allocation that failed last. What it does not say is None."""
    foreign = _told(text, (_read_numpy, _read_torch))
    own = _told(text, (_read_tensor, _read_proto, _read_xla, _read_async, _read_dump)) or _told(text, (_read_driver,))
    if foreign and (not own or foreign[0][0] > own[0][0]):
        return foreign[0][1]
    failure = own[0][1] if own else Failure()
    for _, other in own[1:]:
        failure = _completed(failure, other)
    return _with_stats(text, _with_op(text, failure))


def requested_bytes(text: str) -> int | None:
    """What the allocator was last asked for, by its own dump, rounded as it rounds."""
    at, dumped = _read_dump(text)
    return dumped.bytes if at >= 0 else None


def _told(text: str, readers: tuple[Reader, ...]) -> list[tuple[int, Failure]]:
    """What each reader finds, the last in the text first."""
    found = [read(text) for read in readers]
    return sorted((one for one in found if one[0] >= 0), key=lambda one: -one[0])


def _completed(failure: Failure, other: Failure) -> Failure:
    """`failure` with what `other` knows, if both tell of the same allocation."""
    size, other_size = failure.bytes or 0, other.bytes or 0
    if abs(size - other_size) > max(512, size // 100):
        return failure
    missing = {f.name: getattr(other, f.name) for f in fields(Failure) if getattr(failure, f.name) is None}
    return replace(failure, **missing)


def _read_tensor(text: str) -> tuple[int, Failure]:
    at, match = _last(_TENSOR, text)
    if match is None:
        return -1, Failure()
    shape, dtype, device, allocator = match.groups()
    return at, _tensor(_shape(shape), dtype, device=device, allocator=allocator)


def _read_proto(text: str) -> tuple[int, Failure]:
    """What Keras's optimizer says when its slots cannot be had: a constant that could not be made."""
    at, match = _last(_PROTO, text)
    if match is None:
        return -1, Failure()
    dimensions = _DIMENSION.findall(text[match.end() : match.end() + 400])
    return at, _tensor(tuple(map(int, dimensions)), match[1].lower())


def _read_numpy(text: str) -> tuple[int, Failure]:
    at, match = _last(_NUMPY, text)
    if match is None:
        return -1, Failure()
    exact = _tensor(_shape(match[2]), match[3], allocator="numpy")
    return at, exact if exact.bytes is not None else replace(exact, bytes=_bytes(match[1] or ""))


def _read_torch(text: str) -> tuple[int, Failure]:
    at, match = _last(_TORCH, text)
    if match is None:
        at, on_cpu = _last(_TORCH_CPU, text)
        return at, Failure() if on_cpu is None else Failure(bytes=int(on_cpu[1]), device="CPU", allocator="torch")
    rest = text[match.start() : match.start() + 1000]
    total, used = _TORCH_TOTAL.search(rest), _TORCH_USED.search(rest)
    return at, Failure(
        bytes=_bytes(match[2]),
        device=_torch_device(match[1], rest),
        allocator="torch",
        limit=_bytes(total[1] or total[2]) if total else None,
        in_use=_bytes(used[1] or used[2]) if used else None,
    )


def _torch_device(kind: str, rest: str) -> str:
    number = re.search(r"GPU (\d{1,3})\b", rest)
    return f"{kind}:{number[1]}" if number else kind


def _read_xla(text: str) -> tuple[int, Failure]:
    at, match = _last(_XLA, text)
    if match is None:
        return -1, Failure()
    rest = text[match.end() : match.end() + 4000]
    failure = Failure(bytes=_bytes(match[1].rstrip(".")))
    buffer, operator = _XLA_BUFFER.search(rest), _XLA_OPERATOR.search(rest)
    if buffer is not None and failure.bytes:
        largest = _tensor(_shape(buffer[2]), buffer[1])
        if largest.bytes is not None and abs(largest.bytes - failure.bytes) <= failure.bytes // 50:
            failure = replace(largest, op=operator[1] if operator else None)
    return at, failure


def _read_async(text: str) -> tuple[int, Failure]:
    at, match = _last(_ASYNC, text)
    if match is None:
        return -1, Failure()
    name = _ASYNC_NAME.search(text[max(at - 41, 0) : at])
    return at, Failure(bytes=int(match[1]), allocator=name[1] if name else None)


def _read_dump(text: str) -> tuple[int, Failure]:
    at, match = _last(_DUMP, text)
    if match is None:
        return -1, Failure()
    return at, Failure(bytes=int(match[2]), allocator=match[1], op=_plain((match[3] or "").strip()) or None)


def _read_driver(text: str) -> tuple[int, Failure]:
    at, match = _last(_DRIVER, text)
    return at, Failure() if match is None else Failure(bytes=int(match[1]), device=f"CUDA {match[2]}")


def _with_op(text: str, failure: Failure) -> Failure:
    nodes = [name for name in _NODE.findall(text) + _DETECTED.findall(text) if not name.startswith("Iterator")]
    named = [name for name in nodes if "PartitionedCall" not in name] or nodes
    eager = [name for name in _WRAPPED_OP.findall(text) + _EAGER_OP.findall(text) if not name.startswith("__inf")]
    op = _plain(named[-1]) if named else (eager[-1] if eager else None)
    return replace(failure, op=op) if op else failure


def _with_stats(text: str, failure: Failure) -> Failure:
    """What the allocator held, from the last dump."""
    if (stats := _last(_STATS, text)[1]) is not None:
        failure = replace(failure, limit=_bytes(stats[1]), in_use=_bytes(stats[2]))
    pieces = [int(size) for size in _FREE.findall(text, max(text.rfind("Current allocation summary"), 0))]
    pool = _last(_POOL, text)[1]
    if pool is not None:
        pieces.append(_bytes(pool[2]) or 0)
    return replace(failure, largest_free=max(pieces)) if pieces else failure


def _last(pattern: re.Pattern[str], text: str) -> tuple[int, re.Match[str] | None]:
    last = deque(pattern.finditer(text), maxlen=1)
    return (last[0].start(), last[0]) if last else (-1, None)


def _plain(op: str) -> str:
    while op.startswith("StatefulPartitionedCall/"):
        op = op.removeprefix("StatefulPartitionedCall/")
    return op


def _tensor(
    shape: tuple[int, ...], dtype: str | None, *, device: str | None = None, allocator: str | None = None
) -> Failure:
    name = _NAMES.get(dtype, dtype) if dtype else None
    width = _WIDTHS.get(name) if name else None
    size = None if width is None else math.prod(shape) * width
    return Failure(shape=shape, dtype=name, bytes=size, device=device, allocator=allocator)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.replace(" ", "").split(",") if part)


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"(\d+(?:\.\d*)?)\s?(\w*)", text.strip())
    unit = _UNITS.get(match[2]) if match else None
    return int(float(match[1]) * unit) if match and unit else None
