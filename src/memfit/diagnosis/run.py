"""The call: explain an exception, a text or a log file."""

from __future__ import annotations

import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from memfit.diagnosis.causes import Cause, rank
from memfit.diagnosis.reading import Reading, read
from memfit.diagnosis.result import Diagnosis, Source
from memfit.diagnosis.text import clean, printable, read_stream
from memfit.diagnosis.witness import read_exception
from memfit.errors import BadInput, Failure, MemfitError, UsageError
from memfit.estimation.result import Estimate
from memfit.remedies import Situation, fixes
from memfit.sizes import format_size

LIKELY = 0.3
_ROUNDING = 256
_Error = TypeVar("_Error", bound=BaseException)


def explain(what: BaseException | str | bytes | os.PathLike[str], *, model: Any = None) -> Diagnosis:
    """Why did it fail?

    Args:
        what: An exception, the text of a message or log, or the path to a log file of any size.
        model: The compiled `keras.Model` that was trained: the fixes then say what each saves, in bytes.
    """
    if isinstance(what, BaseException):
        reading, testimony = read_exception(what)
        return diagnose(reading, model, known=testimony.model)
    if isinstance(what, os.PathLike) or (isinstance(what, str) and _is_a_file(what)):
        return explain_log(Path(what), model=model)
    if not isinstance(what, str | bytes):
        raise UsageError(f"explain takes an exception, a text or a path. Received: a {type(what).__name__}")
    if isinstance(what, str) and _looks_like_a_path(what):
        raise BadInput(f"there is no file {what!r}")
    return diagnose(read(clean(what)), model)


def explain_log(path: Path, *, model: Any = None) -> Diagnosis:
    try:
        with path.open("rb") as stream:
            return diagnose(read(read_stream(stream)), model)
    except OSError as error:
        raise BadInput(f"cannot read {str(path)!r}: {error.strerror}") from error


def explained(error: _Error, cause: BaseException | None = None, *, model: Any = None) -> _Error:
    """The same error, carrying the explanation of its cause: as `.memfit`, and as a note below its stack trace."""
    diagnosis = explain(cause or error, model=model)
    error.memfit = diagnosis  # type: ignore[attr-defined]
    error.add_note(f"\nmemfit: {diagnosis}")
    return error


def foreseen(text: str, estimate: Estimate, budget: int) -> Diagnosis:
    """What an estimate says of a step that was not tried: one sample is too much, or the model itself."""
    own = 2 * estimate.by_kind["weights"] + estimate.by_kind["optimizer"]  # with the weights' gradients
    cause = "model_too_large" if 2 * own > estimate.peak else "activation_too_large"
    situation = Situation(causes=(cause,), batch=estimate.batch_size, budget=budget, estimate=estimate)
    layer = next((name for name, _ in estimate.by_layer if not name.startswith("(")), None)
    return Diagnosis(cause, 0.9, [text], fixes(situation), layer=layer, limit=budget)


def diagnose(reading: Reading, model: Any = None, *, known: Any = None) -> Diagnosis:
    """From what was read to causes and fixes."""
    reading = _with_model(reading, model if model is not None else known)
    if not reading.kind:
        return Diagnosis("unknown", 1.0, [_instead(reading)], [], source=_source(reading))
    causes = [replace(cause, evidence=printable(cause.evidence)) for cause in rank(reading)]
    situation = _situation(reading, causes, model)
    failure = reading.failure
    return Diagnosis(
        cause=causes[0].name if causes else "unknown",
        confidence=causes[0].confidence if causes else 0.0,
        evidence=_evidence(reading, causes),
        fixes=fixes(situation),
        **_printed(failure),
        layer=None if reading.layer is None else printable(reading.layer),
        phase=reading.phase,
        source=_source(reading),
        causes=causes,
        missing=_missing(reading),
    )


