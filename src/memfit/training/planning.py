"""Before the first step: how large may a micro-batch be?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from memfit import engines
from memfit.device.host import host_memory
from memfit.diagnosis.run import foreseen
from memfit.engines import TracedStep
from memfit.errors import DoesNotFit, MemfitError
from memfit.estimation.forecast import Forecast
from memfit.estimation.result import from_forecast
from memfit.models.names import LayerNames, owned_variables
from memfit.models.untouched import untouched
from memfit.sizes import format_size

SAFE = 0.94  # of what there is: the estimate is near, not exact, and running out kills some kernels instead of raising
NEARLY = 1.1  # of what there is: gradients make up much of such a step, and its need is often less than estimated
AS_ONE = 1.01  # times what one sample needs: where it is not sure to fit, no more is tried, which is often many samples
NOTABLE = 0.1  # of the room: gradients that take less may as well be summed on the device
CLEARLY = 0.75  # of what one sample is estimated to need: with less, it is not even tried
HELP = "Use a larger budget, smaller inputs or layers, an optimizer with less state, or mixed precision"


class Planned(Protocol):
    """A first batch, described well enough to be planned for. A hand-written step's `model` is a list of layers."""

    model: Any
    samples: int | None

    def specs(self) -> Any: ...
    def next_batch(self) -> int: ...
    def available(self, budget: int | None, free: int) -> int: ...
    def has_limit(self) -> bool: ...
    def at_most(self) -> int | None: ...
    def gradients(self) -> int: ...
    def traced(self) -> TracedStep | None: ...
    def part(self, data: Any) -> Any: ...
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
    if step.gradients() > NOTABLE * room and forecast.fits(step.samples, int(available * NEARLY)):
        step.be_frugal()
        return None
    if largest := _in_parts(step, forecast, room - step.next_batch()):
        return min(largest, -(-step.samples // 2))
    if forecast.needs(1) * CLEARLY > available:
        raise _impossible(step, forecast, available, budget)
    step.be_frugal()
    return max(1, forecast.largest_batch(int(forecast.needs(1) * AS_ONE), share=1))


def _in_parts(step: Planned, forecast: Forecast, room: int) -> int:
    """The largest micro-batch for which there is room, beside the sum of the gradients or with that on the host."""
    beside = forecast.largest_batch(room - step.gradients(), share=1)
    if step.gradients() < NOTABLE * room:
        return beside
    part = _forecast(step, in_parts=True)
    alone = part.largest_batch(room, share=1) if part is not None else 0
    if alone < 2 * max(beside, 1):
        return beside
    step.be_frugal()
    return alone


def _impossible(step: Planned, forecast: Forecast, available: int, budget: int | None) -> DoesNotFit:
    needs = f"a step on it needs about {format_size(forecast.needs(1))}, and there are {format_size(available)}"
    error = DoesNotFit(f"not even one sample fits: {needs}. {HELP}", budget=budget)
    estimate = from_forecast(forecast, 1, model_name=_name(step.model), output_shapes={}, notes=[], budget=available)
    error.memfit = foreseen(needs, estimate, available)  # type: ignore[attr-defined]
    return error


def _name(model: Any) -> str:
    return "the step" if isinstance(model, list) else str(model.name)


def _forecast(step: Planned, *, in_parts: bool = False) -> Forecast | None:
    """The step, or what it does with a part of a batch, simulated. None where it cannot be traced."""
    try:
        if isinstance(step.model, list):
            return None if in_parts else _simulated(step.traced())
        run = step.part if in_parts else step.model.train_step
        with untouched(step.model), engines.current().unallocated():
            return _simulated(_traced(step, run))
    except MemfitError:
        raise
    except Exception:  # whatever a custom step does not allow: running out is still recovered from
        return None


def _traced(step: Planned, run: Callable[[Any], Any]) -> TracedStep:
    model = step.model
    return engines.current().trace_step(model, step.specs(), lambda: owned_variables(model), LayerNames(model), run)


def _simulated(traced: TracedStep | None) -> Forecast | None:
    if traced is None:
        return None
    forecast = Forecast(traced.graph_for)
    forecast.fits(1, 2**62, orders=1)  # what cannot be simulated shows here
    return forecast
