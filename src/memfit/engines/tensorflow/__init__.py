"""TensorFlow: its allocator as a virtual device, its profiler as the recorder."""

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
from memfit.engines.tensorflow.markers import layer_of_failure, plain_name
from memfit.engines.tensorflow.recorder import recorder

name = "tensorflow"

__all__ = [
    "cautious_environment",
    "enforce",
    "environment",
    "facts",
    "is_out_of_memory",
    "layer_of_failure",
    "name",
    "plain_name",
    "recorder",
    "reset_peak",
    "started",
    "state",
]
