"""What a user hands to `fit`, `evaluate` or `predict`, before Keras gets it."""

from __future__ import annotations

from typing import Any


def prepare(model: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], Any]:
    """The same arguments, in a form that costs no more memory than needed."""
    return args, kwargs
