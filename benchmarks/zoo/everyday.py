"""More models, as people write them: the speeds of kernels with AVX-512 and the margins were chosen with these."""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from benchmarks.optimizers import clipping, momentum, weight_decaying
from benchmarks.registry import architecture, floats, variant, whole
from benchmarks.zoo.models import CLASSES, LOGITS, classified, compiled

# Convolutions


@architecture(floats(64, 64, 3), whole(10), 64)
def plain_sequential() -> keras.Model:
    model = keras.Sequential([keras.Input((64, 64, 3)), layers.Rescaling(1 / 255)])
    for filters in (16, 32, 64, 128):
        model.add(layers.Conv2D(filters, 3, activation="relu"))
        model.add(layers.MaxPooling2D())
    for layer in (layers.Flatten(), layers.Dense(128, activation="relu"), layers.Dropout(0.5), layers.Dense(10)):
        model.add(layer)
    return compiled(model, "adam", LOGITS(from_logits=True), metrics=["accuracy"])


def bottleneck(x: Any, filters: int, strides: int) -> Any:
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(filters, 1, strides=strides)(x)))
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", groups=4)(y)))
    y = layers.BatchNormalization()(layers.Conv2D(4 * filters, 1)(y))
    shortcut = layers.BatchNormalization()(layers.Conv2D(4 * filters, 1, strides=strides)(x))
    return layers.ReLU()(layers.Add()([y, shortcut]))


