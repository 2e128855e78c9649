"""Run an unmodified training script so that memory does not end it."""

from __future__ import annotations

import argparse
import os
import signal
from contextlib import suppress
from pathlib import Path

from memfit.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--budget", metavar="SIZE", help="a limit, such as 8GiB or 500MB, on all that TensorFlow holds (default: none)"
    )
    parser.add_argument("--record", type=Path, metavar="FILE", help="write what happened to FILE as JSON")
    parser.add_argument("-m", dest="module", nargs=argparse.REMAINDER, help="run a module instead of a script")
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="script.py [args…]")


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.running.record import write_record
    from memfit.running.supervise import supervise
    from memfit.scripts import Script
    from memfit.sizes import parse_size

    words = ["-m", *options.module] if options.module is not None else options.script
    script = Script.from_command(words)
    budget = None if options.budget is None else parse_size(options.budget)
    code, fits = supervise(script, words, budget)
    if options.record is not None:
        write_record(options.record, code if code >= 0 else 128 - code, fits)
    if code < 0:
        _end_like(-code)
    return code


def _end_like(number: int) -> None:
    """End by the signal that ended the script, so that the caller sees what it would have seen."""
    with suppress(OSError):  # SIGKILL has no handler to reset
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
