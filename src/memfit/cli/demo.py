"""The shortest real story: what a small model will need, where its memory goes, what a limit does to it."""

from __future__ import annotations

import argparse

from memfit.cli.output import Output

BATCH = 64


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It takes none of its own."""


def run(options: argparse.Namespace, output: Output) -> int:
    from memfit.errors import DoesNotFit
    from memfit.estimation.run import estimate_target
    from memfit.measurement.run import measure_target
    from memfit.models.target import Target
    from memfit.sizes import format_size

    target = Target("memfit.demo.model:build")
    output.say(f"a small convolutional net on 512 drawings of shapes, batch {BATCH}: what will a step need?")
    with output.progress() as progress:
        values = estimate_target(target, BATCH, on_progress=progress).values
    foretold = f"about {format_size(values['peak_bytes'])}, under {format_size(values['upper_bytes'])}"
    output.say(f"{foretold}, without a tensor allocated. Now three real training steps:")
    with output.progress() as progress:
        measured = measure_target(target, BATCH, steps=3, on_progress=progress)
    output.result("demo", measured.to_dict() | {"estimated_bytes": values["peak_bytes"]}, str(measured))

    budget = measured.requested // 2
    output.say(f"the same training under {format_size(budget)}, enforced by TensorFlow's own allocator:")
    try:
        with output.progress() as progress:
            measure_target(target, BATCH, budget=budget, on_progress=progress)
    except DoesNotFit as failure:
        output.say(str(failure))
    output.next_step("memfit estimate your_file.py:your_function, with a function that returns your compiled model")
    return 0