@architecture(floats(64, 64, 3), whole(20), 16)
def resnext() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    x = layers.MaxPooling2D()(layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 7, padding="same")(x))))
    for filters, strides in ((32, 1), (32, 1), (64, 2), (64, 1)):
        x = bottleneck(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(x)
    return compiled(keras.Model(inputs, classified(x, 20)), momentum, CLASSES, metrics=["accuracy"])


@architecture(floats(48, 48, 3), whole(10), 32)
def densely_connected() -> keras.Model:
    x = inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(24, 3, padding="same")(x)
    for _ in range(2):
        for _ in range(4):
            grown = layers.Conv2D(12, 3, padding="same")(layers.ReLU()(layers.BatchNormalization()(x)))
            x = layers.Concatenate()([x, grown])
        x = layers.AveragePooling2D(2)(layers.Conv2D(x.shape[-1] // 2, 1)(x))
    x = layers.GlobalAveragePooling2D()(x)
    return compiled(keras.Model(inputs, classified(x)), "adadelta", CLASSES)


@architecture(floats(64, 64, 3), floats(64, 64, 3), 24)
def autoencoder() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (32, 64):
        x = layers.MaxPooling2D(padding="same")(layers.Conv2D(filters, 3, activation="relu", padding="same")(x))
    for filters in (64, 32):
        x = layers.UpSampling2D()(layers.Conv2D(filters, 3, activation="relu", padding="same")(x))
    outputs = layers.Conv2D(3, 3, activation="sigmoid", padding="same")(x)
    return compiled(keras.Model(inputs, outputs), "adam", "binary_crossentropy")


@architecture(floats(128, 128, 3), floats(128, 128, 2), 8)
def segmenter() -> keras.Model:
    """A U-Net with transposed convolutions and dropout."""
    x = inputs = keras.Input((128, 128, 3))
    skipped = []
    for filters in (16, 32, 64):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(layers.Dropout(0.1)(x))
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(128, 3, padding="same", activation="relu")(x)
    for filters, skip in zip((64, 32, 16), reversed(skipped), strict=True):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(layers.Concatenate()([x, skip]))
    return compiled(
        keras.Model(inputs, layers.Conv2D(2, 1, activation="softmax")(x)),
        "adam",
        "categorical_crossentropy",
        metrics=["accuracy"],
    )


@architecture(floats(16, 40, 40, 1), whole(2), 6)
def scans() -> keras.Model:
    x = inputs = keras.Input((16, 40, 40, 1))
    for filters in (32, 64):
        x = layers.Conv3D(filters, 3, activation="relu")(x)
        x = layers.BatchNormalization()(layers.MaxPooling3D()(x))
    x = layers.Dense(128, activation="relu")(layers.GlobalAveragePooling3D()(x))
    outputs = layers.Dense(1, activation="sigmoid")(layers.Dropout(0.3)(x))
    return compiled(keras.Model(inputs, outputs), "adam", "binary_crossentropy", metrics=["acc"])


@architecture(floats(10, 48, 48, 3), whole(5), 6)
def frames() -> keras.Model:
    """A convolutional model applied to each frame, and a recurrent one over them."""
    inputs = keras.Input((10, 48, 48, 3))
    seen = keras.Sequential([keras.Input((48, 48, 3)), layers.Conv2D(32, 3, strides=2, activation="relu")])
    seen.add(layers.Conv2D(64, 3, strides=2, activation="relu"))
    seen.add(layers.GlobalAveragePooling2D())
    x = layers.GRU(64)(layers.TimeDistributed(seen)(inputs))
    return compiled(keras.Model(inputs, classified(x, 5)), "adam", CLASSES, metrics=["accuracy"])


@architecture(floats(96, 96, 3), whole(10), 16, variant("bfloat16", 24, policy="mixed_bfloat16"))
def mobilenet_v3() -> keras.Model:
    model = keras.applications.MobileNetV3Small(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, "adam", CLASSES)


@architecture(floats(96, 96, 3), whole(10), 8)
def xception() -> keras.Model:
    model = keras.applications.Xception(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, momentum, CLASSES)


@architecture(floats(64, 64, 3), whole(10), 16)
def vgg16() -> keras.Model:
    model = keras.applications.VGG16(weights=None, classes=10, input_shape=(64, 64, 3))
    return compiled(model, "sgd", CLASSES)


@architecture(floats(96, 96, 3), whole(10), 16)
def frozen_base() -> keras.Model:
    """Fine-tuning: the base is not trained, its statistics are not updated."""
    base = keras.applications.MobileNetV2(weights=None, include_top=False, input_shape=(96, 96, 3))
    base.trainable = False
    inputs = keras.Input((96, 96, 3))
    x = layers.GlobalAveragePooling2D()(base(inputs, training=False))
    return compiled(keras.Model(inputs, classified(x)), "adam", CLASSES, metrics=["accuracy"])


@architecture(floats(12, 28, 28, 2), floats(12, 28, 28, 1), 4)
def volumes() -> keras.Model:
    x = inputs = keras.Input((12, 28, 28, 2))
    x = skip = layers.Conv3D(16, 3, padding="same", activation="relu")(x)
    x = layers.Conv3D(32, 3, padding="same", activation="relu")(layers.MaxPooling3D()(x))
    x = layers.Concatenate()([layers.UpSampling3D()(x), skip])
    outputs = layers.Conv3D(1, 1, activation="sigmoid")(layers.Conv3D(16, 3, padding="same", activation="relu")(x))
    return compiled(keras.Model(inputs, outputs), "rmsprop", "binary_crossentropy")


# Sequences


@architecture(whole(10_000, 120), floats(1), 64)
def sentiment() -> keras.Model:
    tokens = keras.Input((120,), dtype="int32")
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(layers.Embedding(10_000, 64)(tokens))
    x = layers.Bidirectional(layers.LSTM(32))(x)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Dropout(0.5)(layers.Dense(64, activation="relu")(x)))
    return compiled(keras.Model(tokens, outputs), "adam", "binary_crossentropy", metrics=["accuracy"])


@architecture(floats(60, 12), floats(5), 128)
def forecast() -> keras.Model:
    x = inputs = keras.Input((60, 12))
    x = layers.Dropout(0.2)(layers.GRU(128, return_sequences=True)(x))
    x = layers.SimpleRNN(64)(x)
    return compiled(keras.Model(inputs, layers.Dense(5)(x)), clipping, "mse", metrics=["mae"])


@architecture(whole(64, 80), whole(64, 80), 48)
def characters() -> keras.Model:
    x = tokens = keras.Input((80,), dtype="int32")
    x = layers.LSTM(256, return_sequences=True)(layers.Embedding(64, 128)(x))
    return compiled(keras.Model(tokens, layers.Dense(64)(x)), "adam", LOGITS(from_logits=True))


@architecture(floats(2000, 1), whole(5), 32)
def heartbeats() -> keras.Model:
    x = inputs = keras.Input((2000, 1))
    for filters in (32, 64, 128):
        x = layers.Conv1D(filters, 7, padding="same", activation="relu")(x)
        x = layers.MaxPooling1D(4)(layers.BatchNormalization()(x))
    x = layers.Dense(64, activation="relu")(layers.Flatten()(x))
    return compiled(keras.Model(inputs, classified(x, 5)), "adam", CLASSES, metrics=["accuracy"])


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


class Encoder(layers.Layer):
    def __init__(self, width: int, heads: int, hidden: int, **options: Any) -> None:
        super().__init__(**options)
        self.attention = layers.MultiHeadAttention(heads, width)
        self.feed = keras.Sequential([layers.Dense(hidden, activation="relu"), layers.Dense(width)])
        self.normalized = [layers.LayerNormalization(epsilon=1e-6) for _ in range(2)]
        self.dropped = [layers.Dropout(0.1) for _ in range(2)]

    def call(self, x: Any, training: bool = False) -> Any:
        y = self.normalized[0](x + self.dropped[0](self.attention(x, x), training=training))
        return self.normalized[1](y + self.dropped[1](self.feed(y), training=training))


@architecture(whole(20_000, 200), whole(2), 32)
def text_transformer() -> keras.Model:
    tokens = keras.Input((200,), dtype="int32")
    x = layers.Embedding(20_000, 32)(tokens) + layers.Embedding(200, 32)(ops.arange(200))
    x = layers.GlobalAveragePooling1D()(Encoder(32, 2, 32)(x))
    x = layers.Dense(20, activation="relu")(layers.Dropout(0.1)(x))
    return compiled(keras.Model(tokens, classified(x, 2)), "adam", CLASSES, metrics=["accuracy"])


class Patches(layers.Layer):
    def __init__(self, size: int, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.size, self.projection = size, layers.Dense(width)

    def build(self, shape: tuple[int, ...]) -> None:
        self.count = (shape[1] // self.size) * (shape[2] // self.size)
        self.places = layers.Embedding(self.count, self.projection.units)

    def call(self, images: Any) -> Any:
        patches = ops.image.extract_patches(images, self.size)
        flat = ops.reshape(patches, (ops.shape(images)[0], self.count, patches.shape[-1]))
        return self.projection(flat) + self.places(ops.arange(self.count))


@architecture(floats(72, 72, 3), whole(100), 16, variant("bfloat16", 24, policy="mixed_bfloat16"))
def patch_transformer() -> keras.Model:
    x = inputs = keras.Input((72, 72, 3))
    x = Patches(6, 64)(x)
    for _ in range(4):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y)])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        for units in (128, 64):
            y = layers.Dropout(0.1)(layers.Dense(units, activation="gelu")(y))
        x = layers.Add()([x, y])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    x = layers.Dense(256, activation="gelu")(x)
    return compiled(keras.Model(inputs, classified(x, 100)), weight_decaying, CLASSES, metrics=["accuracy"])


@architecture(whole(5000, 128), whole(5000, 128), 12)
def language_model() -> keras.Model:
    """A decoder written with plain operations and a table shared with its outputs."""
    tokens = keras.Input((128,), dtype="int32")
    table = layers.ReversibleEmbedding(5000, 192)
    x = table(tokens) + layers.Embedding(128, 192)(ops.arange(128))
    later = ops.triu(ops.ones((128, 128)), k=1) * -1e9
    for _ in range(3):
        y = layers.LayerNormalization()(x)
        q, k, v = (ops.transpose(ops.reshape(layers.Dense(192)(y), (-1, 128, 6, 32)), (0, 2, 1, 3)) for _ in range(3))
        scores = ops.softmax(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) / 32**0.5 + later)
        mixed = ops.reshape(ops.transpose(ops.matmul(scores, v), (0, 2, 1, 3)), (-1, 128, 192))
        x = x + layers.Dense(192)(mixed)
        x = x + layers.Dense(192)(layers.Dense(768, activation="gelu")(layers.LayerNormalization()(x)))
    logits = table(layers.LayerNormalization()(x), reverse=True)
    return compiled(keras.Model(tokens, logits), weight_decaying, LOGITS(from_logits=True))


