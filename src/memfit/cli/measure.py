"""Train a few real steps in a child process and say where every byte goes."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from memfit.cli.output import Output

if TYPE_CHECKING:
    from memfit.measurement.result import Measurement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_target(parser)
    parser.add_argument("--steps", type=int, default=2, metavar="N", help="training steps to record (default: 2)")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write the result as one page that needs no network"
    )


def add_target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "target",
        metavar="TARGET",
        help="file.py:function or package.module:function that returns a compiled model, or (model, x, y); "
        "or a saved .keras file",
    )
    parser.add_argument("--batch", type=int, default=32, metavar="N", help="batch size (default: 32)")
    parser.add_argument(
        "--budget", metavar="SIZE", help="a limit, such as 8GiB or 500MB, enforced by TensorFlow itself"
    )
    parser.add_argument(
        "--unsafe-deserialization",
        action="store_true",
        help="run the Python code that a .keras file may hold: only for files that you trust",
    )


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.measurement.run import measure_target
    from memfit.models.target import Target
    from memfit.sizes import parse_size

    budget = None if options.budget is None else parse_size(options.budget)
    target = Target(options.target, unsafe=options.unsafe_deserialization)
    with output.progress() as progress:
        measured = measure_target(target, options.batch, steps=options.steps, budget=budget, on_progress=progress)
    if options.html is not None:
        _write_page(options.html, measured)
    output.result("measure", measured.to_dict() | {"budget_bytes": budget, "fits": True}, str(measured))
    output.next_step(_next_step(options, measured, budget))
    return 0


def _write_page(file: Path, measured: Measurement) -> None:
    from memfit.errors import BadInput
    from memfit.show.page import page

    try:
        file.write_text(page(f"memfit: {measured.model_name}", measured._repr_html_()), encoding="utf-8")
    except OSError as error:
        raise BadInput(f"cannot write {str(file)!r}: {error.strerror}") from error


def _next_step(options: argparse.Namespace, measured: Measurement, budget: int | None) -> str:
    command = f"memfit measure {options.target} --batch"
    if options.html is not None:
        return f"open {options.html} in a browser"
    if budget is None:
        return f"try it under a limit: {command} {options.batch} --budget {measured.peak * 3 // 4 // 2**20 or 1}MiB"
    return f"it fits: try twice the batch: {command} {options.batch * 2} --budget {options.budget}"
