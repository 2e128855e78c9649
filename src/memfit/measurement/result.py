"""What was measured, and how it follows from a recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from memfit.engines import Chunk, Recording
from memfit.footprint import KINDS, Footprint
from memfit.show import footprint as show


class Moment(NamedTuple):
    """One allocation (`delta` > 0) or release (`delta` < 0), and the bytes that are live after it."""

    time: float
    live: int
    op: str
    layer: str
    delta: int


@dataclass(frozen=True)
class Measurement(Footprint):
    """What a training really held. `allocator_peak` is the allocator's own figure for the same run."""

    step_seconds: float
    timeline: list[Moment]
    phase: str
    phases: list[tuple[str, float]]
    allocator_peak: int
    model_name: str
    notes: list[str]

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {
            "step_seconds": self.step_seconds,
            "phase": self.phase,
            "allocator_peak_bytes": self.allocator_peak,
            "notes": list(self.notes),
            "timeline": [moment._asdict() for moment in self.timeline],
        }

    def shown_phase(self) -> tuple[str, float, list[Moment]]:
        """The phase worth a picture: the last step, or building the model where that is the highest moment."""
        index = 0 if self.phases and self.phase == self.phases[0][0] else len(self.phases) - 1
        if index < 0:
            return "the run", 0.0, self.timeline
        name, start = self.phases[index]
        end = self.phases[index + 1][1] if index + 1 < len(self.phases) else float("inf")
        return name, start, [moment for moment in self.timeline if start <= moment.time < end]

    def __str__(self) -> str:
        return show.as_text(self)

    def _repr_html_(self) -> str:
        return show.as_html(self)


def from_recording(
    recording: Recording, *, batch_size: int, step_seconds: float, model_name: str, notes: list[str]
) -> Measurement:
    timeline = _timeline(recording)
    top = max(range(len(timeline)), key=lambda ordinal: timeline[ordinal].live, default=0)
    held = [chunk for chunk in recording.chunks if chunk.born <= top and (chunk.died is None or chunk.died > top)]
    return Measurement(
        batch_size=batch_size,
        peak=sum(chunk.allocated for chunk in held),
        requested=sum(chunk.requested for chunk in held),
        by_kind=_by_kind(held),
        by_layer=_by_layer(held),
        step_seconds=step_seconds,
        timeline=timeline,
        phase=_phase_at(recording, top),
        phases=[(name, recording.seconds[first]) for name, first in recording.phases if first < len(recording.seconds)],
        allocator_peak=recording.allocator_peak,
        model_name=model_name,
        notes=notes,
    )


def _timeline(recording: Recording) -> list[Moment]:
    changes: dict[int, tuple[Chunk, int]] = {}
    for chunk in recording.chunks:
        changes[chunk.born] = (chunk, chunk.allocated)
        if chunk.died is not None:
            changes[chunk.died] = (chunk, -chunk.allocated)
    ordered = [changes[ordinal] for ordinal in range(len(changes))]
    lives = accumulate(delta for _, delta in ordered)
    return [
        Moment(seconds, live, chunk.op, chunk.layer, delta)
        for seconds, live, (chunk, delta) in zip(recording.seconds, lives, ordered, strict=True)
    ]


def _by_kind(held: list[Chunk]) -> dict[str, int]:
    sizes = dict.fromkeys(KINDS, 0)
    for chunk in held:
        sizes[chunk.kind] += chunk.requested
        sizes["padding"] += chunk.allocated - chunk.requested
    return sizes


def _by_layer(held: list[Chunk]) -> list[tuple[str, int]]:
    sizes: Counter[str] = Counter()
    for chunk in held:
        sizes[chunk.layer] += chunk.allocated
    return sizes.most_common()


def _phase_at(recording: Recording, ordinal: int) -> str:
    return next((name for name, first in reversed(recording.phases) if first <= ordinal), "")
