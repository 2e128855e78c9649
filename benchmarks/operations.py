"""Does each kernel take the memory that memfit says it takes? One layer or operation at a time, on this machine.

`python -m benchmarks.operations [NAME...]` trains a small model around each and compares, node by node, what real steps
allocated with what simulated ones do. Where they never take the same sizes in the same order, a rule is wrong, or, of
element-wise nodes that share an input, another one comes last and takes its buffer over.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.processes import QUIET, THREADS
from benchmarks.truth import environment

BATCH = 64
STEPS = 4
ORDERS = 4
WORTH_COMPARING = 1 << 16  # bytes
IMAGE, SEQUENCE, VOLUME, MATRIX = (32, 32, 24), (64, 48), (12, 12, 12, 16), (24, 24)

Sizes = tuple[int, ...]


@dataclass(frozen=True)
class Difference:
    """A node that never takes in a simulated step what it takes in a real one."""

    node: str
    op: str
    real: set[Sizes]
    simulated: set[Sizes]

    def __str__(self) -> str:
        return f"    {self.op} {self.node}: really {sorted(self.real)}, simulated {sorted(self.simulated)}"


def operations() -> dict[str, tuple[tuple[int, ...], Callable[[Any], Any]]]:
    """The shape of an input, and what is done with it."""
    import keras
    import numpy as np
    import tensorflow as tf
    from keras import layers, ops

    def layer(kind: str, *arguments: Any, **options: Any) -> Callable[[Any], Any]:
        return lambda x: getattr(layers, kind)(*arguments, **options)(x)

    def applied(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: layers.Lambda(function)(x)

    def definite(x: Any) -> Any:
        return ops.matmul(x, ops.swapaxes(x, 1, 2)) + 10 * ops.eye(24)

    activations = (
        "relu relu6 elu selu gelu silu tanh sigmoid hard_sigmoid hard_silu softplus softsign exponential "
        "mish leaky_relu log_softmax softmax celu hard_tanh hard_shrink soft_shrink tanh_shrink squareplus "
        "sparse_plus log_sigmoid"
    )
    return {
        **{name: (IMAGE, layer("Activation", name)) for name in activations.split()},
        "conv1d": (SEQUENCE, layer("Conv1D", 40, 3, padding="same")),
        "conv1d_causal": (SEQUENCE, layer("Conv1D", 40, 3, padding="causal", dilation_rate=4)),
        "conv1d_transposed": (SEQUENCE, layer("Conv1DTranspose", 40, 3, strides=2)),
        "conv2d": (IMAGE, layer("Conv2D", 40, 3, padding="same")),
        "conv2d_strided": (IMAGE, layer("Conv2D", 40, 3, strides=2)),
        "conv2d_pointwise": (IMAGE, layer("Conv2D", 40, 1)),
        "conv2d_dilated": (IMAGE, layer("Conv2D", 40, 3, dilation_rate=2, padding="same")),
        "conv2d_transposed": (IMAGE, layer("Conv2DTranspose", 40, 3, strides=2, padding="same")),
        "conv3d": (VOLUME, layer("Conv3D", 24, 3, padding="same")),
        "conv3d_strided": (VOLUME, layer("Conv3D", 24, 3, strides=2)),
        "conv3d_transposed": (VOLUME, layer("Conv3DTranspose", 24, 3, strides=2)),
        "depthwise": (IMAGE, layer("DepthwiseConv2D", 3, padding="same")),
        "depthwise_strided": (IMAGE, layer("DepthwiseConv2D", 3, strides=2, depth_multiplier=2)),
        "separable": (IMAGE, layer("SeparableConv2D", 40, 3)),
        "max_pool": (IMAGE, layer("MaxPooling2D", 3, 2, padding="same")),
        "max_pool_1d": (SEQUENCE, layer("MaxPooling1D", 2)),
        "max_pool_3d": (VOLUME, layer("MaxPooling3D", 2)),
        "average_pool": (IMAGE, layer("AveragePooling2D", 2)),
        "average_pool_3d": (VOLUME, layer("AveragePooling3D", 2)),
        "global_average": (IMAGE, layer("GlobalAveragePooling2D")),
        "global_max": (SEQUENCE, layer("GlobalMaxPooling1D")),
        "batch_norm": (IMAGE, layer("BatchNormalization")),
        "batch_norm_flat": ((2048,), layer("BatchNormalization")),
        "batch_norm_3d": (VOLUME, layer("BatchNormalization")),
        "layer_norm": (SEQUENCE, layer("LayerNormalization")),
        "group_norm": (IMAGE, layer("GroupNormalization", 4)),
        "rms_norm": (SEQUENCE, layer("RMSNormalization")),
        "spectral_norm": (IMAGE, lambda x: layers.SpectralNormalization(layers.Conv2D(40, 3))(x)),
        "upsampled": (IMAGE, layer("UpSampling2D")),
        "upsampled_bilinear": (IMAGE, layer("UpSampling2D", interpolation="bilinear")),
        "padded": (IMAGE, layer("ZeroPadding2D", 2)),
        "cropped": (IMAGE, layer("Cropping2D", 2)),
        "dropout": (IMAGE, layer("Dropout", 0.3)),
        "spatial_dropout": (IMAGE, layer("SpatialDropout2D", 0.3)),
        "noise": (IMAGE, layer("GaussianNoise", 0.3)),
        "parametric_relu": (IMAGE, layer("PReLU", shared_axes=[1, 2])),
        "flipped_randomly": (IMAGE, layer("RandomFlip")),
        "rotated_randomly": (IMAGE, layer("RandomRotation", 0.2)),
        "attention": (SEQUENCE, lambda x: layers.MultiHeadAttention(4, 12)(x, x)),
        "attention_causal": (SEQUENCE, lambda x: layers.MultiHeadAttention(4, 12)(x, x, use_causal_mask=True)),
        "attention_grouped": (SEQUENCE, lambda x: layers.GroupQueryAttention(12, 4, 2)(x, x)),
        "attention_additive": (SEQUENCE, lambda x: layers.AdditiveAttention()([x, x])),
        "lstm": (SEQUENCE, layer("LSTM", 48)),
        "lstm_sequences": (SEQUENCE, layer("LSTM", 48, return_sequences=True)),
        "gru": (SEQUENCE, layer("GRU", 48)),
        "simple_rnn": (SEQUENCE, layer("SimpleRNN", 48, return_sequences=True)),
        "bidirectional": (SEQUENCE, lambda x: layers.Bidirectional(layers.LSTM(48, return_sequences=True))(x)),
        "dense": (SEQUENCE, layer("Dense", 96, activation="relu")),
        "reduced_between": (IMAGE, applied(lambda x: ops.sum(x, axis=(1, 3)))),
        "variance": (SEQUENCE, applied(lambda x: ops.var(x, axis=1))),
        "log_sum_exp": (SEQUENCE, applied(lambda x: ops.logsumexp(x, axis=-1))),
        "cumulated": (SEQUENCE, applied(lambda x: ops.cumsum(x, axis=1))),
        "sorted": (SEQUENCE, applied(lambda x: ops.sort(x, axis=-1))),
        "top": (SEQUENCE, applied(lambda x: ops.top_k(x, 4)[0])),
        "taken": (SEQUENCE, applied(lambda x: ops.take(x, np.arange(0, 64, 2), axis=1))),
        "taken_along": (SEQUENCE, applied(lambda x: ops.take_along_axis(x, ops.argsort(x, axis=1), axis=1))),
        "sliced": (SEQUENCE, applied(lambda x: x[:, ::2, :24])),
        "scattered": (SEQUENCE, applied(lambda x: ops.scatter_update(x, [[0, 0], [1, 1]], ops.ones((2, 48))))),
        "rolled": (IMAGE, applied(lambda x: ops.roll(x, 2, axis=1))),
        "repeated": (SEQUENCE, applied(lambda x: ops.repeat(x, 3, axis=1))),
        "tiled": (SEQUENCE, applied(lambda x: ops.tile(x, (1, 3, 1)))),
        "stacked": (SEQUENCE, applied(lambda x: ops.stack([x, 2 * x], axis=2))),
        "unstacked": (SEQUENCE, applied(lambda x: ops.add(*ops.unstack(ops.transpose(x, (1, 0, 2)), axis=0)[:2]))),
        "split": (SEQUENCE, applied(lambda x: ops.mean(ops.split(ops.transpose(x, (1, 0, 2)), 4, axis=0)[1], axis=0))),
        "mirrored": (IMAGE, applied(lambda x: ops.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)), mode="reflect"))),
        "chosen": (SEQUENCE, applied(lambda x: ops.where(x > 0, x, ops.square(x)))),
        "multiplied": (SEQUENCE, applied(lambda x: ops.matmul(x, ops.swapaxes(x, 1, 2)))),
        "einsum": (IMAGE, applied(lambda x: ops.einsum("bhwc,bhvc->bhwv", x, x))),
        "einsum_turned": (SEQUENCE, applied(lambda x: ops.einsum("bij,bik->bjk", x, x))),
        "fourier": (SEQUENCE, applied(lambda x: ops.rfft(x)[0])),
        "resized": (IMAGE, applied(lambda x: ops.image.resize(x, (48, 48)))),
        "resized_nearest": (IMAGE, applied(lambda x: ops.image.resize(x, (48, 48), interpolation="nearest"))),
        "resized_lanczos": (IMAGE, applied(lambda x: ops.image.resize(x, (48, 48), interpolation="lanczos3"))),
        "patches": (IMAGE, applied(lambda x: ops.image.extract_patches(x, (4, 4)))),
        "hues": ((32, 32, 3), applied(lambda x: ops.image.rgb_to_hsv(ops.sigmoid(x)))),
        "cholesky": (MATRIX, applied(lambda x: ops.cholesky(definite(x)))),
        "inverted": (MATRIX, applied(lambda x: ops.inv(definite(x)))),
        "solved": (MATRIX, applied(lambda x: ops.solve(definite(x), x))),
        "singular_values": (MATRIX, applied(lambda x: ops.svd(x)[1])),
        "orthogonal": (MATRIX, applied(lambda x: ops.qr(x)[0])),
        "eigenvalues": (MATRIX, applied(lambda x: ops.eigh(definite(x))[0])),
        "mapped": (SEQUENCE, applied(lambda x: ops.map(lambda row: ops.tanh(row) * 2, x))),
        "looped": (SEQUENCE, applied(lambda x: ops.fori_loop(0, 4, lambda _, value: ops.tanh(value), x))),
        "conditional": (
            SEQUENCE,
            applied(lambda x: ops.cond(ops.mean(ops.square(x)) > -1, lambda: ops.tanh(x), lambda: x * 2)),
        ),
        "random": (SEQUENCE, applied(lambda x: x + keras.random.normal(ops.shape(x)))),
        "widened": (SEQUENCE, applied(lambda x: ops.cast(ops.tanh(ops.cast(x, "float64")), "float32"))),
        "segments": (SEQUENCE, applied(lambda x: tf.math.unsorted_segment_sum(x, tf.range(tf.shape(x)[0]) % 8, 64))),
        "pooled_with_places": (IMAGE, applied(lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID")[0])),
        "moved_to_space": (IMAGE, applied(lambda x: tf.nn.depth_to_space(x, 2))),
        "framed": ((4096,), applied(lambda x: tf.signal.frame(x, 256, 128))),
        "band": ((64, 64), applied(lambda x: tf.linalg.band_part(x, 2, 2))),
    }


def model_around(shape: tuple[int, ...], operation: Callable[[Any], Any]) -> Any:
    import keras

    inputs = keras.Input(shape)
    model = keras.Model(inputs, operation(keras.layers.Dense(shape[-1])(inputs)))
    model.compile(keras.optimizers.SGD(1e-6), "mse")  # some operations fail on numbers that grow
    return model


def really_allocated(model: Any, x: Any, y: Any) -> dict[str, set[Sizes]]:
    """What each node took, in each of several steps."""
    for _ in range(2):
        model.train_on_batch(x, y)
    return by_node(list(profiled(model, x, y)) for _ in range(STEPS))


def profiled(model: Any, x: Any, y: Any) -> Iterator[tuple[str, int]]:
    import tensorflow as tf

    from memfit.engines.tensorflow.trace import read_trace

    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder, options=options)
        model.train_on_batch(x, y)
        tf.profiler.experimental.stop()
        for event in read_trace(Path(folder)):
            if event.allocates and event.op:
                yield event.op, event.requested


def simulated(graph: Any) -> dict[str, set[Sizes]]:
    """The same of simulated steps, each in another order. What is computed only once is left out."""
    from memfit.simulation.memory import INPUT
    from memfit.simulation.plan import Plan
    from memfit.simulation.simulate import simulate

    plan = Plan(graph, BATCH)
    steps: list[list[tuple[str, int]]] = []
    for seed in range(ORDERS):
        log: list[Any] = []
        simulate(plan, seed=seed, log=log)
        for event in log:
            if event.label == INPUT and event.part == 0 and event.bytes > 0:
                steps.append([])
            elif event.label >= 0 and event.bytes > 0:
                steps[-1].append((graph.nodes[event.label].name, event.bytes))
    return by_node(steps)


def by_node(steps: Iterable[list[tuple[str, int]]]) -> dict[str, set[Sizes]]:
    """The sizes that each node took, in their order, in each of the steps; () where it took nothing worth comparing."""
    listed: list[dict[str, list[int]]] = []
    for step in steps:
        listed.append(defaultdict(list))
        for node, size in step:
            if size > WORTH_COMPARING:
                listed[-1][node].append(size)
    nodes = {node for taken in listed for node in taken}
    return {node: {tuple(taken[node]) for taken in listed} for node in nodes}


def compare(shape: tuple[int, ...], operation: Callable[[Any], Any]) -> list[Difference]:
    import keras
    import numpy as np

    import memfit

    keras.backend.clear_session()
    model = model_around(shape, operation)
    random = np.random.default_rng(0)
    x, y = (random.random((BATCH, *dims), "float32") for dims in (shape, model.output_shape[1:]))
    graph = memfit.estimate(model, BATCH).forecast.graph_for(BATCH)
    real, foreseen = really_allocated(model, x, y), simulated(graph)
    once = {node.name for node in graph.nodes if node.foldable or node.op == "Const"}
    ops = {node.name: node.op for node in graph.nodes}
    found = [
        Difference(n, ops.get(n, "not in the graph"), real.get(n, {()}), foreseen.get(n, {()})) for n in real | foreseen
    ]
    return [each for each in found if each.node not in once and not each.real & each.simulated]


def main() -> int:
    os.environ.update(QUIET | THREADS | environment(8192))
    known = operations()
    names = sys.argv[1:] or list(known)
    different = 0
    for name in names:
        found = compare(*known[name])
        different += bool(found)
        print(f"{name}: {'differs' if found else 'as simulated'}", *found, sep="\n", flush=True)
    print(f"{len(names)} compared, {different} differ")
    return min(different, 1)


if __name__ == "__main__":
    sys.exit(main())
