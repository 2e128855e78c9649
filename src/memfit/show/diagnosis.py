"""A diagnosis: one line that says what happened, what speaks for it, and the lines to write."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from memfit.sizes import format_size

if TYPE_CHECKING:
    from memfit.diagnosis.result import Diagnosis
    from memfit.remedies.remedy import Fix

TITLES = {
    "batch_too_large": "the batch is too large",
    "dataset_in_one_tensor": "the whole data set sits in one tensor",
    "model_too_large": "the model's weights are too large",
    "activation_too_large": "one sample's activations are too large",
    "embedding_too_large": "an embedding's table is too large",
    "leak": "memory leaks from step to step or from training to training",
    "fragmentation": "memory is free, but in pieces too small",
    "device_shared": "somebody else holds the device's memory",
    "host_memory": "the machine's own memory is full",
    "optimizer_state": "the optimizer's state is too large",
    "wide_dtype": "float64 takes twice the memory",
    "evaluation_batch": "the batch is too large in evaluation",
    "unknown": "no cause was found",
}
EXACTNESS = {
    "exact": "the training stays the same",
    "numeric": "the same model in another precision",
    "model": "another training",
}
_SURE = ((0.85, "almost certain"), (0.6, "likely"), (0.0, "possible"))


def as_text(diagnosis: Diagnosis) -> str:
    lines = [headline(diagnosis), *facts(diagnosis), ""]
    lines += [f"  - {text}" for text in diagnosis.evidence if diagnosis.causes]
    others = [f"{cause.name} ({sureness(cause.confidence)})" for cause in diagnosis.causes[1:4]]
    lines += [f"also possible: {', '.join(others)}"] if others else []
    lines += [f"not told: {', '.join(diagnosis.missing)}"] if diagnosis.missing else []
    for number, fix in enumerate(diagnosis.fixes, start=1):
        lines += ["", *_fix_lines(number, fix)]
    return "\n".join(lines)


def as_html(diagnosis: Diagnosis) -> str:
    items = "".join(f"<li>{escape(text)}</li>" for text in diagnosis.evidence)
    fixes = "".join(
        f"<p><b>{escape(fix.remedy)}</b>: {escape(fix.why)} ({escape(gain(fix))})</p><pre>{escape(fix.code)}</pre>"
        for fix in diagnosis.fixes
    )
    head = escape(" ".join([headline(diagnosis), *facts(diagnosis)]))
    body = f"<p><b>{head}</b></p><ul>{items}</ul>{fixes}"
    return f"<div style='font-family:system-ui,sans-serif;max-width:46em'>{body}</div>"


def headline(diagnosis: Diagnosis) -> str:
    if diagnosis.cause == "unknown" and not diagnosis.causes:
        return f"{diagnosis.cause}: {diagnosis.evidence[0] if diagnosis.evidence else TITLES['unknown']}"
    return f"{diagnosis.cause}: {TITLES[diagnosis.cause]} ({sureness(diagnosis.confidence)})"


def facts(diagnosis: Diagnosis) -> list[str]:
    """What was asked for, where, and what the allocator held."""
    asked = "" if diagnosis.bytes is None else format_size(diagnosis.bytes)
    if diagnosis.shape is not None:
        asked += f" for {list(diagnosis.shape)} {diagnosis.dtype or ''}".rstrip()
    rows = [
        ("asked for", asked.strip()),
        ("by", _by(diagnosis)),
        ("in", diagnosis.phase or ""),
        ("at", "" if diagnosis.source is None else _line(diagnosis)),
        ("on", " ".join(part for part in (diagnosis.device, _paren(diagnosis.allocator)) if part)),
        ("held", _held(diagnosis)),
    ]
    return [f"  {name:<9} {text}" for name, text in rows if text]


def sureness(confidence: float) -> str:
    return next(word for least, word in _SURE if confidence >= least)


def gain(fix: Fix) -> str:
    saves = "" if fix.saves is None else f"saves {format_size(fix.saves)}; "
    return f"{saves}{EXACTNESS[fix.exactness]}"


def _fix_lines(number: int, fix: Fix) -> list[str]:
    return [
        f"{number}. {fix.remedy} ({gain(fix)})",
        f"   {fix.why}",
        *(f"     {line}" for line in fix.code.splitlines()),
    ]


def _by(diagnosis: Diagnosis) -> str:
    layer = f"layer {diagnosis.layer!r}" if diagnosis.layer else ""
    return ", ".join(part for part in (layer, f"op {diagnosis.op}" if diagnosis.op else "") if part)


def _line(diagnosis: Diagnosis) -> str:
    source = diagnosis.source
    assert source is not None
    return f"{source.file}, line {source.line}" + (f": {source.code}" if source.code else "")


def _held(diagnosis: Diagnosis) -> str:
    parts = [
        (diagnosis.in_use, "in use"),
        (diagnosis.limit, "at most"),
        (diagnosis.largest_free, "the largest free piece"),
    ]
    return ", ".join(f"{format_size(size)} {what}" for size, what in parts if size is not None)


def _paren(text: str | None) -> str:
    return f"({text})" if text else ""
