"""How many micro-batches a batch is run in: more after running out, fewer again after a while without trouble."""

from __future__ import annotations

from dataclasses import dataclass

PATIENCE = 50  # steps without trouble before fewer, larger micro-batches are tried
IMPATIENCE = 4  # times longer after each try that failed


@dataclass
class Schedule:
    """`largest` is the size that a micro-batch may have, None while there is no limit; `planned` where it began.

    `least` is a number of parts that is never gone below: fewer have killed the process before.
    """

    least: int = 1
    largest: int | None = None
    planned: int | None = None
    patience: int = PATIENCE
    calm: int = 0
    trying: bool = False
    considered: tuple[int | None, int] | None = None

    def consider(self, budget: int | None, samples: int) -> bool:
        """Is this batch to be planned for? Not if one as large was, under the same budget."""
        if self.considered is not None and self.considered[0] == budget and samples <= self.considered[1]:
            return False
        if self.considered is not None and self.considered[0] != budget:
            self.largest = self.planned = None
        self.considered = (budget, samples)
        return True

    def plan(self, largest: int | None) -> None:
        self.largest = self.planned = largest

    def parts(self, samples: int | None) -> int:
        if samples is None:
            return 1
        needed = 1 if self.largest is None else -(-samples // self.largest)
        return max(1, needed, min(self.least, samples))

    def succeeded(self) -> None:
        self.calm += 1
        self.trying = self.trying and self.calm < PATIENCE

    def shrink(self, samples: int, parts: int) -> bool:
        """After running out: half the size. False where a single sample was too much."""
        if self.trying:
            self.patience *= IMPATIENCE
        self.calm, self.trying = 0, False
        if -(-samples // parts) <= 1:
            return False
        self.largest = max(1, -(-samples // (2 * parts)))
        return True

    def due_to_grow(self) -> bool:
        return self.largest is not None and self.largest != self.planned and self.calm >= self.patience

    def grow(self, samples: int) -> None:
        """Twice the size, as far as was planned; a whole batch is no limit at all."""
        assert self.largest is not None
        larger = 2 * self.largest
        if self.planned is not None:
            larger = min(larger, self.planned)
        self.largest = larger if larger < samples or self.planned is not None else None
        self.calm, self.trying = 0, True