# Wide layers, tables, several inputs


@architecture(floats(784), whole(10), 512, variant("ftrl", 2048, optimizer="ftrl"))
def digits(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((784,))
    for units in (1024, 1024, 512):
        x = layers.Dropout(0.2)(layers.Activation("relu")(layers.BatchNormalization()(layers.Dense(units)(x))))
    return compiled(keras.Model(inputs, classified(x)), optimizer, CLASSES, metrics=["accuracy"])


@architecture([whole(30_000), whole(8_000), whole(500), floats(16)], floats(1), 1024)
def click_through() -> keras.Model:
    places = [keras.Input((), dtype="int32") for _ in range(3)]
    facts = keras.Input((16,))
    tables = [layers.Embedding(size, 32) for size in (30_000, 8_000, 500)]
    found = [table(place) for table, place in zip(tables, places, strict=True)]
    crossed = [layers.Dot(1)([found[i], found[j]]) for i in range(3) for j in range(i)]
    x = layers.Concatenate()([*found, *crossed, facts])
    for units in (256, 64):
        x = layers.Dense(units, activation="relu")(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    return compiled(keras.Model([*places, facts], outputs), "adagrad", "binary_crossentropy", metrics=["AUC"])


# Models of the user's own making


class ConvolutionalVae(keras.Model):
    """Its loss is made in its own step, of two parts, each with its metric."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = keras.Sequential(
            [
                layers.Conv2D(32, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2D(64, 3, strides=2, padding="same", activation="relu"),
                layers.Flatten(),
                layers.Dense(32),
            ]
        )
        self.decoder = keras.Sequential(
            [
                layers.Dense(7 * 7 * 64, activation="relu"),
                layers.Reshape((7, 7, 64)),
                layers.Conv2DTranspose(64, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2DTranspose(32, 3, strides=2, padding="same", activation="relu"),
                layers.Conv2DTranspose(1, 3, padding="same", activation="sigmoid"),
            ]
        )
        self.seed = keras.random.SeedGenerator(1)
        self.trackers = [keras.metrics.Mean(name=name) for name in ("reconstruction", "divergence")]

    def call(self, images: Any) -> Any:
        mean, spread = ops.split(self.encoder(images), 2, axis=1)
        z = mean + ops.exp(0.5 * spread) * keras.random.normal(ops.shape(mean), seed=self.seed)
        return self.decoder(z), mean, spread

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        images = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            made, mean, spread = self(images)
            apart = ops.mean(ops.sum(keras.losses.binary_crossentropy(images, made), axis=(1, 2)))
            divergence = ops.mean(ops.sum(-0.5 * (1 + spread - mean**2 - ops.exp(spread)), axis=1))
            loss = apart + divergence
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_weights), self.trainable_weights, strict=True)
        )
        for tracker, value in zip(self.trackers, (apart, divergence), strict=True):
            tracker.update_state(value)
        return {tracker.name: tracker.result() for tracker in self.trackers}


@architecture(floats(28, 28, 1), None, 128, needs_x=True)
def convolutional_vae() -> keras.Model:
    return compiled(ConvolutionalVae(), "adam", None)


@architecture(floats(48, 48, 3), None, 64, needs_x=True)
def contrastive() -> keras.Model:
    return compiled(Contrastive(), "adam", None)


class Contrastive(keras.Model):
    """Two views of each image, told from all others of the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.views = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomTranslation(0.1, 0.1)])
        self.encoder = keras.Sequential(
            [layers.Conv2D(width, 3, strides=2, activation="relu") for width in (32, 64, 96)]
            + [layers.Flatten(), layers.Dense(96)]
        )

    def call(self, images: Any) -> Any:
        return self.encoder(images)

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        images = data[0] if isinstance(data, tuple) else data
        with tf.GradientTape() as tape:
            one, other = (ops.normalize(self(self.views(images, training=True)), axis=1) for _ in range(2))
            alike = ops.matmul(one, ops.transpose(other)) / 0.1
            wanted = ops.arange(ops.shape(alike)[0])
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(wanted, alike, from_logits=True))
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights), self.trainable_weights)
        return {"loss": loss}
