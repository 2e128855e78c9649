"""The command line: one command, one file. Nothing heavy is imported before a command runs."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

import memfit
from memfit.cli import check, demo, doctor, estimate, explain, measure, run
from memfit.cli.output import Output
from memfit.errors import DoesNotFit, MemfitError, UsageError

COMMANDS: tuple[ModuleType, ...] = (check, run, estimate, measure, explain, doctor, demo)

FAILED, WRONG_USAGE, DOES_NOT_FIT, INTERRUPTED, BROKEN_PIPE = 1, 2, 3, 130, 141


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    output = Output(options.format, options.color)
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM)
    )  # so that children and files are cleared away
    try:
        code: int = options.run(options, output)
        sys.stdout.flush()
    except KeyboardInterrupt:
        output.say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except MemfitError as error:
        if options.debug:
            raise
        output.failed(error, options.command)
        return DOES_NOT_FIT if isinstance(error, DoesNotFit) else _error_code(error)
    return code


def _error_code(error: MemfitError) -> int:
    return WRONG_USAGE if isinstance(error, UsageError) else FAILED


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--format", choices=("table", "json"), default="table", help="JSON stands alone on standard output"
    )
    shared.add_argument("--color", choices=("auto", "always", "never"), default="auto")
    shared.add_argument("--debug", action="store_true", help="show the stack trace of an error")
    parser = argparse.ArgumentParser(prog="memfit", description="Make Keras training fit in memory.")
    parser.add_argument("--version", action="version", version=f"memfit {memfit.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        summary = (command.__doc__ or "").splitlines()[0]
        child = commands.add_parser(name, parents=[shared], help=summary, description=summary)
        command.add_arguments(child)
        child.set_defaults(run=command.run)
    return parser
