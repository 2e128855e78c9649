"""An estimate as a verdict, a table and a picture of the peak against the batch size."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from memfit.show.bars import bar_rows
from memfit.show.batches import batch_chart, batch_rows
from memfit.show.svg import stacked_bar
from memfit.sizes import format_size

if TYPE_CHECKING:
    from memfit.estimation.result import Estimate

LAYERS_SHOWN = 5
_STEPS = 5


def as_text(estimate: Estimate) -> str:
    kinds = sorted(((k, s) for k, s in estimate.by_kind.items() if s), key=lambda part: -part[1])
    lines = [
        verdict(estimate),
        "",
        "held at the peak, by kind",
        *bar_rows(kinds, estimate.peak),
        "",
        f"the {LAYERS_SHOWN} hungriest layers",
        *bar_rows(_layers(estimate), estimate.peak, name_width=44),
        "",
        "peak against batch size" + (f", with the budget of {format_size(estimate.budget)}" if estimate.budget else ""),
        *batch_rows(peaks(estimate), estimate.budget),
        *largest(estimate),
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in estimate.notes)])


def as_html(estimate: Estimate) -> str:
    kinds = [(kind, size) for kind, size in estimate.by_kind.items() if size]
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:right'>{format_size(size)}</td></tr>"
        for name, size in _layers(estimate)
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in [*largest(estimate), *estimate.notes])
    return (
        "<div style='font-family:system-ui,sans-serif;max-width:46em'>"
        f"<p><b>{escape(verdict(estimate))}</b></p>{stacked_bar(kinds)}"
        f"<p>Peak against batch size</p>{batch_chart(peaks(estimate), estimate.budget)}"
        f"<table>{rows}</table>{notes}</div>"
    )


def verdict(estimate: Estimate) -> str:
    """One line: the peak, its bound, and whether the budget holds it."""
    peak = (
        f"{estimate.model_name}, batch {estimate.batch_size}: about {format_size(estimate.peak)} "
        f"at the highest moment, under {format_size(estimate.upper)} ({estimate.confidence})"
    )
    if estimate.budget is None:
        return peak
    spare = estimate.budget - estimate.needs
    if estimate.fits(estimate.budget):
        return f"{peak}; fits in {format_size(estimate.budget)}, {format_size(max(spare, 0))} to spare"
    return f"{peak}; does not fit in {format_size(estimate.budget)}: {format_size(max(-spare, 1))} short"


def largest(estimate: Estimate) -> list[str]:
    if estimate.budget is None:
        return []
    batch = estimate.largest_batch(estimate.budget)
    if batch:
        return [f"largest batch that fits in {format_size(estimate.budget)}, with a little kept back: {batch}"]
    kind, size = max(estimate.at(1).by_kind.items(), key=lambda part: part[1])
    why = f"the largest part, {kind}, takes {format_size(size)}"
    return [f"not even one sample fits in {format_size(estimate.budget)}: {why}"]


def peaks(estimate: Estimate) -> list[tuple[int, int]]:
    """(batch size, peak) around the estimate's own batch size, each double the one before."""
    if estimate.forecast.only is not None:
        return [(estimate.batch_size, estimate.peak)]
    first = max(estimate.batch_size >> 2, 1)
    return [(size, estimate.forecast.at(size).peak) for size in (first << step for step in range(_STEPS))]


def _layers(estimate: Estimate) -> list[tuple[str, int]]:
    shapes = estimate.output_shapes
    return [(f"{name} {shapes.get(name, '')}".strip(), size) for name, size in estimate.by_layer[:LAYERS_SHOWN]]
