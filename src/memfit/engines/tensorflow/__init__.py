"""TensorFlow: its allocator as a virtual device, its profiler as the recorder, its graphs for the estimate."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from memfit.engines import DatasetFacts, TracedStep, Watcher
from memfit.engines.tensorflow.allocator import (
    cautious_environment,
    enforce,
    environment,
    is_out_of_memory,
    reset_peak,
    started,
    state,
)
from memfit.engines.tensorflow.facts import facts
from memfit.engines.tensorflow.markers import layer_in_name, layer_of_failure, plain_name
from memfit.engines.tensorflow.recorder import recorder
from memfit.engines.tensorflow.unallocated import unallocated

name = "tensorflow"

__all__ = [
    "calibrate",
    "calibrated",
    "cautious_environment",
    "dataset_facts",
    "enforce",
    "environment",
    "facts",
    "feeding_arrays",
    "feeding_datasets",
    "guarding",
    "is_out_of_memory",
    "layer_in_name",
    "layer_of_failure",
    "microbatch",
    "name",
    "plain_name",
    "recorder",
    "reset_peak",
    "started",
    "state",
    "trace_step",
    "unallocated",
    "watching",
]


def trace_step(*arguments: Any) -> TracedStep:
    from memfit.engines.tensorflow.step import traced  # imports TensorFlow

    return traced.trace_step(*arguments)


@contextmanager
def feeding_arrays(too_large: Callable[[int], bool]) -> Iterator[None]:
    from memfit.engines.tensorflow import feeding  # imports TensorFlow

    with feeding.arrays_by_slices(too_large):
        yield


@contextmanager
def feeding_datasets(too_large: Callable[[int], bool]) -> Iterator[None]:
    from memfit.engines.tensorflow import feeding  # imports TensorFlow

    with feeding.datasets_by_slices(too_large):
        yield


@contextmanager
def guarding(guard: Any) -> Iterator[None]:
    from memfit.engines.tensorflow.training import trainer  # imports TensorFlow

    with trainer.guarding(guard):
        yield


def microbatch(step: Callable[..., Any], optimizer: Any, keeper: Any) -> Any:
    from memfit.engines.tensorflow.training import handwritten  # imports TensorFlow

    return handwritten.microbatch(step, optimizer, keeper)


def calibrate(progress: Callable[[str], None]) -> None:
    from memfit.engines.tensorflow.step import probes  # imports TensorFlow

    probes.calibrate(progress)


def calibrated() -> bool:
    from memfit.engines.tensorflow.step import calibration

    return calibration.current() is not None


def watching(watcher: Watcher) -> dict[str, Callable[[], None]]:
    """What to do after the import of each module, so that `watcher` is told what a script does."""
    from memfit.engines.tensorflow.watch import hooks

    return {"tensorflow": lambda: hooks.watch_tensorflow(watcher), "keras": lambda: hooks.watch_keras(watcher)}


def dataset_facts(data: Any) -> DatasetFacts | None:
    from memfit.engines.tensorflow.watch import datasets

    return datasets.facts(data)
