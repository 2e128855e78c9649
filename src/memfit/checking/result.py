"""What was foreseen of one training call."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from memfit.checking.calls import Call
from memfit.checking.outlook import Outlook, Plan, causes, plan
from memfit.diagnosis.result import Diagnosis
from memfit.estimation.result import Estimate
from memfit.remedies import Fix
from memfit.show import check as show


@dataclass(frozen=True)
class Check:
    """As values for a script and as text for a person."""

    fits: bool
    values: dict[str, Any]
    text: str


def check_of(call: Call, outlook: Outlook, notes: list[str] | None = None) -> Check:
    """The verdict of one call, with its causes and the plan."""
    found = causes(outlook)
    ahead = Plan(True, [], None, None) if outlook.fits else plan(outlook)
    values = _values(call, outlook, found, ahead) | {"notes": notes or []}
    return Check(outlook.fits, values, show.as_text(values))


def check_of_failure(diagnosis: Diagnosis, budget: int) -> Check:
    """The verdict on a script that ran out of memory before it came to train."""
    source = diagnosis.source
    values = {
        "fits": False,
        "budget_bytes": budget,
        "fit_call": {
            "file": source.file if source else None,
            "line": source.line if source else None,
            "batch_size": None,
            "method": diagnosis.phase or "its beginning",
            "code": source.code if source else "",
        },
        "estimate": None,
        "evaluation": None,
        "data": None,
        "causes": [diagnosis.cause],
        "evidence": diagnosis.evidence[:1],
        "plan": {
            "fits": False,
            "largest_batch": None,
            "micro_batches": None,
            "steps": [_step_values(fix) for fix in diagnosis.fixes],
            "code": "\n\n".join(fix.code for fix in diagnosis.fixes),
        },
        "notes": ["the script ran out of memory before it came to train"],
    }
    return Check(False, values, show.as_text(values))


def _values(call: Call, outlook: Outlook, found: list[tuple[str, str]], ahead: Plan) -> dict[str, Any]:
    situation = outlook.situation
    data = situation.data
    return {
        "fits": outlook.fits,
        "budget_bytes": situation.budget,
        "fit_call": {
            "file": os.path.relpath(call.file) if os.path.exists(call.file) else call.file,
            "line": call.line,
            "batch_size": situation.batch,
            "method": call.method,
            "code": call.code,
        },
        "estimate": _estimate_values(situation.estimate, outlook.trains),
        "evaluation": _estimate_values(situation.evaluation, outlook.evaluates),
        "data": None
        if data is None
        else {
            "bytes": data.bytes,
            "copies": data.copies,
            "dtype": data.dtype,
            "held_bytes": situation.held,
            "start_bytes": outlook.at_start,
        },
        "causes": [name for name, _ in found],
        "evidence": [evidence for _, evidence in found],
        "plan": {
            "fits": ahead.fits,
            "largest_batch": ahead.largest_batch,
            "micro_batches": ahead.micro_batches,
            "steps": [_step_values(fix) for fix in ahead.steps],
            "code": "\n\n".join(fix.code for fix in ahead.steps),
        },
    }


def _estimate_values(estimate: Estimate | None, fits: bool) -> dict[str, Any] | None:
    return None if estimate is None else estimate.to_dict() | {"fits": fits}


def _step_values(fix: Fix) -> dict[str, Any]:
    return fix.to_dict() | {"slowdown": None}
