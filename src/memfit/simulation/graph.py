"""A step as an engine-neutral graph of operations whose sizes are functions of the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Kind(IntEnum):
    COMPUTE = 0
    ALIAS = 1  # every output i shares input i's buffer
    ARGUMENT = 2
    CONSTANT = 3
    READ = 4
    ASSIGN = 5
    UPDATE = 6  # in place if nobody else reads the variable
    HANDLE = 7
    SWITCH = 8
    MERGE = 9
    ENTER = 10
    EXIT = 11
    NEXT = 12
    LOOP_COND = 13
    LIST = 14
    NOTHING = 15
    PARTS = 17  # every output is a part of one input's buffer
    SPARSE = 16  # reads or writes rows of a variable; the variable is copied on read from then on


@dataclass(frozen=True)
class Size:
    """`scale * batch ** degree` bytes."""

    scale: float
    degree: int = 0

    def at(self, batch: int) -> int:
        return round(self.scale * float(batch) ** self.degree)


@dataclass(frozen=True)
class Speed:
    """Seconds = start + flops / compute + patches / unfold + bytes / memory; some read only what they write."""

    start: float = 3e-6
    compute: float = 3e10
    unfold: float = 1e15
    memory: float = 1.5e10
    reads_all: bool = True


Temps = Callable[[int], list[int]]
Owner = tuple[str, str]  # what memory is for (a kind of `footprint.KINDS`), and the layer it belongs to


@dataclass
class Node:
    """One operation."""

    name: str
    op: str
    kind: Kind
    inputs: list[tuple[int, int]]
    controls: list[int]
    outputs: list[Size]
    owner: Owner = ("activations", "(outside layers)")
    forwards: tuple[tuple[int, ...], ...] = ()
    expensive: bool = True
    temps: Temps | None = None
    temps_first: bool = False
    forward_temp: int = -1
    flops: Size = Size(0.0)
    patches: Size = Size(0.0)
    speed: Speed = Speed()
    variable: int = -1
    whole: int = 0  # the input that it parts
    frame: str = ""
    parallel: int = 10
    constant_frame: bool = False
    value: Any = None
    list_op: str = ""
    foldable: bool = False


@dataclass
class Variable:
    """`build` is what its initializer holds meanwhile; variables of one `shared` key start as one buffer."""

    name: str
    size: int
    kind: str
    layer: str = "(variables)"
    build: list[int] = field(default_factory=list)
    shared: str = ""
    value: Any = None


@dataclass
class StepGraph:
    nodes: list[Node]
    variables: list[Variable]
    inputs: list[Size]
    notes: list[str] = field(default_factory=list)
    uncertain: bool = False  # some sizes could not be inferred
    threads: int = 2  # on which operations run side by side
    remembered: int = 0  # small constants that each trace of the step leaves in memory

    @property
    def traces(self) -> int:
        """A step that makes its optimizer's slots is traced again once they are there."""
        return 2 if any(variable.shared for variable in self.variables) else 1
