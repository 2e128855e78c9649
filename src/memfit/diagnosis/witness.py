"""What only a living exception knows: the model, the layer, the arrays and the batch size on its stack."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Any

from memfit.diagnosis.reading import Reading, read
from memfit.diagnosis.stack import Frame
from memfit.diagnosis.text import clean


@dataclass(frozen=True)
class Testimony:
    """`arguments` are those of the Keras call that was running, such as `fit`."""

    stack: tuple[Frame, ...] = ()
    model: Any = None
    layer: Any = None
    arguments: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)


def read_exception(error: BaseException) -> tuple[Reading, Testimony]:
    """The reading of the error's text, completed by what stands on its stack."""
    text = clean("".join(traceback.format_exception_only(error)))
    testimony = hear(error)
    reading = read(_as_trace(testimony.stack) + text)
    batch = testimony.arguments.get("batch_size")
    if batch is None and _is_array(testimony.arguments.get("x")):
        batch = 32  # Keras's default
    return replace(
        reading,
        kind=reading.kind or ("python" if isinstance(error, MemoryError) else ""),
        layer=reading.layer or (None if testimony.layer is None else str(testimony.layer.name)),
        layer_class=reading.layer_class or (None if testimony.layer is None else type(testimony.layer).__name__),
        batch=reading.batch if batch is None else int(batch),
        samples={name: len(value) for name, value in testimony.arrays.items()},
    ), testimony


def hear(error: BaseException) -> Testimony:
    """Keras cuts its own frames out of a traceback, but each frame still knows who called it."""
    frames = list(_frames(error))
    raised_at = _lines(error)
    model = layer = None
    arguments: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for frame in frames:
        own = frame.f_locals.get("self")
        if _is_a(own, "Layer"):
            layer = own
        if _is_a(own, "Trainer") and frame.f_code.co_name in ("fit", "evaluate", "predict", "train_on_batch"):
            model = own
            arguments = {name: frame.f_locals.get(name) for name in ("x", "y", "batch_size", "validation_data")}
        if _frame(frame, raised_at).of_the_user:
            arrays |= {name: value for name, value in frame.f_locals.items() if _is_array(value) and name[0] != "_"}
            model = model or next((value for value in frame.f_locals.values() if _is_a(value, "Trainer")), None)
    layer = None if layer is model or _is_a(layer, "Trainer") else layer
    return Testimony(tuple(_frame(frame, raised_at) for frame in frames), model, layer, arguments, arrays)


def _frames(error: BaseException) -> Iterator[FrameType]:
    """Outermost first, from the program's beginning to the call that raised."""
    trace = error.__traceback__
    if trace is None:
        return
    while trace.tb_next is not None:
        trace = trace.tb_next
    frame: FrameType | None = trace.tb_frame
    frames = []
    while frame is not None:
        frames.append(frame)
        frame = frame.f_back
    yield from reversed(frames)


def _lines(error: BaseException) -> dict[FrameType, int]:
    """Where each frame of the traceback was when the error passed; the frame itself may have gone on."""
    return dict(traceback.walk_tb(error.__traceback__))


def _frame(frame: FrameType, raised_at: dict[FrameType, int]) -> Frame:
    file, line = frame.f_code.co_filename, raised_at.get(frame, frame.f_lineno)
    return Frame(file, line, frame.f_code.co_name, linecache.getline(file, line, frame.f_globals).strip())


def _as_trace(stack: tuple[Frame, ...]) -> str:
    lines = [f'  File "{frame.file}", line {frame.line}, in {frame.function}\n    {frame.code}\n' for frame in stack]
    return "Traceback (most recent call last):\n" + "".join(lines) if stack else ""


def _is_a(value: Any, name: str) -> bool:
    """By name, so that Keras is not imported for it."""
    return any(parent.__name__ == name and parent.__module__.startswith("keras.") for parent in type(value).__mro__)


def _is_array(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "nbytes") and len(value.shape) > 1
