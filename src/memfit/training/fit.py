"""`memfit.fit`: `Model.fit` that does not die of memory."""

from __future__ import annotations

from typing import Any

from memfit.sizes import Size
from memfit.training.guard import guard


def fit(model: Any, *args: Any, budget: Size | None = None, **kwargs: Any) -> Any:
    """`model.fit(*args, **kwargs)`, with the same result and updates, in the memory there is.

    Returns:
        The `History`, with a `RunRecord` as `.memfit`.
    """
    with guard(budget):
        return model.fit(*args, **kwargs)
