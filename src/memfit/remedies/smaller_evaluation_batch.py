"""Evaluate in smaller batches: the same figures."""

from __future__ import annotations

import re
from dataclasses import replace

from memfit.remedies.calls import with_batch
from memfit.remedies.remedy import Exactness, Remedy, Situation


class SmallerEvaluationBatch(Remedy):
    name = "smaller_evaluation_batch"
    exactness: Exactness = "exact"
    against = ("evaluation_batch",)

    def why(self, situation: Situation) -> str | None:
        batch = _samples(situation)
        if batch is not None and batch < 2:
            return None
        return f"evaluation takes {batch or 'too many'} samples at once; smaller batches give the same figures"

    def saves(self, situation: Situation) -> int | None:
        batch = _samples(situation)
        if situation.evaluation is not None and batch:
            return max(situation.evaluation.at(batch).peak - situation.evaluation.at(_smaller(situation)).peak, 0)
        if situation.bytes is None or not batch:
            return None
        return situation.bytes - situation.bytes * _smaller(situation) // batch

    def applied(self, situation: Situation) -> Situation:
        evaluation = situation.evaluation
        return situation if evaluation is None else replace(situation, evaluation=evaluation.at(_smaller(situation)))

    def code(self, situation: Situation) -> str:
        argument = "validation_batch_size" if ".fit(" in situation.call else "batch_size"
        call = situation.call if re.search(r"\.(fit|evaluate|predict)\(", situation.call) else ""
        return with_batch(call or f"{situation.model}.evaluate(x, y)", situation.model, _smaller(situation), argument)


def _samples(situation: Situation) -> int | None:
    if situation.evaluation is not None:
        return situation.evaluation.batch_size
    return situation.shape[0] if situation.shape else situation.batch


def _smaller(situation: Situation) -> int:
    batch = _samples(situation) or 32
    if situation.evaluation is not None and situation.room:
        return max(min(situation.evaluation.largest_batch(situation.room), batch), 1)
    return max(min(batch // 2, 32), 1)
