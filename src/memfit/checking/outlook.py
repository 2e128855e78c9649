"""Will it fit, why not, and what would make it fit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memfit.estimation.result import Estimate
from memfit.remedies import Fix, Situation
from memfit.remedies.registry import REMEDIES, fixes
from memfit.sizes import format_size

MOST_STEPS = 4
_HALF = 0.5


@dataclass(frozen=True)
class Outlook:
    """A training call against a budget. `at_start` are the bytes of data at their highest, before the first step."""

    situation: Situation
    at_start: int = 0
    wide_model: bool = False
    largest_embedding: int = 0

    @property
    def budget(self) -> int:
        return self.situation.budget or 0

    @property
    def trains(self) -> bool:
        estimate, batch, room = self.situation.estimate, self.situation.batch, self.situation.room
        if self.at_start > self.budget or not room:
            return False
        return estimate is None or estimate.at(batch or estimate.batch_size).fits(room)

    @property
    def evaluates(self) -> bool:
        evaluation, room = self.situation.evaluation, self.situation.room
        return evaluation is None or (bool(room) and evaluation.fits(room or 1))

    @property
    def fits(self) -> bool:
        return self.trains and self.evaluates


def causes(outlook: Outlook) -> list[tuple[str, str]]:
    """What stands in the way, each with its evidence, the worst first."""
    if outlook.fits:
        return []
    found = []
    if not outlook.trains:
        found += _data_causes(outlook)
        found += _step_causes(outlook)
    if not outlook.evaluates and not found:
        evaluation = outlook.situation.evaluation
        assert evaluation is not None
        what = f"evaluation takes {evaluation.batch_size} samples at once and needs {format_size(evaluation.needs)}"
        found.append(("evaluation_batch", what))
    return found


def _data_causes(outlook: Outlook) -> list[tuple[str, str]]:
    situation, budget = outlook.situation, outlook.budget
    held = max(situation.held, outlook.at_start)
    without = replace(outlook, at_start=0, situation=replace(situation, held=0))
    if held < budget * 0.02 or (not without.trains and held < budget * _HALF):
        return []
    data = situation.data
    evidence = f"the data takes {format_size(held)} of {format_size(budget)}"
    if data is not None and data.copies:
        evidence += f" ({format_size(data.bytes)} of {data.dtype}, held {'twice' if data.copies > 1 else 'once'})"
    found = [("dataset_in_one_tensor", evidence)]
    if data is not None and data.dtype == "float64" and data.copies > 1:
        found.append(("wide_dtype", f"the data is float64: {format_size(data.held // 2)} less as float32"))
    return found


def _step_causes(outlook: Outlook) -> list[tuple[str, str]]:
    situation = outlook.situation
    estimate, budget = situation.estimate, outlook.budget
    if estimate is None or estimate.fits(budget):
        return []
    found = []
    if outlook.wide_model:
        found.append(("wide_dtype", "the model computes in float64: twice the memory of float32"))
    if estimate.batch_size > 1 and estimate.at(1).fits(budget):
        one = (estimate.peak - estimate.at(1).peak) // max(estimate.batch_size - 1, 1)
        name = "activation_too_large" if estimate.batch_size <= 2 or one > budget // 4 else "batch_too_large"
        needs = f"a step of {estimate.batch_size} samples needs {format_size(estimate.needs)}"
        return [*found, (name, f"{needs}, {format_size(one)} a sample")]
    return [*found, _even_for_one(estimate.at(1), outlook, budget)]


def _even_for_one(one: Estimate, outlook: Outlook, budget: int) -> tuple[str, str]:
    """Not even one sample fits: is it the model, its optimizer, an embedding, or the sample?"""
    weights, slots = one.by_kind["weights"], one.by_kind["optimizer"]
    own = 2 * weights + slots  # with the weights' gradients
    if own < one.peak * _HALF:
        return "activation_too_large", f"a single sample needs {format_size(one.needs)}"
    if outlook.largest_embedding > weights * _HALF:
        return "embedding_too_large", f"an embedding's table alone takes {format_size(outlook.largest_embedding)}"
    if slots and one.needs - slots <= budget:
        return "optimizer_state", f"without the optimizer's {format_size(slots)} it would fit"
    return "model_too_large", f"weights, gradients and optimizer take {format_size(own)}"


@dataclass(frozen=True)
class Plan:
    """Changes, in order, after which it fits, or does not."""

    fits: bool
    steps: list[Fix]
    largest_batch: int | None
    micro_batches: int | None


def plan(outlook: Outlook) -> Plan:
    """The changes that keep the training as it is, one after the other, until it fits; then what else would help."""
    steps: list[Fix] = []
    ahead = outlook
    micro = None
    while not ahead.fits and (fix := _next(ahead, steps)) is not None:
        steps.append(fix)
        before, after = ahead.situation, _applied(fix, ahead.situation)
        if fix.remedy == "micro_batches" and before.batch and after.batch:
            micro = -(-before.batch // after.batch)
        ahead = replace(ahead, situation=after, at_start=min(ahead.at_start, after.held) if after.held else 0)
    if not ahead.fits:
        used = {one.remedy for one in steps}
        steps += [fix for fix in fixes(_with_causes(ahead)) if fix.remedy not in used]
    return Plan(ahead.fits, steps[:MOST_STEPS], _largest(outlook), micro)


def _next(ahead: Outlook, steps: list[Fix]) -> Fix | None:
    used = {fix.remedy for fix in steps}
    exact = [fix for fix in fixes(_with_causes(ahead)) if fix.exactness == "exact" and fix.remedy not in used]
    return exact[0] if exact else None


def _with_causes(outlook: Outlook) -> Situation:
    return replace(outlook.situation, causes=tuple(name for name, _ in causes(outlook)))


def _applied(fix: Fix, situation: Situation) -> Situation:
    remedy = next(remedy for remedy in REMEDIES if remedy.name == fix.remedy)
    return remedy.applied(situation)


def _largest(outlook: Outlook) -> int | None:
    estimate, room = outlook.situation.estimate, outlook.situation.room
    if estimate is None:
        return None
    return estimate.largest_batch(room) if room and outlook.at_start <= outlook.budget else 0
