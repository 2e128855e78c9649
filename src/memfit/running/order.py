"""What the supervising parent and the child that runs the script tell each other, in a folder that both know."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Order:
    """What the child shall do. `parts` is the least number of micro-batches, more after each death of memory."""

    words: list[str]
    budget: int | None
    parts: int
    lifeline: int
    folder: str

    @property
    def crash(self) -> Path:
        """Where Python writes the stack of a crash."""
        return Path(self.folder) / f"crash-{self.parts}"

    @property
    def journal(self) -> Path:
        """Where the child keeps the records of its trainings."""
        return Path(self.folder) / f"journal-{self.parts}"

    def text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, text: str) -> Order:
        return cls(**json.loads(text))


def write_whole(file: Path, value: Any) -> None:
    """A reader sees the file before or after, never in between."""
    beside = file.with_name(file.name + ".new")
    beside.write_text(json.dumps(value))
    os.replace(beside, file)
