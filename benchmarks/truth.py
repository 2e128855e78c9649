"""The truth about a case: what real trainings held, in fresh processes, under a limit that TensorFlow enforces.

`python -m benchmarks.truth [CASE...]` measures what is not stored yet.
"""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Callable, Iterable

from benchmarks.cases import CASES
from benchmarks.processes import JobFailed, Outcome, run_job
from benchmarks.registry import Case
from benchmarks.store import Store

MIB = 2**20
RUNS = 3
PROFILED_RUNS = 3
FAR_ABOVE_THE_NEED_MIB = 16 * 1024
RESOLUTION = 0.02


class Truth:
    """Each figure is measured once on a machine and kept."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.store = Store(case)

    @property
    def is_known(self) -> bool:
        return self.store.has("peaks") and self.store.has("requested")

    @property
    def peaks(self) -> list[int]:
        """The allocator's peak over building the model and three steps, in each run."""
        return self.store.kept("peaks", lambda: [self._figure("train", "peak") for _ in range(RUNS)])

    @property
    def requested(self) -> list[int]:
        """The bytes asked for and not yet given back at the highest moment, in each profiled run."""
        return self.store.kept(
            "requested", lambda: [self._figure("profile", "requested") for _ in range(PROFILED_RUNS)]
        )

    def trains(self, batch: int, limit_mib: int) -> bool:
        """Do three steps of `batch` samples train under this limit? A crash counts as a no."""
        return self.store.kept(
            f"{batch} under {limit_mib} MiB", lambda: limited(self.case, batch, limit_mib).answer is not None
        )

    def trained(self, batch: int, limit_mib: int) -> int:
        """How many of the runs train: near the limit, the order of operations decides, which differs between runs."""
        return self.store.kept(
            f"of {RUNS} runs, {batch} under {limit_mib} MiB",
            lambda: sum(limited(self.case, batch, limit_mib).answer is not None for _ in range(RUNS)),
        )

    @property
    def smallest_limit(self) -> tuple[int, int]:
        """Two limits in MiB, close together: the case does not train under the first, and does under the second."""
        peak = statistics.median(self.peaks) / MIB
        enough = first(lambda limit: self._enough(limit), (math.ceil(peak * share) for share in (1.1, 1.4, 2, 4)))
        small = first(lambda limit: not self._enough(limit), (int(peak * share) for share in (0.85, 0.6, 0.3, 0.1)))
        while enough - small > max(1, RESOLUTION * enough):
            middle = (enough + small) // 2
            small, enough = (small, middle) if self._enough(middle) else (middle, enough)
        return small, enough

    def _enough(self, limit_mib: int) -> bool:
        return self.trains(self.case.batch, limit_mib)

    def _figure(self, job: str, name: str) -> int:
        outcome = run_job(job, self.case, self.case.batch, environment(FAR_ABOVE_THE_NEED_MIB))
        if outcome.answer is None:
            raise JobFailed(f"the training died with memory to spare: {outcome.death}")
        return int(outcome.answer[name])


def limited(case: Case, batch: int, limit_mib: int) -> Outcome:
    return run_job("train", case, batch, environment(limit_mib))


def environment(limit_mib: int) -> dict[str, str]:
    return {
        "MALLOC_MMAP_THRESHOLD_": "65536",
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(limit_mib),
    }


def first(holds: Callable[[int], bool], candidates: Iterable[int]) -> int:
    for candidate in candidates:
        if holds(candidate):
            return candidate
    raise JobFailed("no limit found at which it begins to train")


def main() -> None:
    for name in sys.argv[1:] or CASES:
        truth = Truth(CASES[name])
        try:
            figures = [[round(value / MIB, 1) for value in values] for values in (truth.peaks, truth.requested)]
            print(f"{name:32} peak {figures[0]} requested {figures[1]} MiB", flush=True)
        except JobFailed as failure:
            print(f"{name:32} failed: {failure}", flush=True)


if __name__ == "__main__":
    main()
