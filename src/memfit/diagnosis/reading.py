"""What a text, or an exception with its living stack, tells: the facts from which causes are told."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from memfit.device.failure import read_failure, requested_bytes
from memfit.device.oom import mentions_out_of_memory
from memfit.diagnosis.digest import digest
from memfit.diagnosis.phase import OPTIMIZERS, Phase, phase_of
from memfit.diagnosis.progress import Progress, read_progress
from memfit.diagnosis.sharing import read_sharing
from memfit.diagnosis.stack import TRACEBACK, Frame, frames
from memfit.errors import Failure

_KILLED = re.compile(
    r"Killed process \d{1,9}|oom[-_]kill|oom_reaper|OOM ?Killed|task \d{1,6}: Out Of Memory"
    r"|node running low on memory|exit(?:ed with)?(?: code| status)?:? 137\b|returned? 137\b"
    r"|(?m:^[^\n]{0,60}\bKilled\b[^\n]{0,120}$)|session crashed after using all available RAM|SIGKILL"
)
_CRASHED = re.compile(r"Segmentation fault|SIGSEGV|exit(?: code| status)?:? (?:139|134)\b|core dumped|Aborted")
_PYTHON = re.compile(r"(?m:^(?:\w{1,60}\.)?MemoryError\b)|std::bad_alloc|Cannot allocate memory")
_ERROR = re.compile(r"(?m:^((?:[\w.]{1,200}\.)?\w{1,80}(?:Error|Exception|Interrupt|Exit)\b(?::[^\n]{0,300})?)$)")
_LAYER = re.compile(r"calling layer ['\"]([^'\"\n]{1,200})['\"]")
_LAYER_CLASS = re.compile(r"Exception encountered when calling (\w{1,80})\.call\(\)")
_BATCH = re.compile(r"\bbatch_size ?= ?(\d{1,9}(?:_\d{3})*)\b|\.batch\((\d{1,9}(?:_\d{3})*)")
_OUTER = ("gradient_tape", "gradients")
_WRAPPING = re.compile(r"PartitionedCall|^p?jit\(")


@dataclass(frozen=True)
class Reading:
    """Facts only; what is not told is None or empty. `kind` is the sort of failure, "" where none is told."""

    failure: Failure = field(default_factory=Failure)
    requested: int | None = None
    kind: str = ""
    crashed: bool = False
    error: str | None = None
    stack: tuple[Frame, ...] = ()
    source: Frame | None = None
    phase: Phase | None = None
    layer: str | None = None
    layer_class: str | None = None
    batch: int | None = None
    samples: dict[str, int] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    sharing: tuple[str, ...] = ()
    device_total: int | None = None

    @property
    def call(self) -> str:
        """The user's own line that led there."""
        return next((frame.code for frame in self.stack if frame.of_the_user and "(" in frame.code), "")

    @property
    def code(self) -> str:
        return "\n".join(frame.code for frame in self.stack if frame.of_the_user)


def read(text: str) -> Reading:
    text = digest(text)
    failure = read_failure(text)
    stack = tuple(frames(_last_trace(text)))
    own = [frame for frame in stack if frame.of_the_user]
    kind = _kind(text, failure)
    phase = phase_of(failure.op or "", stack, text) if kind else None
    sharing, total = read_sharing(text)
    layer_class = _LAYER_CLASS.findall(text)
    named = _LAYER.findall(text)
    return Reading(
        failure=failure,
        requested=requested_bytes(text),
        kind=kind,
        crashed=_CRASHED.search(text) is not None,
        error=_last_error(text),
        stack=stack,
        source=_with_code(own[-1], own) if own else None,
        phase=phase,
        layer=named[-1] if named else layer_of_op(failure.op or ""),
        layer_class=layer_class[-1] if layer_class else None,
        batch=_batch(own),
        progress=read_progress(text),
        sharing=sharing,
        device_total=total,
    )


def layer_of_op(op: str) -> str | None:
    """The layer in an op's name: Keras 3 writes the model's and the layers' names with a suffix of "_1"."""
    parts = [part for part in op.split("/") if part and part not in _OUTER and not _WRAPPING.search(part)]
    if len(parts) < 2:
        return None
    if not parts[0].endswith("_1"):
        return parts[1] if len(parts) > 2 and not _is_optimizer(parts[0]) else None
    layers = []
    for part in parts[1:-1]:
        if not part.endswith("_1"):
            break
        layers.append(part.removesuffix("_1"))
    return "/".join(layers) or None


def _is_optimizer(part: str) -> bool:
    return re.fullmatch(OPTIMIZERS + r"(?:_\d+)?", part.lower()) is not None


def _kind(text: str, failure: Failure) -> str:
    """Where the memory ran out: "engine", "numpy", "python", "killed", or nowhere."""
    if failure.allocator == "numpy":
        return "numpy"
    if failure.bytes is not None or mentions_out_of_memory(text):
        return "python" if "std::bad_alloc" in text and failure.bytes is None else "engine"
    if _KILLED.search(text):
        return "killed"
    return "python" if _PYTHON.search(text) else ""


def _last_trace(text: str) -> str:
    """From the beginning of the last stack trace on, with what led to it; all of a text that has none."""
    begin = text.rfind(TRACEBACK)
    while begin > 0 and "above exception" in text[max(begin - 200, 0) : begin]:
        begin = text.rfind(TRACEBACK, 0, begin)
    return text[max(begin, 0) :]


def _last_error(text: str) -> str | None:
    found = _ERROR.findall(text[-200_000:])
    return found[-1] if found else None


def _with_code(frame: Frame, own: list[Frame]) -> Frame:
    """The frame with its line's text, which only another mention of the same line may have."""
    same = [other for other in own if (other.file, other.line) == (frame.file, frame.line) and other.code]
    return same[-1] if same else frame


def _batch(own: list[Frame]) -> int | None:
    found = _BATCH.findall("\n".join(frame.code for frame in own))
    return int((found[0][0] or found[0][1]).replace("_", "")) if found else None
