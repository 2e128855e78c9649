"""A measurement as a table in a terminal and as a small chart in a page or notebook."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from memfit.show.bars import bar_rows
from memfit.show.curve import curve_rows
from memfit.show.svg import area_chart, stacked_bar
from memfit.sizes import format_size

if TYPE_CHECKING:
    from memfit.measurement.result import Measurement

LAYERS_SHOWN = 10


def as_text(measured: Measurement) -> str:
    kinds = [(kind, size) for kind, size in measured.by_kind.items() if size]
    lines = [
        headline(measured),
        "",
        "held at the peak, by kind",
        *bar_rows(sorted(kinds, key=lambda part: -part[1]), measured.peak),
        "",
        "held at the peak, by layer",
        *bar_rows(top_layers(measured), measured.peak),
        "",
        *_curve(measured),
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in measured.notes)])


def as_html(measured: Measurement) -> str:
    kinds = [(kind, size) for kind, size in measured.by_kind.items() if size]
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td style='text-align:right'>{format_size(size)}</td></tr>"
        for name, size in top_layers(measured)
    )
    name, _, moments = measured.shown_phase()
    notes = "".join(f"<p>{escape(note)}</p>" for note in measured.notes)
    return (
        "<div style='font-family:system-ui,sans-serif;max-width:46em'>"
        f"<p><b>{escape(headline(measured))}</b></p>"
        f"{stacked_bar(kinds)}<p>Live bytes over {escape(name)}</p>{area_chart([(m.time, m.live) for m in moments])}"
        f"<p>Held at the peak, by layer</p><table>{rows}</table>{notes}</div>"
    )


def _curve(measured: Measurement) -> list[str]:
    name, start, moments = measured.shown_phase()
    seconds = moments[-1].time - start if moments else 0.0
    return [f"live bytes over {name} ({seconds * 1000:.0f} ms)", *curve_rows([(m.time, m.live) for m in moments])]


def headline(measured: Measurement) -> str:
    return (
        f"{measured.model_name}, batch {measured.batch_size}: {format_size(measured.peak)} at the highest moment "
        f"({measured.phase}), {format_size(measured.requested)} of it asked for; "
        f"a step took {measured.step_seconds:.3g} s"
    )


def top_layers(measured: Measurement) -> list[tuple[str, int]]:
    shown, rest = measured.by_layer[:LAYERS_SHOWN], measured.by_layer[LAYERS_SHOWN:]
    return [*shown, (f"({len(rest)} more)", sum(size for _, size in rest))] if rest else shown
