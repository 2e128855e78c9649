"""Predict the peak of a training step for every batch size, without allocating a tensor."""

from __future__ import annotations

import argparse
from typing import Any

from memfit.cli.measure import add_target
from memfit.cli.output import Output

DOES_NOT_FIT = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--largest", action="store_true", help="only say the largest batch that fits in --budget")
    parser.add_argument(
        "--calibrate",
        action="store_true",
        help="measure anew what this machine's kernels take (seconds; done by itself the first time, and kept)",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.errors import UsageError
    from memfit.estimation.run import estimate_target
    from memfit.models.target import Target
    from memfit.sizes import parse_size

    budget = None if options.budget is None else parse_size(options.budget)
    if options.largest and budget is None:
        raise UsageError("--largest needs a budget: add --budget 8GiB")
    target = Target(options.target, unsafe=options.unsafe_deserialization)
    with output.progress() as progress:
        estimate = estimate_target(
            target, options.batch, budget=budget, calibrate=options.calibrate, on_progress=progress
        )
    values = estimate.values
    output.result("estimate", values, str(values["largest_batch"]) if options.largest else estimate.text)
    if not options.largest:
        output.next_step(_next_step(options, values))
    return 0 if values["fits"] is not False or (options.largest and values["largest_batch"]) else DOES_NOT_FIT


def _next_step(options: argparse.Namespace, values: dict[str, Any]) -> str:
    size = values["batch_size"]
    if values["budget_bytes"] is None:
        return f"ask whether it fits: memfit estimate {options.target} --batch {size} --budget 8GiB"
    if values["fits"]:
        return f"see it for real: memfit measure {options.target} --batch {size} --budget {options.budget}"
    if batch := values["largest_batch"]:
        return f"train with batch {batch}: memfit measure {options.target} --batch {batch} --budget {options.budget}"
    return f"see what holds the memory: memfit estimate {options.target} --batch 1"
