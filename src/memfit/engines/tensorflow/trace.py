"""The profiler's trace as plain values: each allocation and release, in the allocator's own order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memfit.engines.tensorflow.markers import PREFIX
from memfit.errors import MemfitError


@dataclass(frozen=True)
class Event:
    """One allocation or release, or (with `allocates` None) the moment at which an annotation begins."""

    nanoseconds: float
    allocates: bool | None
    address: int
    requested: int
    allocated: int
    op: str
    temporary: bool
    allocator: str
    annotations: tuple[str, ...]


def read_trace(directory: Path) -> list[Event]:
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    files = sorted(directory.rglob("*.xplane.pb"))
    if not files:
        raise MemfitError("TensorFlow's profiler wrote no trace: is another profiler running in this process?")
    space = xplane_pb2.XSpace()
    space.ParseFromString(files[-1].read_bytes())
    events = [event for plane in space.planes for line in plane.lines for event in _line_events(plane, line)]
    return sorted(events, key=lambda event: event.nanoseconds)


def _line_events(plane: Any, line: Any) -> Iterator[Event]:
    """The memory events of one thread, each with the memfit annotations that were open around it."""
    names = {key: metadata.name for key, metadata in plane.event_metadata.items()}
    stat_names = {key: metadata.name for key, metadata in plane.stat_metadata.items()}
    open_annotations: list[tuple[int, str]] = []
    for event in sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps)):
        name = names[event.metadata_id]
        while open_annotations and open_annotations[-1][0] <= event.offset_ps:
            open_annotations.pop()
        around = tuple(annotation for _, annotation in open_annotations)
        nanoseconds = line.timestamp_ns + event.offset_ps / 1000
        if name in ("MemoryAllocation", "MemoryDeallocation"):
            yield _memory_event(nanoseconds, name == "MemoryAllocation", _stats(event, stat_names), around)
        elif name.startswith(PREFIX) and "/" not in name and ":" not in name:
            open_annotations.append((event.offset_ps + event.duration_ps, name))
            yield Event(nanoseconds, None, 0, 0, 0, name, False, "", around)


def _stats(event: Any, stat_names: dict[int, str]) -> dict[str, Any]:
    stats = {}
    for stat in event.stats:
        which = stat.WhichOneof("value")
        value = getattr(stat, which)
        stats[stat_names[stat.metadata_id]] = stat_names[value] if which == "ref_value" else value
    return stats


def _memory_event(nanoseconds: float, allocates: bool, stats: dict[str, Any], around: tuple[str, ...]) -> Event:
    return Event(
        nanoseconds=nanoseconds,
        allocates=allocates,
        address=stats["addr"],
        requested=stats["requested_bytes"],
        allocated=stats["allocation_bytes"],
        op=str(stats.get("tf_op", "")),
        temporary=stats.get("region_type") == "temp",
        allocator=str(stats["allocator_name"]),
        annotations=around,
    )
