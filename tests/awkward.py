"""Awkward trainings: each builds a compiled model in float64 and the arguments of its `fit`."""

import keras
import numpy as np
import tensorflow as tf
from keras import layers

SAMPLES = 70
random = np.random.default_rng(0)
X = random.random((SAMPLES, 8))
Y = random.random((SAMPLES, 3))
Z = random.random((SAMPLES, 8))
CLASSES = random.integers(0, 3, SAMPLES)
WEIGHTS = random.random(SAMPLES)
TOKENS = random.integers(1, 20, (SAMPLES, 6))
TOKENS[:, 3:] *= random.random((SAMPLES, 3)) > 0.5
TAGS = random.integers(0, 4, (SAMPLES, 6))


def mlp(optimizer=None, loss="mse", cls=keras.Model, compile_with=None, **dense):
    inputs = keras.Input((8,))
    hidden = layers.Dense(16, activation="tanh", **dense)(inputs)
    model = cls(inputs, layers.Dense(3)(hidden))
    model.compile(optimizer or keras.optimizers.Adam(0.01), loss, **(compile_with or {}))
    return model


def sample_weights():
    return mlp(compile_with={"weighted_metrics": ["mae"]}), {"x": X, "y": Y, "sample_weight": WEIGHTS}


def class_weights():
    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Dense(3, activation="softmax")(inputs))
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model, {"x": X, "y": CLASSES, "class_weight": {0: 1.0, 1: 3.0, 2: 0.2}}


def tagger(loss="sparse_categorical_crossentropy"):
    inputs = keras.Input((6,))
    hidden = layers.LSTM(8, return_sequences=True)(layers.Embedding(20, 8, mask_zero=True)(inputs))
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(hidden))
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def masks():
    return tagger(), {"x": TOKENS, "y": TAGS}


def masks_and_weights():
    return tagger(), {"x": TOKENS, "y": TAGS, "sample_weight": random.random((SAMPLES, 6))}


def mean_by_weights():
    loss = keras.losses.MeanSquaredError(reduction="mean_with_sample_weight")
    return mlp(loss=loss), {"x": X, "y": Y, "sample_weight": WEIGHTS}


def sums():
    return mlp(loss=keras.losses.MeanSquaredError(reduction="sum"), kernel_regularizer="l2"), {"x": X, "y": Y}


def regularizers():
    model = mlp(kernel_regularizer=keras.regularizers.L2(0.1), activity_regularizer=keras.regularizers.L1(0.05))
    return model, {"x": X, "y": Y}


class Penalty(layers.Layer):
    def call(self, x):
        self.add_loss(keras.ops.mean(x**2) * 0.3)
        return x


def added_loss():
    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Dense(3)(Penalty()(layers.Dense(16)(inputs))))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model, {"x": X, "y": Y}


def several_outputs():
    inputs = [keras.Input((8,), name="one"), keras.Input((8,), name="two")]
    hidden = layers.Dense(16, activation="tanh")(layers.Concatenate()(inputs))
    outputs = {"a": layers.Dense(3, name="a")(hidden), "b": layers.Dense(3, activation="softmax", name="b")(hidden)}
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.Adam(0.01),
        {"a": "mse", "b": "sparse_categorical_crossentropy"},
        loss_weights={"a": 0.5, "b": 2.0},
        metrics={"b": ["accuracy"]},
    )
    return model, {"x": {"one": X, "two": Z}, "y": {"a": Y, "b": CLASSES}}


def clipped():
    return mlp(keras.optimizers.Adam(0.01, clipnorm=0.01)), {"x": X, "y": Y}


def clipped_globally():
    return mlp(keras.optimizers.AdamW(0.01, global_clipnorm=0.01)), {"x": X, "y": Y}


def averaged_weights():
    return mlp(keras.optimizers.SGD(0.1, momentum=0.9, use_ema=True, ema_overwrite_frequency=2)), {"x": X, "y": Y}


def kerass_own_accumulation():
    return mlp(keras.optimizers.Adam(0.01, gradient_accumulation_steps=2)), {"x": X, "y": Y}


def scaled_loss():
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.Adam(0.01), initial_scale=2.0**10, dynamic_growth_steps=2
    )
    return mlp(optimizer), {"x": X, "y": Y}


def scheduled():
    rate = keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.7)
    return mlp(keras.optimizers.RMSprop(rate)), {"x": X, "y": Y}


def several_steps_at_once():
    return mlp(compile_with={"steps_per_execution": 3}), {"x": X, "y": Y}


def compiled_by_xla():
    return mlp(compile_with={"jit_compile": True}), {"x": X, "y": Y}


def eager():
    return mlp(compile_with={"run_eagerly": True}), {"x": X, "y": Y}


def eager_masks():
    model = tagger()
    model.run_eagerly = True
    return model, {"x": TOKENS[:32], "y": TAGS[:32]}


def scores():
    inputs = keras.Input((8,))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(inputs))
    metrics = [keras.metrics.AUC(), keras.metrics.F1Score(threshold=0.5)]
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=metrics)
    return model, {"x": X, "y": (CLASSES[:, None] > 0).astype(float)}


def validated():
    return mlp(compile_with={"metrics": ["mae"]}), {"x": X, "y": Y, "validation_split": 0.3}


