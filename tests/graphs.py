"""Prints whether memfit's marks leave the graph that TensorFlow runs as it is.

In the estimate to the order of its nodes, in a measurement up to numbers in names.
"""

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


def nodes(built):
    specs = (tf.TensorSpec((None, 8, 16)), tf.TensorSpec((None, 1)))
    stand_in = trace.stand_in_for(built, specs)
    return trace.optimize(trace.trace(built, specs, stand_in, built.train_step), stand_in).nodes


def in_order(built):
    return [(node.name, node.op, *node.input) for node in nodes(built)]


def unnumbered(built):
    return Counter((plain(node.name), node.op, *map(plain, node.input)) for node in nodes(built))


def plain(name):
    """Without marks, and without the numbers that make names unique."""
    return re.sub(r"(_\d+)+(?=/|:|$)", "", markers.plain_name(name))


def main():
    unmarked = in_order(model())
    with markers.marking(taken_off=True):
        print(in_order(model()) == unmarked)
    trace.unmark = lambda definition, arguments: (None, {node.name: node.name for node in definition.node})
    measured = unnumbered(model())
    with markers.marking():
        print(unnumbered(model()) == measured)


if __name__ == "__main__":
    main()
