"""Models that no rule, speed or margin of the estimate was chosen on: they were written after all of those.

Whoever changes the estimate because of one of these moves it to `everyday.py`.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from benchmarks.optimizers import averaging, clipping, momentum, weight_decaying
from benchmarks.registry import architecture, floats, variant, whole
from benchmarks.zoo.models import CLASSES, LOGITS, classified, compiled

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


@architecture(floats(32, 32, 3), whole(10), 128, variant("bfloat16", 96, policy="mixed_bfloat16"))
def cifar_net() -> keras.Model:
    model = keras.Sequential([keras.Input((32, 32, 3))])
    for filters, dropout in ((32, 0.2), (64, 0.3), (128, 0.4)):
        for _ in range(2):
            model.add(layers.Conv2D(filters, 3, padding="same", kernel_regularizer=keras.regularizers.L2(1e-4)))
            model.add(layers.Activation("elu"))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D())
        model.add(layers.Dropout(dropout))
    model.add(layers.Flatten())
    model.add(layers.Dense(10, activation="softmax", dtype="float32"))
    return compiled(model, momentum, CLASSES, metrics=["accuracy"])


def attended(x: Any) -> Any:
    """Weighs the channels by what their mean and their maximum say, then the places."""
    channels = x.shape[-1]
    shared = keras.Sequential([layers.Dense(channels // 8, activation="relu"), layers.Dense(channels)])
    mean, most = layers.GlobalAveragePooling2D(keepdims=True)(x), layers.GlobalMaxPooling2D(keepdims=True)(x)
    x = layers.Multiply()([x, ops.sigmoid(shared(mean) + shared(most))])
    described = layers.Concatenate()([ops.mean(x, -1, keepdims=True), ops.max(x, -1, keepdims=True)])
    return layers.Multiply()([x, layers.Conv2D(1, 7, padding="same", activation="sigmoid")(described)])


@architecture(floats(64, 64, 3), whole(20), 24)
def attentive_residual() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    x = layers.MaxPooling2D()(layers.Conv2D(32, 5, padding="same", activation="relu")(x))
    for filters, strides in ((32, 1), (64, 2), (128, 2)):
        y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        y = layers.ReLU()(layers.BatchNormalization()(y))
        y = attended(layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y)))
        x = layers.ReLU()(layers.Add()([y, layers.Conv2D(filters, 1, strides=strides)(x)]))
    outputs = classified(layers.GlobalAveragePooling2D()(x), 20)
    return compiled(keras.Model(inputs, outputs), weight_decaying, CLASSES, metrics=["accuracy"])


@architecture(floats(96, 96, 3), whole(10), 16)
def efficientnet_v2() -> keras.Model:
    model = keras.applications.EfficientNetV2B0(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, "lion", CLASSES, metrics=["accuracy"])


@architecture(floats(107, 107, 3), floats(14), 8)
def inception_v3() -> keras.Model:
    base = keras.applications.InceptionV3(weights=None, include_top=False, input_shape=(107, 107, 3), pooling="avg")
    outputs = layers.Dense(14, activation="sigmoid")(layers.Dropout(0.3)(base.output))
    return compiled(keras.Model(base.input, outputs), momentum, "binary_crossentropy", metrics=["AUC"])


@architecture(floats(64, 64, 1), floats(64, 64, 1), 16)
def image_denoiser() -> keras.Model:
    x = inputs = keras.Input((64, 64, 1))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    for _ in range(6):
        x = layers.Conv2D(32, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    outputs = layers.Subtract()([inputs, layers.Conv2D(1, 3, padding="same")(x)])
    return compiled(keras.Model(inputs, outputs), "adam", "mse")


@architecture(floats(64, 64, 3), {"age": floats(1), "gender": floats(1)}, 48)
def age_and_gender() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (32, 64, 96, 128):
        x = layers.MaxPooling2D()(layers.Conv2D(filters, 3, activation="relu")(x))
    x = layers.Flatten()(x)
    age = layers.Dropout(0.4)(layers.Dense(256, activation="relu")(x))
    gender = layers.Dropout(0.4)(layers.Dense(256, activation="relu")(x))
    outputs = {"age": layers.Dense(1, activation="relu", name="age")(age)}
    outputs["gender"] = layers.Dense(1, activation="sigmoid", name="gender")(gender)
    losses, weights = {"age": "mae", "gender": "binary_crossentropy"}, {"age": 0.1, "gender": 1.0}
    options: dict[str, Any] = {"loss_weights": weights, "metrics": {"age": "mse", "gender": "accuracy"}}
    return compiled(keras.Model(inputs, outputs), averaging, losses, **options)


# Images in time


@architecture(floats(8, 56, 56, 3), whole(10), 6)
def actions() -> keras.Model:
    """Convolutions in space, each followed by one in time."""
    x = inputs = keras.Input((8, 56, 56, 3))
    x = layers.Conv3D(16, (3, 7, 7), strides=(1, 2, 2), padding="same")(x)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for filters, strides in ((16, 1), (32, 2), (64, 2)):
        y = layers.Conv3D(filters, (1, 3, 3), strides=(1, strides, strides), padding="same")(x)
        y = layers.Conv3D(filters, (3, 1, 1), padding="same", activation="relu")(y)
        y = layers.LayerNormalization()(layers.Conv3D(filters, (1, 3, 3), padding="same")(y))
        x = layers.ReLU()(layers.Add()([y, layers.Conv3D(filters, 1, strides=(1, strides, strides))(x)]))
    outputs = classified(layers.GlobalAveragePooling3D()(x))
    return compiled(keras.Model(inputs, outputs), "adam", CLASSES, metrics=["accuracy"])


@architecture(floats(8, 40, 40, 2), floats(40, 40, 1), 8)
def rain_radar() -> keras.Model:
    x = inputs = keras.Input((8, 40, 40, 2))
    x = layers.BatchNormalization()(layers.ConvLSTM2D(24, 5, padding="same", return_sequences=True)(x))
    x = layers.ConvLSTM2D(16, 3, padding="same", dropout=0.1)(x)
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(x)
    return compiled(keras.Model(inputs, layers.Conv2D(1, 1, activation="relu")(x)), "rmsprop", "mse", metrics=["mae"])


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


@architecture([floats(49, 512), whole(5000, 30)], whole(5000, 30), 32)
def captions() -> keras.Model:
    seen, words = keras.Input((49, 512)), keras.Input((30,), dtype="int32")
    start = layers.Dense(256, activation="tanh")(layers.GlobalAveragePooling1D()(seen))
    x = layers.Dropout(0.3)(layers.Embedding(5000, 256, mask_zero=True)(words))
    x = layers.LSTM(256, return_sequences=True)(x, initial_state=[start, layers.Dense(256, activation="tanh")(start)])
    looked = layers.MultiHeadAttention(2, 64)(x, layers.Dense(256)(seen))
    x = layers.Dense(256, activation="relu")(layers.Add()([x, looked]))
    outputs = layers.Dense(5000, activation="softmax")(x)
    return compiled(keras.Model([seen, words], outputs), "adam", CLASSES, metrics=["accuracy"])


@architecture(whole(8000, 35), whole(8000, 35), 32)
def next_words() -> keras.Model:
    words = keras.Input((35,), dtype="int32")
    x = layers.Dropout(0.2)(layers.Embedding(8000, 200)(words))
    for _ in range(2):
        x = layers.Dropout(0.2)(layers.LSTM(200, return_sequences=True)(x))
    optimizer = keras.optimizers.SGD(1.0, global_clipnorm=5.0)
    return compiled(keras.Model(words, layers.Dense(8000)(x)), optimizer, LOGITS(from_logits=True))


@architecture(whole(15_000, 150), whole(6), 64)
def attentive_gru() -> keras.Model:
    words = keras.Input((150,), dtype="int32")
    x = layers.SpatialDropout1D(0.2)(layers.Embedding(15_000, 100, mask_zero=True)(words))
    x, forward, backward = layers.Bidirectional(layers.GRU(64, return_sequences=True, return_state=True))(x)
    query = layers.Reshape((1, 128))(layers.Concatenate()([forward, backward]))
    context = layers.Flatten()(layers.AdditiveAttention()([query, x]))
    x = layers.Dropout(0.3)(layers.Dense(64, activation="relu")(context))
    return compiled(keras.Model(words, classified(x, 6)), clipping, CLASSES, metrics=["accuracy"])


@architecture([whole(20_000, 40), whole(20_000, 40)], floats(1), 128)
def question_pairs() -> keras.Model:
    one, other = keras.Input((40,), dtype="int32"), keras.Input((40,), dtype="int32")
    table, reader = layers.Embedding(20_000, 150), layers.LSTM(128)
    first, second = reader(table(one)), reader(table(other))
    x = layers.Concatenate()([first, second, ops.abs(first - second), layers.Multiply()([first, second])])
    for _ in range(2):
        x = layers.Dropout(0.3)(layers.BatchNormalization()(layers.Dense(200, activation="relu")(x)))
    outputs = layers.Dense(1, activation="sigmoid")(x)
    return compiled(keras.Model([one, other], outputs), "nadam", "binary_crossentropy", metrics=["accuracy"])


@architecture(floats(240, 8), whole(4), 16, variant("float16", 12, policy="mixed_float16"))
def series_transformer() -> keras.Model:
    x = inputs = keras.Input((240, 8))
    for _ in range(4):
        y = layers.MultiHeadAttention(4, 64, dropout=0.2)(layers.LayerNormalization(epsilon=1e-6)(x), x)
        x = x + layers.Dropout(0.2)(y)
        y = layers.Conv1D(32, 1, activation="relu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = x + layers.Conv1D(8, 1)(layers.Dropout(0.2)(y))
    x = layers.GlobalAveragePooling1D(data_format="channels_first")(x)
    x = layers.Dropout(0.4)(layers.Dense(128, activation="relu")(x))
    return compiled(keras.Model(inputs, classified(x, 4)), "adam", CLASSES)


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


@architecture(floats(3072), floats(3072), 1024)
def denoising_autoencoder() -> keras.Model:
    model = keras.Sequential([keras.Input((3072,)), layers.GaussianNoise(0.2)])
    model.add(layers.Dense(1024, activation="relu"))
    model.add(layers.Dense(128, activation="relu", activity_regularizer=keras.regularizers.L1(1e-5)))
    model.add(layers.Dense(1024, activation="relu"))
    model.add(layers.Dense(3072, activation="sigmoid"))
    return compiled(model, keras.optimizers.Lamb(1e-3), "mse")


@architecture([whole(2000, 26), floats(13)], floats(1), 4096)
def deep_and_cross() -> keras.Model:
    kinds, numbers = keras.Input((26,), dtype="int32"), keras.Input((13,))
    table = layers.Embedding(26 * 2000, 16)
    x = deep = start = layers.Concatenate()([layers.Flatten()(table(kinds + 2000 * ops.arange(26))), numbers])
    for _ in range(3):
        x = layers.Add()([layers.Multiply()([start, layers.Dense(start.shape[-1])(x)]), x])
    for _ in range(2):
        deep = layers.Dense(400, activation="relu", kernel_regularizer="l2")(deep)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([x, deep]))
    return compiled(keras.Model([kinds, numbers], outputs), "adagrad", "binary_crossentropy", metrics=["AUC"])


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


class Codebook(layers.Layer):
    """Puts the nearest of its codes in the place of each vector, and lets the gradient through."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.codes = self.add_weight((shape[-1], 256), initializer="random_uniform")

    def call(self, x: Any) -> Any:
        flat = ops.reshape(x, (-1, x.shape[-1]))
        apart = ops.sum(flat**2, 1, keepdims=True) + ops.sum(self.codes**2, 0) - 2 * ops.matmul(flat, self.codes)
        chosen = ops.one_hot(ops.argmin(apart, axis=1), 256)
        nearest = ops.reshape(ops.matmul(chosen, ops.transpose(self.codes)), ops.shape(x))
        self.add_loss(0.25 * ops.mean((ops.stop_gradient(nearest) - x) ** 2))
        self.add_loss(ops.mean((nearest - ops.stop_gradient(x)) ** 2))
        return x + ops.stop_gradient(nearest - x)


class VectorQuantized(keras.Model):
    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        images = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            loss = ops.mean((self(images, training=True) - images) ** 2) / 0.1 + sum(self.losses)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture(floats(64, 64, 3), None, 48, needs_x=True)
def vector_quantized() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (48, 96):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    x = Codebook()(layers.Conv2D(24, 1)(x))
    for filters in (96, 48):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", activation="relu")(x)
    model = VectorQuantized(inputs, layers.Conv2DTranspose(3, 3, padding="same")(x))
    return compiled(model, "adam", None)
