"""Say why a training ran out of memory, from its log, and what to do about it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from memfit.cli.output import Output


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
    output.next_step(_next_step(diagnosis.fixes[0].remedy if diagnosis.fixes else None))
    return 0


def _next_step(remedy: str | None) -> str:
    if remedy is None:
        return "foresee the next one: memfit estimate train.py:build --batch 32 --budget 8GiB"
    return f"write the lines under 1. ({remedy}) into your program, then: memfit check --budget 8GiB train.py"
