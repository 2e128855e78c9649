"""What was found out about a failure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from memfit.diagnosis.causes import Cause
from memfit.diagnosis.phase import Phase
from memfit.remedies.remedy import Fix
from memfit.show import diagnosis as show


@dataclass(frozen=True)
class Source:
    """The user's own line."""

    file: str
    line: int
    code: str


@dataclass(frozen=True)
class Diagnosis:
    """Why it failed; what cannot be known is None. `causes` are ranked, the first is `cause`.

    `in_use`, `limit` and `largest_free` are what the allocator held; `missing` says what the text did not tell.
    """

    cause: str
    confidence: float
    evidence: list[str]
    fixes: list[Fix]
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int | None = None
    op: str | None = None
    layer: str | None = None
    device: str | None = None
    allocator: str | None = None
    in_use: int | None = None
    limit: int | None = None
    largest_free: int | None = None
    phase: Phase | None = None
    source: Source | None = None
    causes: list[Cause] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        values = asdict(self)
        return values | {"shape": None if self.shape is None else list(self.shape)}

    def __str__(self) -> str:
        return show.as_text(self)

    def _repr_html_(self) -> str:
        return show.as_html(self)
