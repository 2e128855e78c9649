"""Keep numbers from a step, not its tensors."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation


class NumbersNotTensors(Remedy):
    name = "numbers_not_tensors"
    exactness: Exactness = "exact"
    against = ("leak",)

    def why(self, situation: Situation) -> str | None:
        if situation.phase == "building":
            return None
        return "memory grows with the steps: something keeps what each step makes, such as a list of losses or outputs"

    def saves(self, situation: Situation) -> int | None:
        return None

    def code(self, situation: Situation) -> str:
        return "history.append(float(loss))  # instead of history.append(loss): a number holds no tensor alive"
