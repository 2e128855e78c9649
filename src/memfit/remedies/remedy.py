"""The one interface of all remedies: does it apply here, what does it save, and the lines to write."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, Literal

from memfit.estimation.result import Estimate

Exactness = Literal["exact", "numeric", "model"]


@dataclass(frozen=True)
class Data:
    """What the training data takes: its bytes, how often TensorFlow holds them, and in which dtype."""

    bytes: int
    copies: int
    dtype: str

    @property
    def held(self) -> int:
        return self.bytes * self.copies


@dataclass(frozen=True)
class Situation:
    """All that a remedy may look at; what is not known is None. `call` is the user's own line.

    `held` are bytes that the engine holds beside the step: data, and tensors that the script made.
    """

    causes: tuple[str, ...]
    call: str = ""
    phase: str | None = None
    shape: tuple[int, ...] | None = None
    dtype: str | None = None
    bytes: int | None = None
    layer: str | None = None
    batch: int | None = None
    budget: int | None = None
    held: int = 0
    on_gpu: bool = False
    data: Data | None = None
    estimate: Estimate | None = None
    evaluation: Estimate | None = None

    @property
    def cause(self) -> str:
        return self.causes[0] if self.causes else "unknown"

    @property
    def model(self) -> str:
        """What the user calls the model."""
        found = re.search(r"(\w+)\.(?:fit|evaluate|predict|train_on_batch)\(", self.call)
        return found[1] if found else "model"

    @property
    def room(self) -> int | None:
        """What the budget leaves to a step."""
        return None if self.budget is None else max(self.budget - self.held, 0)


@dataclass(frozen=True)
class Fix:
    """`saves` is in bytes, None where it cannot be known; `code` are the lines for this user's program."""

    remedy: str
    why: str
    saves: int | None
    exactness: Exactness
    code: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


class Remedy(ABC):
    """One way to take less memory. `against` are the causes that it helps against."""

    name: str
    exactness: Exactness
    against: tuple[str, ...]

    @abstractmethod
    def why(self, situation: Situation) -> str | None:
        """Why it helps here; None where it does not apply."""

    @abstractmethod
    def saves(self, situation: Situation) -> int | None: ...

    @abstractmethod
    def code(self, situation: Situation) -> str: ...

    def applied(self, situation: Situation) -> Situation:
        """The situation afterwards, as far as it can be foreseen."""
        return situation

    def fix(self, situation: Situation) -> Fix | None:
        if not set(self.against) & set(situation.causes):
            return None
        why = self.why(situation)
        if why is None:
            return None
        return Fix(self.name, why, self.saves(situation), self.exactness, self.code(situation))
