"""From the trace to chunks: what each allocation is for, and whose it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from memfit.engines import Chunk, Recording
from memfit.engines.tensorflow import markers
from memfit.engines.tensorflow.purpose import MarkedNames, layer_of, purpose
from memfit.engines.tensorflow.trace import Event

PHASE = f"{markers.PREFIX}phase."
SAMPLE = f"{markers.PREFIX}sample."
BUILD = "building the model"

_COMPILED = re.compile(r"^(cluster_\d|__inference_|__forward_)")

Owner = tuple[str, str]


@dataclass
class _Open:
    """A chunk that is being followed from its allocation to its release."""

    event: Event
    born: int
    in_build: bool
    died: int | None = None
    owner: Owner | None = None


@dataclass
class Attribution:
    """Replays the events of one allocator and says of each chunk what it was for."""

    layer_names: MarkedNames
    input_sizes: Iterable[int]
    samples: list[dict[int, Owner]]
    _live: dict[int, _Open] = field(default_factory=dict)
    _all: list[_Open] = field(default_factory=list)
    _seconds: list[float] = field(default_factory=list)
    _phases: list[tuple[str, int]] = field(default_factory=list)

    def recording(self, events: list[Event], allocator_peak: int) -> Recording:
        allocator = _device_allocator(events)
        start = events[0].nanoseconds if events else 0.0
        for event in events:
            if event.allocates is None:
                self._annotation(event)
            elif event.allocator == allocator:
                self._memory(event, (event.nanoseconds - start) / 1e9)
        chunks = [self._chunk(chunk) for chunk in self._all]
        return Recording(chunks, self._seconds, self._phases, allocator_peak)

    def _annotation(self, event: Event) -> None:
        if event.op.startswith(PHASE):
            self._phases.append((event.op.removeprefix(PHASE), len(self._seconds)))
        elif event.op.startswith(SAMPLE):
            for address, owner in self.samples[int(event.op.removeprefix(SAMPLE))].items():
                if address in self._live:
                    self._live[address].owner = owner

    def _memory(self, event: Event, seconds: float) -> None:
        if event.allocates:
            in_build = bool(self._phases) and self._phases[-1][0] == BUILD
            self._live[event.address] = _Open(event, len(self._seconds), in_build)
            self._all.append(self._live[event.address])
        elif event.address in self._live:
            self._live.pop(event.address).died = len(self._seconds)
        else:
            return  # allocated before the recorder started
        self._seconds.append(seconds)

    def _chunk(self, chunk: _Open) -> Chunk:
        event = chunk.event
        kind, layer = chunk.owner or self._purpose(event, chunk.in_build)
        op = markers.plain_name(event.op)
        return Chunk(chunk.born, chunk.died, event.requested, event.allocated, kind, layer, op)

    def _purpose(self, event: Event, in_build: bool) -> Owner:
        layer = layer_of(event.op, event.annotations, self.layer_names)
        if _COMPILED.match(event.op):
            return "workspace", "(compiled)"
        if event.op == "VarHandleOp":
            return "weights", layer or "(variables)"
        if not event.op and event.requested in self.input_sizes and not in_build:
            return "inputs", "(inputs)"
        if not event.op and layer is None:
            return "other", "(other)"
        temporary = event.temporary or in_build
        return purpose(event.op, self.layer_names, annotations=event.annotations, temporary=temporary)


def _device_allocator(events: list[Event]) -> str:
    """The allocator of the device that trains: a GPU's if there is one, else the one that handed out the most."""
    handed_out: Counter[str] = Counter()
    for event in events:
        if event.allocates:
            handed_out[event.allocator] += event.allocated
    gpus = [name for name in handed_out if name.startswith("GPU_")]
    return gpus[0] if gpus else handed_out.most_common(1)[0][0] if handed_out else ""