def _situation(reading: Reading, causes: list[Cause], model: Any) -> Situation:
    failure = reading.failure
    batch = reading.batch
    if batch is None and failure.shape and reading.phase in ("forward", "backward"):
        batch = failure.shape[0]
    return Situation(
        causes=tuple(cause.name for cause in causes if cause.confidence >= LIKELY),
        call=printable(reading.call),
        phase=reading.phase,
        shape=failure.shape,
        dtype=failure.dtype,
        bytes=failure.bytes,
        layer=reading.layer,
        batch=batch,
        budget=failure.limit,
        on_gpu=any(word in f"{failure.device} {failure.allocator}" for word in ("GPU", "CUDA", "gpu_async")),
        estimate=_estimate(model, batch),
    )


def _estimate(model: Any, batch: int | None) -> Estimate | None:
    if model is None or batch is None:
        return None
    from memfit.estimation.run import estimate

    try:
        return estimate(model, batch)
    except MemfitError:  # savings in bytes are a bonus: the diagnosis does without
        return None


def _with_model(reading: Reading, model: Any) -> Reading:
    """The layer's own name, where the model that has it is at hand."""
    if model is None or not reading.failure.op:
        return reading
    from memfit.models.names import layer_names

    parts = [part for part in reading.failure.op.split("/") if part]
    paths = {part for index in range(len(parts)) for part in ("/".join(parts[: index + 1]), parts[index])}
    plain = paths | {path.removesuffix("_1") for path in paths}
    own = [name for name in layer_names(model).values() if name.rpartition("/")[2] in plain]
    return replace(reading, layer=max(own, key=len)) if own else reading


def _evidence(reading: Reading, causes: list[Cause]) -> list[str]:
    evidence = [causes[0].evidence] if causes else ["memory ran out, but nothing in the text says for what"]
    failure = reading.failure
    if failure.in_use is not None and failure.limit is not None and failure.bytes is not None:
        short = failure.in_use + failure.bytes - failure.limit
        if short > 0:
            evidence.append(f"truly full: {format_size(short)} more were needed than there were")
    evidence += _checked(reading)
    evidence += [cause.evidence for cause in causes[1:3]]
    return list(dict.fromkeys(evidence))


def _checked(reading: Reading) -> list[str]:
    """Is the tensor that was named as large as what the allocator was asked for?"""
    failure, asked = reading.failure, reading.requested
    if failure.shape is None or failure.bytes is None or asked is None:
        return []
    tensor = f"{list(failure.shape)} of {failure.dtype} is {format_size(failure.bytes)}"
    if 0 <= asked - failure.bytes < _ROUNDING:
        return [f"{tensor}, which is what the allocator was asked for"]
    return [f"{tensor}, but the allocator's last dump is about another request, of {format_size(asked)}"]


def _missing(reading: Reading) -> list[str]:
    failure = reading.failure
    if reading.kind == "killed":
        return ["which allocation was too much (the kernel does not say)"]
    absent = [
        (failure.bytes is None, "how much was asked for"),
        (failure.shape is None and reading.kind == "engine", "the tensor's shape"),
        (failure.op is None and reading.kind == "engine", "the op"),
        (failure.in_use is None and reading.kind == "engine", "what the allocator held (set TF_CPP_MIN_LOG_LEVEL=0)"),
        (reading.source is None, "the line of your program"),
    ]
    return [text for is_absent, text in absent if is_absent]


def _instead(reading: Reading) -> str:
    if reading.error is not None:
        return f"no memory error is told here; it ends with {printable(reading.error)}"
    return "no memory error is told here"


def _source(reading: Reading) -> Source | None:
    frame = reading.source
    return None if frame is None else Source(printable(frame.file), frame.line, printable(frame.code))


def _printed(failure: Failure) -> dict[str, Any]:
    names = [field.name for field in fields(Failure) if field.name not in ("layer", "how")]
    values = {name: getattr(failure, name) for name in names}
    return {name: printable(value) if isinstance(value, str) else value for name, value in values.items()}


def _looks_like_a_path(text: str) -> bool:
    return re.fullmatch(r"[\w./\\~:-]{1,400}\.(?:log|txt|out|err)", text) is not None


def _is_a_file(text: str) -> bool:
    try:
        return len(text) < 4096 and "\n" not in text and Path(text).is_file()
    except (OSError, ValueError):
        return False