def masks_validated():
    return tagger(), {"x": TOKENS, "y": TAGS, "validation_data": (TOKENS[::-1], TAGS[::-1])}


def sparse_embedding():
    inputs = keras.Input((6,))
    model = keras.Model(inputs, layers.Dense(3)(layers.Flatten()(layers.Embedding(20, 8)(inputs))))
    model.compile(keras.optimizers.SGD(0.1, clipnorm=0.1), "mse")
    return model, {"x": TOKENS, "y": Y}


def a_data_set():
    data = tf.data.Dataset.from_tensor_slices((X, Y)).batch(16, drop_remainder=True)
    return mlp(), {"x": data}


def a_generator():
    def batches():
        for low in range(0, SAMPLES, 16):
            yield X[low : low + 16], Y[low : low + 16]

    return mlp(), {"x": batches(), "steps_per_epoch": 5, "epochs": 1}


def not_built():
    model = keras.Sequential([layers.Dense(16, activation="tanh"), layers.Dense(3)])
    model.compile(keras.optimizers.Adam(0.01), "mse", metrics=["mae"])
    return model, {"x": X, "y": Y}


class CustomStep(keras.Model):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.tracker = keras.metrics.Mean(name="tracked")

    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = tf.reduce_mean((predicted - y) ** 2) + tf.reduce_mean(tf.abs(predicted))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        self.tracker.update_state(loss)
        return {"plain": loss, "tracked": self.tracker.result()}


def custom_step():
    return mlp(cls=CustomStep, loss=None), {"x": X, "y": Y}


class Momentum(CustomStep):
    """Follows its own weights slowly, after each update, and counts its steps."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.steps = self.add_weight(shape=(), initializer="zeros", trainable=False, name="steps")
        self.slow = [
            self.add_weight(shape=w.shape, initializer="zeros", trainable=False, name=f"slow_{i}")
            for i, w in enumerate(self.trainable_variables)
        ]

    def train_step(self, data):
        logs = super().train_step(data)
        for slow, weight in zip(self.slow, self.trainable_variables, strict=True):
            slow.assign(0.9 * slow + 0.1 * weight)
        self.steps.assign_add(1)
        return logs


def weights_followed():
    return mlp(cls=Momentum, loss=None), {"x": X, "y": Y}


class Gan(keras.Model):
    def __init__(self):
        super().__init__()
        self.judge = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="tanh"), layers.Dense(1)])
        self.maker = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="tanh"), layers.Dense(8)])
        self.judge_loss = keras.metrics.Mean(name="judge")
        self.maker_loss = keras.metrics.Mean(name="maker")
        self.bce = keras.losses.BinaryCrossentropy(from_logits=True)

    def compile(self):
        super().compile(optimizer=None, loss=None)
        self.judge_optimizer = keras.optimizers.Adam(0.01)
        self.maker_optimizer = keras.optimizers.Adam(0.01)

    @property
    def metrics(self):
        return [self.judge_loss, self.maker_loss]

    def train_step(self, data):
        real, noise = data
        fake = self.maker(noise)
        with tf.GradientTape() as tape:
            a, b = self.judge(real), self.judge(fake)
            judged = self.bce(tf.ones_like(a), a) + self.bce(tf.zeros_like(b), b)
        weights = self.judge.trainable_variables
        self.judge_optimizer.apply(tape.gradient(judged, weights), weights)
        with tf.GradientTape() as tape:
            b = self.judge(self.maker(noise))
            made = self.bce(tf.ones_like(b), b)
        weights = self.maker.trainable_variables
        self.maker_optimizer.apply(tape.gradient(made, weights), weights)
        self.judge_loss.update_state(judged)
        self.maker_loss.update_state(made)
        return {"judge": self.judge_loss.result(), "maker": self.maker_loss.result()}


def two_optimizers():
    model = Gan()
    model.compile()
    return model, {"x": X, "y": Z}


class Together(Gan):
    """Both gradients first, then both updates."""

    def train_step(self, data):
        real, noise = data
        with tf.GradientTape(persistent=True) as tape:
            a, b = self.judge(real), self.judge(self.maker(noise))
            judged = self.bce(tf.ones_like(a), a) + self.bce(tf.zeros_like(b), b)
            made = self.bce(tf.ones_like(b), b)
        ours, theirs = self.maker.trainable_variables, self.judge.trainable_variables
        first, second = tape.gradient(made, ours), tape.gradient(judged, theirs)
        self.maker_optimizer.apply(first, ours)
        self.judge_optimizer.apply(second, theirs)
        return {"judge": judged, "maker": made}


def two_optimizers_together():
    model = Together()
    model.compile()
    return model, {"x": X, "y": Z}


CASES = [
    sample_weights,
    class_weights,
    masks,
    masks_and_weights,
    mean_by_weights,
    sums,
    regularizers,
    added_loss,
    several_outputs,
    clipped,
    clipped_globally,
    averaged_weights,
    kerass_own_accumulation,
    scaled_loss,
    scheduled,
    several_steps_at_once,
    compiled_by_xla,
    eager,
    eager_masks,
    scores,
    validated,
    masks_validated,
    sparse_embedding,
    a_data_set,
    a_generator,
    not_built,
    custom_step,
    weights_followed,
    two_optimizers,
    two_optimizers_together,
]
