"""What happens in a fresh process: a real training, a profiled one, Keras's own trace, or an estimate.

`python -m benchmarks.child JOB CASE BATCH [QUESTIONS]` prints its answer as one line of JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import others
from benchmarks.cases import CASES
from benchmarks.registry import Case, Spec, mapped
from benchmarks.resident import growth

STEPS = 3
ALLOCATOR = "bfc_cpu_allocator_for_gpu"

Answer = dict[str, Any]


def train(case: Case, batch: int) -> Answer:
    import tensorflow as tf

    model = case.build()
    x, y = case.data(batch)
    for _ in range(STEPS):
        model.train_on_batch(x, y)
    return {"peak": tf.config.experimental.get_memory_info("CPU:0")["peak"]}


def profile(case: Case, batch: int) -> Answer:
    import tensorflow as tf

    tf.config.list_logical_devices()
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder, options=options)
        answer = train(case, batch)
        tf.profiler.experimental.stop()
        return answer | {"requested": highest_requested(Path(folder))}


def highest_requested(folder: Path) -> int:
    from memfit.engines.tensorflow.trace import read_trace

    live: dict[int, int] = {}
    held = highest = 0
    for event in read_trace(folder):
        if event.allocator != ALLOCATOR:
            continue
        held -= live.pop(event.address, 0)
        if event.allocates:
            live[event.address] = event.requested
            held += event.requested
            highest = max(highest, held)
    return highest


def trace(case: Case, batch: int) -> Answer:
    """What Keras does before its first step: the step becomes a graph for this batch size."""
    import tensorflow as tf

    model = case.build()
    specs = (tensor_specs(case.x, batch), tensor_specs(case.y, batch), None)
    with growth() as grown:
        started = time.perf_counter()
        tf.function(lambda data: model.train_step(data), reduce_retracing=True).get_concrete_function(specs)
        seconds = time.perf_counter() - started
    return {"seconds": seconds, "growth": grown.bytes}


def estimate(case: Case, batch: int, questions: Answer) -> Answer:
    import memfit

    model = case.build()
    x = tensor_specs(case.x, batch) if case.needs_x else None
    with growth() as grown:
        started = time.perf_counter()
        estimated = memfit.estimate(model, batch_size=batch, x=x)
        seconds = time.perf_counter() - started
    figures = {name: getattr(estimated, name) for name in ("peak", "requested", "upper")}
    answers = figures | {"seconds": seconds, "growth": grown.bytes} | others.say(model, batch)
    return answers | asked(estimated, questions)


def asked(estimated: Any, questions: Answer) -> Answer:
    """What is only asked of some cases, each with the time that the answer took."""
    ask: dict[str, Callable[[Any], Any]] = {
        "needs": lambda _: estimated.needs,
        "fits": lambda budgets: [estimated.fits(budget) for budget in budgets],
        "largest_batch": estimated.largest_batch,
        "at": lambda batches: [timed(estimated.at, batch)[1] for batch in batches],
    }
    answers: Answer = {}
    for name, argument in questions.items():
        answers[name], answers[f"{name}_seconds"] = timed(ask[name], argument)
    return answers


def timed(function: Callable[[Any], Any], argument: Any) -> tuple[Any, float]:
    started = time.perf_counter()
    return function(argument), time.perf_counter() - started


def tensor_specs(structure: Any, batch: int) -> Any:
    import tensorflow as tf

    def spec(leaf: Spec) -> tf.TensorSpec:
        return tf.TensorSpec((batch, *leaf.shape), leaf.dtype)

    return mapped(structure, spec)


JOBS: dict[str, Callable[..., Answer]] = {"train": train, "profile": profile, "trace": trace, "estimate": estimate}


def main() -> None:
    job, name, batch, *questions = sys.argv[1:]
    answer = JOBS[job](CASES[name], int(batch), *map(json.loads, questions))
    print("\n" + json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
