"""Prints whether memfit's marks change the graph that TensorFlow runs: in the estimate, and in a measurement."""

import re
from collections import Counter

import keras
import tensorflow as tf
from keras import layers

from memfit.engines.tensorflow import markers
from memfit.engines.tensorflow.step import trace


def model():
    keras.backend.clear_session()
    x = inputs = keras.Input((8, 16))
    x = layers.GroupQueryAttention(8, 2, 1)(x, x) + layers.Dense(16, activation="gelu")(x)
    x = layers.Bidirectional(layers.LSTM(4, return_sequences=True))(layers.LayerNormalization()(x))
    built = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(layers.Dropout(0.1)(keras.ops.tanh(x)))))
    built.compile("adam", "mse")
    return built


def graph(built):
    specs = (tf.TensorSpec((None, 8, 16)), tf.TensorSpec((None, 1)))
    stand_in = trace.stand_in_for(built, specs)
    traced = trace.optimize(trace.trace(built, specs, stand_in), stand_in)
    return Counter((plain(n.name), n.op, *map(plain, n.input)) for n in traced.nodes)


def plain(name):
    """Without marks, and without the numbers that make names unique."""
    return re.sub(r"(_\d+)+(?=/|:|$)", "", markers.plain_name(name))


def main():
    unmarked = graph(model())
    with markers.marking(taken_off=True):
        print(graph(model()) == unmarked)
    measured = trace.unmark
    trace.unmark = lambda definition: (None, {node.name: node.name for node in definition.node})
    with markers.marking():
        print(graph(model()) == unmarked)
    trace.unmark = measured


if __name__ == "__main__":
    main()
