"""`memfit.microbatch`: a hand-written training step that does not die of memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfit import engines
from memfit.training.keeper import Keeper
from memfit.training.planning import largest_micro_batch
from memfit.training.record import RunRecord


def microbatch(step: Callable[..., Any] | None = None, *, optimizer: Any = None) -> Any:
    """Decorate a `train_step(x, y)` that computes gradients and hands them to its optimizer by itself.

    Put it above `@tf.function`, if there is one. What the step returns stays the same: single numbers are averaged
    over the samples, arrays with one row for each sample are joined. The step's `.memfit` is a `RunRecord`.

    Args:
        step: The function. All its arrays have one row for each sample.
        optimizer: Where it cannot be found among the names that the step uses.
    """
    if step is None:
        return lambda decorated: microbatch(decorated, optimizer=optimizer)
    keeper = Keeper(RunRecord(), {}, None, largest_micro_batch, epoch=0, step=0)
    guarded = engines.current().microbatch(step, optimizer, keeper)
    guarded.memfit = keeper.record
    return guarded
