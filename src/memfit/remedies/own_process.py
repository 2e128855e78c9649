"""Each training in a process of its own, whose end gives everything back."""

from __future__ import annotations

from memfit.remedies.remedy import Exactness, Remedy, Situation


class OwnProcess(Remedy):
    name = "own_process"
    exactness: Exactness = "exact"
    against = ("leak",)

    def why(self, situation: Situation) -> str | None:
        if situation.phase != "building":
            return None
        return "models of earlier trainings are still held; a process gives back every byte when it ends"

    def saves(self, situation: Situation) -> int | None:
        return None

    def code(self, situation: Situation) -> str:
        return (
            "from concurrent.futures import ProcessPoolExecutor\nfrom multiprocessing import get_context\n\n"
            'with ProcessPoolExecutor(1, mp_context=get_context("spawn"), max_tasks_per_child=1) as process:\n'
            "    results = list(process.map(train_one, configurations))  # train_one builds, fits, and returns numbers"
        )
