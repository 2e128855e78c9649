"""Say why a training ran out of memory, from its log, and what to do about it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from memfit.cli.output import Output

if TYPE_CHECKING:
    from memfit.diagnosis.result import Diagnosis


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="a log (default: standard input)")


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.diagnosis.reading import read
    from memfit.diagnosis.run import diagnose, explain_log
    from memfit.diagnosis.text import read_stream

    if options.file is not None:
        diagnosis = explain_log(options.file)
    else:
        if sys.stdin.isatty():
            output.say("reading a log from standard input; end it with Ctrl-D")
        diagnosis = diagnose(read(read_stream(sys.stdin.buffer)))
    output.result("explain", diagnosis.to_dict(), str(diagnosis))
    output.next_step(_next_step(diagnosis))
    return 0


def _next_step(diagnosis: Diagnosis) -> str:
    budget = "8GiB" if diagnosis.limit is None else f"{max(diagnosis.limit // 2**20, 1)}MiB"
    script = "train.py" if diagnosis.source is None else diagnosis.source.file.replace("\\", "/").rpartition("/")[2]
    check = f"memfit check --budget {budget} {script}"
    if not diagnosis.fixes:
        return f"see whether a script will fit: {check}"
    return f"write the lines under 1. ({diagnosis.fixes[0].remedy}) into your program, then: {check}"
