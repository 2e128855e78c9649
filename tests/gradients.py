"""Prints which gradients of a small convolutional model are operations of their own: as they ran, or as foreseen.

Of what is foreseen also on how many threads, and how much more oneDNN computes for 4 channels than it is asked for.
"""

import sys
import tempfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import memfit

BATCH = 4


def model():
    x = inputs = keras.Input((16, 16, 3))
    x = layers.Conv2D(8, 3, activation="relu", name="biased")(x)
    x = layers.Conv2D(4, 3, use_bias=False, name="unbiased")(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, name="transposed")(x)
    built = keras.Model(inputs, layers.Dense(1, name="dense")(layers.Flatten()(x)))
    built.compile("sgd", "mse")
    return built


def ran():
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    built = model()
    data = np.zeros((BATCH, 16, 16, 3), "float32"), np.zeros((BATCH, 1), "float32")
    built.train_on_batch(*data)
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        built.train_on_batch(*data)
        tf.profiler.experimental.stop()
        (file,) = Path(folder).rglob("*.xplane.pb")
        space = xplane_pb2.XSpace.FromString(file.read_bytes())
    return {metadata.name.split(":")[0] for plane in space.planes for metadata in plane.event_metadata.values()}


def foreseen():
    graph = memfit.estimate(model(), BATCH).forecast.graph_for(BATCH)
    print(f"threads {graph.threads}")
    (narrow,) = (node for node in graph.nodes if node.op == "Conv2D" and "/unbiased" in node.name)
    asked = BATCH * (12 * 12 * 4) * 2 * (3 * 3 * 8)
    print(f"computed {narrow.flops.at(BATCH) / asked:.0f} x")
    return {node.name for node in graph.nodes}


def main():
    names = {"ran": ran, "foreseen": foreseen}[sys.argv[1]]()
    print(*sorted(name for name in names if name.endswith(("BiasAddGrad", "BackpropFilter"))), sep="\n")


if __name__ == "__main__":
    main()
