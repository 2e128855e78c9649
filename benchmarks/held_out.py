"""Models that no rule, speed or margin of the estimate was chosen on: they were written after all of those.

Whoever changes the estimate because of one of these moves it to `everyday.py`.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from benchmarks.models import CLASSES, LOGITS, classified, compiled
from benchmarks.optimizers import averaging, clipping, momentum
from benchmarks.registry import architecture, floats, variant, whole

# Images


@architecture(floats(96, 96, 3), whole(10), 16)
def mobilenet_v1() -> keras.Model:
    model = keras.applications.MobileNet(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, "adam", CLASSES, metrics=["accuracy"])


@architecture(floats(64, 64, 3), floats(64, 64, 3), 12)
def image_translation() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    skipped = []
    for filters in (32, 64, 128, 128):
        x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
        skipped.append(x)
    for filters, skip in zip((128, 64, 32), reversed(skipped[:-1]), strict=True):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.Concatenate()([layers.ReLU()(layers.Dropout(0.5)(layers.BatchNormalization()(x))), skip])
    outputs = layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x)
    return compiled(keras.Model(inputs, outputs), "adam", "mae")


@architecture(floats(48, 48, 3), whole(10), 32, variant("bfloat16", 48, policy="mixed_bfloat16"))
def conv_mixer() -> keras.Model:
    x = inputs = keras.Input((48, 48, 3))
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(96, 3, strides=3)(x)))
    for _ in range(4):
        mixed = layers.DepthwiseConv2D(5, padding="same")(x)
        x = layers.Add()([layers.BatchNormalization()(layers.Activation("gelu")(mixed)), x])
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(96, 1)(x)))
    return compiled(keras.Model(inputs, classified(layers.GlobalAveragePooling2D()(x))), "adamw", CLASSES)


@architecture(floats(12, 28, 28, 2), floats(12, 28, 28, 1), 4)
def volumes() -> keras.Model:
    x = inputs = keras.Input((12, 28, 28, 2))
    x = skip = layers.Conv3D(16, 3, padding="same", activation="relu")(x)
    x = layers.Conv3D(32, 3, padding="same", activation="relu")(layers.MaxPooling3D()(x))
    x = layers.Concatenate()([layers.UpSampling3D()(x), skip])
    outputs = layers.Conv3D(1, 1, activation="sigmoid")(layers.Conv3D(16, 3, padding="same", activation="relu")(x))
    return compiled(keras.Model(inputs, outputs), "rmsprop", "binary_crossentropy")


# Sequences


@architecture(floats(160, 80), whole(40, 40), 16)
def speech() -> keras.Model:
    inputs = keras.Input((160, 80))
    x = layers.Reshape((160, 80, 1))(inputs)
    for _ in range(2):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 3, strides=2, padding="same")(x)))
    x = layers.Reshape((40, 20 * 32))(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.GRU(96, return_sequences=True))(x)
    return compiled(keras.Model(inputs, layers.Dense(40)(x)), clipping, LOGITS(from_logits=True))


@architecture([whole(7000, 60), whole(90, 60)], whole(9, 60), 32)
def named_entities() -> keras.Model:
    words, shapes = keras.Input((60,), dtype="int32"), keras.Input((60,), dtype="int32")
    x = layers.Concatenate()([layers.Embedding(7000, 100)(words), layers.Embedding(90, 20)(shapes)])
    x = layers.Conv1D(128, 3, padding="same", activation="relu")(layers.SpatialDropout1D(0.2)(x))
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True, recurrent_dropout=0.1))(x)
    outputs = layers.TimeDistributed(layers.Dense(9, activation="softmax"))(x)
    return compiled(keras.Model([words, shapes], outputs), "adam", CLASSES, metrics=["accuracy"])


def dilated(x: Any, dilation: int) -> Any:
    y = layers.Conv1D(48, 3, padding="causal", dilation_rate=dilation, activation="relu")(x)
    y = layers.SpatialDropout1D(0.1)(layers.LayerNormalization()(y))
    return layers.Add()([y, layers.Conv1D(48, 1)(x)])


@architecture(floats(300, 6), floats(300, 1), 32)
def sensor_forecast() -> keras.Model:
    x = inputs = keras.Input((300, 6))
    for dilation in (1, 2, 4, 8):
        x = dilated(x, dilation)
    return compiled(keras.Model(inputs, layers.Dense(1)(x)), averaging, "mae")


@architecture(floats(512, 3), whole(12), 24)
def points() -> keras.Model:
    x = inputs = keras.Input((512, 3))
    turn = layers.Dense(9)(layers.GlobalMaxPooling1D()(layers.Conv1D(64, 1, activation="relu")(x)))
    x = layers.Dot(axes=(2, 1))([x, layers.Reshape((3, 3))(turn)])
    for units in (64, 128, 512):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(units, 1)(x)))
    x = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(layers.GlobalMaxPooling1D()(x)))
    return compiled(keras.Model(inputs, classified(x, 12)), "adam", CLASSES)


# Attention


@architecture(floats(64, 64, 3), whole(20), 16)
def windows() -> keras.Model:
    """Attention within windows of an image, merged to half the resolution between two stages."""
    x = inputs = keras.Input((64, 64, 3))
    x, side = layers.Conv2D(48, 4, strides=4)(x), 16
    for width, heads in ((48, 3), (96, 6)):
        count = (side // 4) ** 2
        y = ops.reshape(x, (-1, side // 4, 4, side // 4, 4, width))
        y = ops.reshape(ops.transpose(y, (0, 1, 3, 2, 4, 5)), (-1, count * 16, width))
        y = ops.reshape(y, (-1, 16, width))
        y = y + layers.MultiHeadAttention(heads, 16)(layers.LayerNormalization()(y), y)
        y = y + layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(y)))
        x = ops.reshape(y, (-1, side, side, width))
        if side == 16:
            x, side = layers.Conv2D(96, 2, strides=2)(x), 8
    x = layers.GlobalAveragePooling2D()(x)
    return compiled(keras.Model(inputs, classified(x, 20)), "adamw", CLASSES, metrics=["accuracy"])


@architecture({"numbers": floats(24), "kinds": whole(200, 12)}, floats(1), 256)
def table_transformer() -> keras.Model:
    numbers, kinds = keras.Input((24,), name="numbers"), keras.Input((12,), dtype="int32", name="kinds")
    x = layers.Embedding(200, 32)(kinds)
    for _ in range(3):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8, dropout=0.1)(x, x))
        x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(128, activation="relu")(x)))
    x = layers.Concatenate()([layers.Flatten()(x), layers.LayerNormalization()(numbers)])
    outputs = layers.Dense(1, activation="sigmoid")(layers.Dense(256, activation="selu")(x))
    model = keras.Model({"numbers": numbers, "kinds": kinds}, outputs)
    return compiled(model, "nadam", "binary_crossentropy", metrics=["AUC"])


# Wide layers and tables


@architecture([whole(25_000), whole(25_000)], floats(1), 8192)
def word_vectors() -> keras.Model:
    word, context = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    near = layers.Dot(-1)([layers.Embedding(25_000, 100)(word), layers.Embedding(25_000, 100)(context)])
    outputs = layers.Activation("sigmoid")(near)
    return compiled(keras.Model([word, context], outputs), "adam", "binary_crossentropy")


@architecture(floats(600), floats(1), 2048)
def residual_mlp() -> keras.Model:
    x = inputs = keras.Input((600,))
    x = layers.Dense(512)(x)
    for _ in range(4):
        y = layers.Dropout(0.2)(layers.Dense(1024, activation="swish")(layers.BatchNormalization()(x)))
        x = layers.Add()([x, layers.Dense(512)(y)])
    return compiled(keras.Model(inputs, layers.Dense(1)(x)), momentum, "mse", metrics=["mae"])


# Steps of the user's own


class Forger(keras.Model):
    """Two networks against each other, each with its optimizer and one tape for both."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = keras.Sequential([keras.Input((32, 32, 3))])
        for filters in (32, 64):
            self.critic.add(layers.Conv2D(filters, 4, strides=2, padding="same"))
            self.critic.add(layers.LeakyReLU(0.2))
        self.critic.add(layers.Flatten())
        self.critic.add(layers.Dense(1))
        self.maker = keras.Sequential([keras.Input((64,)), layers.Dense(8 * 8 * 64), layers.Reshape((8, 8, 64))])
        for filters in (64, 32):
            self.maker.add(layers.Conv2DTranspose(filters, 4, strides=2, padding="same"))
            self.maker.add(layers.BatchNormalization())
            self.maker.add(layers.ReLU())
        self.maker.add(layers.Conv2D(3, 5, padding="same", activation="tanh"))
        self.loss_of = keras.losses.BinaryCrossentropy(from_logits=True)
        self.tracker = keras.metrics.Mean(name="critic")

    def compile(self, **options: Any) -> None:
        super().compile(**options)
        self.for_maker = keras.optimizers.Adam(2e-4, beta_1=0.5)

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        real = data[0] if isinstance(data, tuple) else data
        count = tf.shape(real)[0]
        with tf.GradientTape(persistent=True) as tape:
            made = self.maker(tf.random.normal((count, 64)), training=True)
            said, forged = self.critic(real, training=True), self.critic(made, training=True)
            judged = self.loss_of(ops.ones_like(said), said) + self.loss_of(ops.zeros_like(forged), forged)
            fooled = self.loss_of(ops.ones_like(forged), forged)
        for loss, network, optimizer in (
            (judged, self.critic, self.optimizer),
            (fooled, self.maker, self.for_maker),
        ):
            optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        self.tracker.update_state(judged)
        return {"critic": self.tracker.result()}


@architecture(floats(32, 32, 3), None, 64, needs_x=True)
def forgery() -> keras.Model:
    model = Forger()
    model.compile(optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5))
    return model


class Triplets(keras.Model):
    """One tower for three images, and a loss on the distances of what it makes of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tower = keras.Sequential(
            [layers.Conv2D(width, 3, padding="same", activation="relu") for width in (24, 48)]
            + [layers.MaxPooling2D(), layers.Flatten(), layers.Dense(64)]
        )

    def call(self, images: Any) -> Any:
        return [ops.normalize(self.tower(image)) for image in images]

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        images = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            anchor, near, far = self(images)
            apart = ops.sum((anchor - near) ** 2, -1) - ops.sum((anchor - far) ** 2, -1)
            loss = ops.mean(ops.maximum(apart + 0.5, 0.0))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture([floats(32, 32, 3)] * 3, None, 32, needs_x=True)
def triplets() -> keras.Model:
    return compiled(Triplets(), "sgd", None)
