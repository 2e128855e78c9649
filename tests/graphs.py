"""Prints whether memfit's marks leave the graph that TensorFlow runs as it is.

In the estimate to the order of its nodes, in a measurement up to numbers in names. And whether loops wait for what they
wait for in a real step, and for nothing else.
"""

import re
from collections import Counter

import keras
import numpy as np
import tensorflow as tf
from keras import layers
from tensorflow.python.eager import context

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
    definition, _ = trace.define(trace.trace(built, specs, stand_in, built.train_step), stand_in)
    return trace.optimize(definition).nodes


def in_order(built):
    return [(node.name, node.op, *node.input) for node in nodes(built)]


def unnumbered(built):
    return Counter((plain(node.name), node.op, *map(plain, node.input)) for node in nodes(built))


def edges_of_loops(graph):
    """How many operations of each kind that loops are made of have so many control edges."""
    kinds = ("Enter", "Merge", "Switch", "NextIteration", "Exit", "LoopCond", "Less")
    return Counter((n.op, sum(name.startswith("^") for name in n.input)) for n in graph if n.op in kinds)


def really_run(built):
    context.enable_run_metadata()
    built.train_on_batch(np.zeros((106, 8, 16)), np.zeros((106, 1)))
    functions = context.export_run_metadata().function_graphs
    return max((graph.node for function in functions for graph in function.partition_graphs), key=len)


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
    foreseen, ran = edges_of_loops(nodes(model())), edges_of_loops(really_run(model()))
    print(dict(foreseen - ran + (ran - foreseen)))


if __name__ == "__main__":
    main()
