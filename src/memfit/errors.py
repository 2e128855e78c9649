"""What memfit raises. Every message states what happened and the one thing to do next."""

from __future__ import annotations

from dataclasses import dataclass


class MemfitError(Exception):
    """The parent of all memfit errors; its text is one line for a person."""


class BadInput(MemfitError):
    """Something the caller gave cannot be used as it is."""


class UsageError(BadInput):
    """A value that is wrong by its form, such as a batch size of 0 or a budget of "8XB"."""


class CannotEnforce(MemfitError):
    """A budget cannot be put in force in this process any more."""


class ChildFailed(MemfitError):
    """A child process ended for a reason that is not memory."""


@dataclass(frozen=True)
class Failure:
    """The allocation that could not be had. What is not known is None."""

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
    how: str = "raised"


class DoesNotFit(MemfitError):
    """The training ran out of memory under its budget."""

    def __init__(self, message: str, *, budget: int | None = None, failure: Failure | None = None) -> None:
        super().__init__(message)
        self.budget = budget
        self.failure = failure or Failure()
