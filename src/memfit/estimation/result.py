"""What was estimated, for one batch size, and a way to every other."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from memfit.estimation.forecast import Forecast
from memfit.footprint import Footprint
from memfit.models.batch import check_batch_size
from memfit.show import estimate as show
from memfit.sizes import Size, parse_size


@dataclass(frozen=True)
class Estimate(Footprint):
    """What a training step will hold, and `upper`, which the real peak stays under (see `confidence`)."""

    upper: int
    confidence: str
    model_name: str
    output_shapes: dict[str, str]
    notes: list[str]
    budget: int | None
    forecast: Forecast = field(repr=False)

    @cached_property
    def needs(self) -> int:
        """The smallest budget under which the step trains."""
        return self.forecast.needs(self.batch_size)

    def at(self, batch_size: int) -> Estimate:
        """The estimate for another batch size, from the same trace. (For the only one, where the step has just one.)"""
        return from_forecast(
            self.forecast,
            check_batch_size(batch_size),
            model_name=self.model_name,
            output_shapes=self.output_shapes,
            notes=self.notes,
            budget=self.budget,
        )

    def fits(self, budget: Size) -> bool:
        return self.forecast.fits(self.batch_size, parse_size(budget))

    def largest_batch(self, budget: Size) -> int:
        """The largest batch that trains under `budget`; 0 where not even one sample does."""
        return self.forecast.largest_batch(parse_size(budget))

    def to_dict(self) -> dict[str, Any]:
        budget = self.budget
        return super().to_dict() | {
            "needs_bytes": self.needs,
            "upper_bytes": self.upper,
            "confidence": self.confidence,
            "budget_bytes": budget,
            "fits": None if budget is None else self.fits(budget),
            "largest_batch": None if budget is None else self.largest_batch(budget),
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        return show.as_text(self)

    def _repr_html_(self) -> str:
        return show.as_html(self)


def from_forecast(
    forecast: Forecast,
    batch_size: int,
    *,
    model_name: str,
    output_shapes: dict[str, str],
    notes: list[str],
    budget: int | None,
) -> Estimate:
    batch_size = forecast.only or batch_size
    outcome = forecast.at(batch_size)
    return Estimate(
        batch_size=batch_size,
        peak=outcome.peak,
        requested=outcome.requested,
        by_kind=outcome.by_kind,
        by_layer=outcome.by_layer,
        upper=forecast.upper(batch_size),
        confidence=forecast.confidence,
        model_name=model_name,
        output_shapes=output_shapes,
        notes=list(dict.fromkeys([*forecast.notes, *notes])),
        budget=budget,
        forecast=forecast,
    )
