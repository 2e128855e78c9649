"""`make bench-train`: what guarded training costs, and what it saves, against plain `fit` in the same run."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.estimate import Report, tensorflow_version
from benchmarks.processes import JobFailed, run
from benchmarks.rows import CLAIMS
from benchmarks.store import processor_name, version
from benchmarks.summary import Claim, number, times
from benchmarks.table import Table, mib, percent
from benchmarks.truth import MIB, environment

UNLIMITED_MIB = 16 * 1024
OVERHEAD = Table({"model": 6, "batch": 6, "steps": 6, "plain fit, ms a step": 20, "memfit.fit": 12, "overhead": 9})
SPLIT = Table({"trained": 42, "batch": 6, "parts": 6, "peak, MiB": 10, "off the whole batch": 20})
BATCHES = {"mlp": 64, "cnn": 32, "lstm": 64}
ROUNDS = {"mlp": 200, "cnn": 80, "lstm": 200}
STEPS = 20  # of a round, of which the first, with which `fit` gets ready, is not counted
TURNS = 60
BUDGET_IN_QUARTERS = 1.15  # of the peak of a quarter of the batch: room for the batch itself and the sum of gradients


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, metavar="FILE", help="also write the tables to FILE")
    options = parser.parse_args()
    report = Report(options.output)
    report.add(f"TensorFlow {tensorflow_version()}, Keras {version('keras')}, {processor_name()}.")
    claims = [*overheads(report), *splits(report), *recoveries(), *failures()]
    report.section("Reached and wanted", CLAIMS)
    report.add(*(CLAIMS.row(claim.cells) for claim in claims))
    return 0


def job(name: str, limit_mib: int = UNLIMITED_MIB, **arguments: Any) -> dict[str, Any]:
    outcome = run("benchmarks.training", [name, json.dumps(arguments)], environment(limit_mib))
    if outcome.answer is None:
        raise JobFailed(f"{name} {arguments} under {limit_mib} MiB: {outcome.death}")
    return outcome.answer


def overheads(report: Report) -> Iterator[Claim]:
    """Rounds in turns; what counts is the median over the rounds of how their two sides compare."""
    report.section("Nothing to split", OVERHEAD)
    for model, batch in BATCHES.items():
        answer = job("overhead", model=model, batch=batch, steps=STEPS, rounds=ROUNDS[model])
        plain, guarded = (statistics.median(answer[side]) for side in ("plain", "memfit"))
        extra = compared(answer) - 1
        cells = [f"{1000 * plain:.3f}", f"{1000 * guarded:.3f}", percent(extra, signed=True)]
        report.add(OVERHEAD.row([model, str(batch), str(STEPS * ROUNDS[model]), *cells]))
        yield Claim(f"overhead without splitting, {model}", extra, 0.01)


def splits(report: Report) -> Iterator[Claim]:
    """The number of samples is no multiple of the batch, as in most data sets: the last batch is a short one."""
    report.section("A quarter of the memory", SPLIT)
    training = {"model": "cnn", "samples": 2000}
    whole = trained(batch=512, **training)
    accumulated = trained(batch=128, accumulate=4, **training)
    budget = int(BUDGET_IN_QUARTERS * trained(batch=128, **training)["peak"]) // MIB
    as_much = accumulated["peak"] // MIB
    best = best_by_hand(budget, training)
    by_hand = trained(budget, batch=best, **training)
    split = trained(budget, "memfit", batch=512, budget=budget * MIB, **training)
    in_as_much = trained(as_much, "memfit", batch=512, budget=as_much * MIB, **training)
    rows = [
        ("plain fit, unlimited", 512, whole),
        (f"memfit.fit under {budget} MiB", 512, split),
        (f"plain fit, best by hand under {budget} MiB", best, by_hand),
        ("gradient_accumulation_steps=4", 128, accumulated),
        (f"memfit.fit under as much, {as_much} MiB", 512, in_as_much),
    ]
    for what, batch, answer in rows:
        cells = [what, str(batch), str(answer["parts"]), mib(answer["peak"]), science(distance(answer, whole))]
        report.add(SPLIT.row(cells))
    against_hand = slower(budget, by_hand=best, accumulate=0)
    against_keras = slower(as_much, by_hand=128, accumulate=4)
    yield Claim("micro-batches that the budget asks for", split["parts"], 4, number, at_least=True)
    yield Claim("throughput / plain fit at the best batch by hand", 1 / against_hand, 0.95, times, at_least=True)
    yield Claim("peak / budget", split["peak"] / MIB / budget, 1.0, times)
    yield Claim("time / Keras's accumulation, in as much memory", against_keras, 1.0, times)
    yield Claim("peak / Keras's accumulation", in_as_much["peak"] / accumulated["peak"], 1.0, times)
    yield Claim("memfit's weights off the whole batch's", distance(in_as_much, whole), 1e-5, science)
    yield Claim("the same for Keras's accumulation", distance(accumulated, whole), None, science)


def trained(limit_mib: int = UNLIMITED_MIB, how: str = "plain", **arguments: Any) -> dict[str, Any]:
    return job("trained", limit_mib, how=how, **arguments)


def slower(budget_mib: int, **against: int) -> float:
    """How much longer a sample takes than with plain `fit`."""
    return compared(job("race", budget=budget_mib * MIB, batch=512, rounds=TURNS, **against))


def compared(answer: dict[str, Any]) -> float:
    """Memfit's time as a multiple of plain `fit`'s in the same round: the median, since a machine's speed jumps."""
    return statistics.median(ours / plain for ours, plain in zip(answer["memfit"], answer["plain"], strict=True))


def best_by_hand(limit_mib: int, training: dict[str, Any]) -> int:
    """The fastest batch size of those that train by plain `fit` under the budget."""
    seconds = {}
    for batch in (64, 96, 128, 160):
        with suppress(JobFailed):
            seconds[batch] = trained(limit_mib, batch=batch, **training)["seconds"]
    return min(seconds, key=seconds.__getitem__)


def science(value: float) -> str:
    return f"{value:.1e}"


def distance(answer: dict[str, Any], whole: dict[str, Any]) -> float:
    """Largest difference of any weight, as a share of the largest weight."""
    pairs = zip(answer["weights"], whole["weights"], strict=True)
    return max(abs(a - b) for a, b in pairs) / max(abs(b) for b in whole["weights"])


def recoveries() -> Iterator[Claim]:
    answers = [job("recovery", batch=64) for _ in range(3)]
    ratios = [a["recovery"] / (a["first_step"] + a["step"]) for a in answers if a["recoveries"]]
    yield Claim("recovery / (tracing + one step)", statistics.median(ratios), 3.0, times)


def failures(count: int = 200) -> Iterator[Claim]:
    answer = job("many_failures", 256, count=count, large=4096, small_batch=16)
    yield Claim("failed allocations in one run", answer["failures"], count, number, at_least=True)
    early, late = min(answer["live"][5:20]), min(answer["live"][-15:])
    yield Claim("live memory at the end / at the start", late / early, 1.0, lambda value: f"{value:.4f} x")


if __name__ == "__main__":
    raise SystemExit(main())
