"""Run a training script up to its first fit, train nothing, and say whether it will fit.

What the script does before its training is really executed: it builds its model and writes the files that it writes.
"""

from __future__ import annotations

import argparse

from memfit.cli.output import Output
from memfit.cli.script import add_script, script_of

DOES_NOT_FIT = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = __doc__
    parser.add_argument("--budget", metavar="SIZE", help="a limit, such as 8GiB (default: what this machine has free)")
    parser.add_argument("--all", action="store_true", help="check every fit of the script, not only its first")
    add_script(parser)


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.checking.run import check_script
    from memfit.sizes import parse_size

    script = script_of(options)
    budget = None if options.budget is None else parse_size(options.budget)
    with output.progress() as progress:
        checks = check_script(script, budget, every=options.all, on_progress=progress)
    worst = next((check for check in checks if not check.fits), checks[0])
    values = worst.values | ({"calls": [check.values for check in checks]} if options.all else {})
    output.result("check", values, "\n\n".join(check.text for check in checks))
    output.next_step(_next_step(script.target, worst.fits, options.budget))
    return 0 if worst.fits else DOES_NOT_FIT


def _next_step(target: str, fits: bool, budget: str | None) -> str:
    limit = f" --budget {budget}" if budget else ""
    if fits:
        return f"train it: python {target}"
    return f"write these lines, or let memfit do what keeps the training as it is: memfit run{limit} {target}"
