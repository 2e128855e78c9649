"""The recorder: TensorFlow's profiler around a run, with the marks that attribute what it sees."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memfit.engines import Owned, Recording
from memfit.engines.tensorflow import allocator
from memfit.engines.tensorflow.attribution import PHASE, SAMPLE, Attribution
from memfit.engines.tensorflow.markers import marked_names, marking
from memfit.engines.tensorflow.trace import read_trace


class TraceRecorder:
    """Owns one profiler session; phases and samples are written into the trace itself."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._samples: list[dict[int, tuple[str, str]]] = []
        self._input_sizes: set[int] = set()
        self._running = True

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        with _annotation(PHASE + name):
            yield

    def sample(self, variables: Iterable[Owned]) -> None:
        """Note where each variable lies now, so that its chunk can be told from others."""
        addresses: dict[int, tuple[str, str]] = {}
        for owned in variables:
            if (address := _address(owned.variable)) is not None:
                addresses[address] = (owned.kind, owned.layer)
        with _annotation(f"{SAMPLE}{len(self._samples)}"):
            self._samples.append(addresses)

    def inputs(self, sizes: Iterable[int]) -> None:
        self._input_sizes.update(sizes)

    def finish(self, layer_names: Callable[[Any], str | None]) -> Recording:
        peak = allocator.state().peak
        self.stop(save=True)
        attribution = Attribution(marked_names(layer_names), self._input_sizes, self._samples)
        return attribution.recording(read_trace(self._directory), peak)

    def stop(self, *, save: bool) -> None:
        import tensorflow as tf

        if self._running:
            self._running = False
            tf.profiler.experimental.stop(save=save)


@contextmanager
def recorder() -> Iterator[TraceRecorder]:
    import tensorflow as tf

    tf.config.list_logical_devices()  # makes the devices, so that their allocators are there to be traced
    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    with tempfile.TemporaryDirectory(prefix="memfit-") as directory, marking():
        tf.profiler.experimental.start(directory, options=options)
        running = TraceRecorder(Path(directory))
        try:
            yield running
        finally:
            running.stop(save=False)


def _annotation(name: str) -> Any:
    import tensorflow as tf

    return tf.profiler.experimental.Trace(name)


def _address(variable: Any) -> int | None:
    """Where a variable's buffer lies: reading it shares the buffer, and NumPy tells its address."""
    try:
        view = variable.value.read_value()._numpy()
        return int(view.__array_interface__["data"][0]) if view.nbytes else None
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError):
        return None  # held on a GPU, by several devices, or as strings: attributed by its op's name instead
