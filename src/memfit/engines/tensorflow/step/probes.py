"""A short run of each family of kernels, to see what workspace it takes on this machine."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.step import calibration
from memfit.engines.tensorflow.step.calibration import Sample
from memfit.engines.tensorflow.step.kernels import Call
from memfit.engines.tensorflow.step.shapes import Shape
from memfit.engines.tensorflow.step.trace import StandIn
from memfit.engines.tensorflow.step.workspace import features, foretold
from memfit.engines.tensorflow.trace import read_trace

MARK = "memfit_probe_"
FIXED = StandIn(prime=1, fixed=1)
IMAGES = [  # input, filter, stride
    ((8, 56, 56, 64), (3, 3, 64, 64), 1),
    ((8, 28, 28, 128), (3, 3, 128, 128), 1),
    ((8, 112, 112, 3), (7, 7, 3, 64), 2),
    ((8, 28, 28, 256), (1, 1, 256, 64), 1),
    ((8, 14, 14, 256), (3, 3, 256, 256), 1),
    ((8, 32, 32, 16), (5, 5, 16, 32), 1),
    ((4, 64, 1, 64), (3, 1, 64, 128), 1),
]
VOLUMES = [
    ((8, 16, 16, 16, 4), (1, 1, 1, 4, 64)),
    ((2, 16, 16, 16, 16), (3, 3, 3, 16, 32)),
    ((2, 24, 24, 24, 4), (3, 3, 3, 4, 16)),
]


@dataclass(frozen=True)
class Probe:
    """One op, and the shapes of its inputs and output."""

    op: str
    run: Callable[[], Any]
    inputs: list[tuple[int, ...]]
    output: tuple[int, ...]

    def call(self) -> Call:
        shapes = [_shape(dims) for dims in self.inputs]
        return Call(self.op, None, shapes, [_shape(self.output)])


def calibrate(progress: Callable[[str], None]) -> None:
    """Run all probes under the profiler and keep what they took."""
    probes = list(_probes())
    with tempfile.TemporaryDirectory(prefix="memfit-") as directory:
        tf.profiler.experimental.start(directory)
        for index, probe in enumerate(probes):
            progress(f"calibrating: {probe.op} ({index + 1} of {len(probes)})")
            _run(probe, f"{MARK}{index}.")
        tf.profiler.experimental.stop()
        taken = _taken(Path(directory))
    samples = [
        Sample(probe.op, features(probe.call()), sum(foretold(probe.call(), 1)), taken[index])
        for index, probe in enumerate(probes)
    ]
    calibration.keep(samples)


def _run(probe: Probe, mark: str) -> None:
    def one() -> Any:
        with tf.name_scope(mark):
            return probe.run()

    tf.function(one, autograph=False).get_concrete_function()()


def _taken(directory: Path) -> Counter[int]:
    """The temporaries of each probe, by its number."""
    taken: Counter[int] = Counter()
    for event in read_trace(directory):
        if event.allocates and event.temporary and MARK in event.op:
            number = event.op.split(MARK)[1].split(".")[0]
            taken[int(number)] += event.requested
    return taken


def _probes() -> Iterator[Probe]:
    for image, filters, stride in IMAGES:
        strides = [1, stride, stride, 1]
        out = (image[0], -(-image[1] // stride), -(-image[2] // stride), filters[-1])
        yield from _family("Conv2D", "", image, filters, out, strides)
    for volume, filters3 in VOLUMES:
        yield from _family("Conv3D", "V2", volume, filters3, (*volume[:-1], filters3[-1]), [1] * 5)


def _family(
    op: str, version: str, image: tuple[int, ...], filters: tuple[int, ...], out: tuple[int, ...], strides: list[int]
) -> Iterator[Probe]:
    """A convolution and its two gradients, fed by values that cannot be folded away."""
    raw, common = tf.raw_ops, {"strides": strides, "padding": "SAME"}
    forward = getattr(raw, op)
    to_filter = getattr(raw, f"{op}BackpropFilter{version}")
    to_input = getattr(raw, f"{op}BackpropInput{version}")
    yield Probe(op, lambda: forward(input=_any(image), filter=_any(filters), **common), [image, filters], out)
    yield Probe(
        f"{op}BackpropFilter{version}",
        lambda: to_filter(input=_any(image), filter_sizes=list(filters), out_backprop=_any(out), **common),
        [image, (len(filters),), out],
        filters,
    )
    yield Probe(
        f"{op}BackpropInput{version}",
        lambda: to_input(input_sizes=list(image), filter=_any(filters), out_backprop=_any(out), **common),
        [(len(image),), filters, out],
        image,
    )


def _any(shape: tuple[int, ...]) -> Any:
    return tf.random.uniform(shape)


def _shape(dims: tuple[int, ...]) -> Shape:
    return Shape(dims, tf.float32.as_datatype_enum, 4, True, FIXED)
