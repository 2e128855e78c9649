"""What a training step holds at its highest moment: the value that estimates and measurements share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KINDS = ("weights", "optimizer", "gradients", "activations", "workspace", "inputs", "padding", "other")


@dataclass(frozen=True)
class Footprint:
    """Bytes held at the peak, by kind and by layer. Both sum to `peak`.

    `by_kind` counts requested bytes and the allocator's padding apart from them; `by_layer` counts what the
    allocator holds for each layer, padding included. What belongs to no layer stands in parentheses, as "(inputs)".
    """

    batch_size: int
    peak: int
    requested: int
    by_kind: dict[str, int]
    by_layer: list[tuple[str, int]]

    def to_dict(self) -> dict[str, Any]:
        return {
            "batch_size": self.batch_size,
            "peak_bytes": self.peak,
            "requested_bytes": self.requested,
            "by_kind": dict(self.by_kind),
            "by_layer": [{"layer": name, "bytes": size} for name, size in self.by_layer],
        }
