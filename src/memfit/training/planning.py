"""Before the first step: how large may a micro-batch be?"""

from __future__ import annotations

from typing import Any, Protocol

from memfit import engines
from memfit.device.host import host_memory
from memfit.diagnosis.run import foreseen
from memfit.errors import DoesNotFit, MemfitError
from memfit.estimation.forecast import Forecast
from memfit.estimation.result import from_forecast
from memfit.models.names import LayerNames, owned_variables
from memfit.models.untouched import untouched
from memfit.sizes import format_size

SAFE = 0.94  # of what there is: the estimate is near, not exact, and running out kills some kernels instead of raising
CLEARLY = 0.75  # of what one sample is estimated to need: with less, it is not even tried
HELP = "Use a larger budget, smaller inputs or layers, an optimizer with less state, or mixed precision"


class Planned(Protocol):
    """A first batch, described well enough to be planned for."""

    model: Any
    samples: int | None

    def specs(self) -> Any: ...
    def nbytes(self) -> int: ...
    def available(self, budget: int | None, free: int) -> int: ...
    def has_limit(self) -> bool: ...
    def at_most(self) -> int | None: ...
    def gradients(self) -> int: ...
    def be_frugal(self) -> None: ...


def largest_micro_batch(step: Planned, budget: int | None) -> int | None:
    """None where the whole batch fits, or nothing says that it does not.

    A bound that costs nothing comes first: a training with plenty of room does not pay for an estimate.
    """
    available = step.available(budget, host_memory().free)
    bound = step.at_most()
    if step.samples is None or (bound is not None and bound < available):
        return None
    if bound is None and budget is None and not step.has_limit():
        return None
    forecast = _forecast(step)
    if forecast is None:
        return None
    room = int(available * SAFE)
    if forecast.fits(step.samples, room, orders=2):
        if not forecast.fits(step.samples, room - step.gradients()):
            step.be_frugal()
        return None
    if largest := forecast.largest_batch(room - step.gradients() - step.nbytes()):
        return min(largest, step.samples)
    if forecast.needs(1) * CLEARLY > available:
        raise _impossible(step, forecast, available, budget)
    if forecast.needs(step.samples) > forecast.needs(1) + step.gradients():
        return 1
    step.be_frugal()  # parts, whose gradients are summed, would take more
    return None


def _impossible(step: Planned, forecast: Forecast, available: int, budget: int | None) -> DoesNotFit:
    needs = f"a step on it needs about {format_size(forecast.needs(1))}, and there are {format_size(available)}"
    error = DoesNotFit(f"not even one sample fits: {needs}. {HELP}", budget=budget)
    estimate = from_forecast(forecast, 1, model_name=step.model.name, output_shapes={}, notes=[], budget=available)
    error.memfit = foreseen(needs, estimate, available)  # type: ignore[attr-defined]
    return error


def _forecast(step: Planned) -> Forecast | None:
    """The model's own step, simulated; the model is left as it was. None where it cannot be traced."""
    model = step.model
    engine = engines.current()
    try:
        with untouched(model), engine.unallocated():
            traced = engine.trace_step(model, step.specs(), lambda: owned_variables(model), LayerNames(model))
            forecast = Forecast(traced.graph_for)
            forecast.fits(1, 2**62)  # what cannot be simulated shows here
            return forecast
    except MemfitError:
        raise
    except Exception:  # whatever a custom step does not allow: running out is still recovered from
        return None
