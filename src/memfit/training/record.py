"""What happened to a training, for its user and for scripts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Recovery:
    """A change of the number of micro-batches: after running out of memory, before it, or back."""

    epoch: int
    step: int
    cause: str
    before: int
    after: int

    def to_dict(self) -> dict[str, Any]:
        return {"epoch": self.epoch, "step": self.step, "cause": self.cause, "from": self.before, "to": self.after}


@dataclass
class RunRecord:
    """One call of `fit`. `micro_batches` is the largest number that a step was split into."""

    batch_size: int | None = None
    micro_batches: int = 1
    recoveries: list[Recovery] = field(default_factory=list)
    peak_bytes: int | None = None
    samples_seen: int = 0
    updates: int = 0
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"recoveries": [recovery.to_dict() for recovery in self.recoveries]}
