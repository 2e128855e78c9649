"""The words of a command line that name a script and its arguments."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memfit.scripts import Script


def add_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-m", dest="module", nargs=argparse.REMAINDER, metavar="MODULE", help="a module to run, and its arguments"
    )
    parser.add_argument("script", nargs=argparse.REMAINDER, metavar="script.py", help="a script, and its arguments")


def script_of(options: argparse.Namespace) -> Script:
    from memfit.scripts import Script

    words = options.script if options.module is None else ["-m", *options.module]
    return Script.from_command(words)
