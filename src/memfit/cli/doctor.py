"""Versions, devices, limits, and what cannot be measured here and why."""

from __future__ import annotations

import argparse

from memfit.cli.output import Output


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none of its own."""


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.device.doctor import examine

    with output.progress() as progress:
        progress("starting TensorFlow")
        examination = examine()
    output.result("doctor", examination.to_dict(), str(examination))
    output.next_step(examination.next_step)
    return 0 if examination.engine else 1
