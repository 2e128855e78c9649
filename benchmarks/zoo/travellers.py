"""Models by a fourth stranger, who had not seen the estimate.

They were unseen when they were first scored; since then they are known.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf
from keras import (
    applications,
    constraints,
    initializers,
    layers,
    losses,
    metrics,
    ops,
    optimizers,
    random,
    regularizers,
)

from benchmarks.registry import architecture, floats, variant, whole

# Pictures


@architecture(floats(28, 28, 1), floats(10), 384)
def fashion_articles() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, padding="same", activation="relu", kernel_initializer="he_normal"),
            layers.Conv2D(32, 3, padding="same", activation="relu", kernel_initializer="he_normal"),
            layers.MaxPooling2D(2),
            layers.Dropout(0.25),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.AveragePooling2D(2),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(256, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile(optimizers.Nadam(1e-3), losses.CategoricalCrossentropy(label_smoothing=0.1), metrics=["accuracy"])
    return model


@architecture(floats(150, 150, 3), whole(6), 20, variant("accumulated", 20, steps=4))
def intel_scenes(steps: int | None = None) -> keras.Model:
    inputs = keras.Input((150, 150, 3))
    x = inputs
    for filters in (24, 48, 96, 160):
        x = layers.Conv2D(
            filters,
            3,
            activation="relu",
            kernel_regularizer=regularizers.L1L2(1e-6, 1e-4),
            kernel_constraint=constraints.MaxNorm(3, axis=(0, 1, 2)),
        )(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Dropout(0.5)(layers.Flatten()(x))
    x = layers.Dense(320, activation="relu", kernel_regularizer="l2")(x)
    model = keras.Model(inputs, layers.Dense(6, activation="softmax")(x))
    adam = optimizers.Adam(1e-4, amsgrad=True, gradient_accumulation_steps=steps)
    model.compile(adam, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(112, 112, 3), whole(12), 20)
def garbage_sorting() -> keras.Model:
    """EfficientNetV2 up to its last block, with the pictures changed inside; its normalizations stay as they were."""
    base = applications.EfficientNetV2B0(include_top=False, weights=None, input_shape=(112, 112, 3))
    base = keras.Model(base.input, base.get_layer("block6a_expand_activation").output)
    for layer in base.layers:
        kept = isinstance(layer, layers.BatchNormalization) or layer.name.startswith(("stem", "block1", "block2"))
        layer.trainable = not kept
    inputs = keras.Input((112, 112, 3))
    x = layers.RandomFlip("horizontal_and_vertical")(inputs)
    x = layers.RandomTranslation(0.1, 0.1, fill_mode="nearest")(x)
    x = layers.RandomBrightness(0.2, value_range=(0.0, 1.0))(layers.RandomContrast(0.2)(x))
    x = layers.GlobalMaxPooling2D()(base(layers.Rescaling(255.0)(x)))
    x = layers.Dropout(0.3)(layers.Dense(256, activation="silu")(x))
    model = keras.Model(inputs, layers.Dense(12, activation="softmax")(x))
    rate = optimizers.schedules.ExponentialDecay(1e-3, 400, 0.9, staircase=True)
    model.compile(optimizers.RMSprop(rate, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Mixing(keras.Model):
    """Each step trains on pictures that were laid over one another."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.mix = layers.MixUp(alpha=0.4)

    def train_step(self, data: Any) -> Any:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        mixed = self.mix({"images": x, "labels": y}, training=True)
        return super().train_step((mixed["images"], mixed["labels"]))


@architecture(floats(128, 128, 3), floats(5), 16)
def cassava_leaves() -> keras.Model:
    base = applications.Xception(include_top=False, weights=None, input_shape=(128, 128, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith(("block12", "block13", "block14", "conv2d"))
    x = base.output
    x = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.GlobalMaxPooling2D()(x)])
    model = Mixing(base.input, layers.Dense(5, activation="softmax")(layers.Dropout(0.4)(x)))
    model.compile(optimizers.Adam(1e-3, weight_decay=1e-5), "categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(128, 131, 1), whole(10), 18)
def music_genres() -> keras.Model:
    """A mel spectrogram as a picture, with an odd number of columns."""
    model = keras.Sequential([keras.Input((128, 131, 1)), layers.BatchNormalization(axis=2)])
    for filters, pool in ((32, (2, 2)), (64, (3, 3)), (96, (2, 2)), (128, (2, 2))):
        model.add(layers.Conv2D(filters, 3, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.ELU())
        model.add(layers.MaxPooling2D(pool))
        model.add(layers.SpatialDropout2D(0.1))
    model.add(layers.Permute((2, 1, 3)))
    model.add(layers.Reshape((10, -1)))
    model.add(layers.GRU(64, return_sequences=True))
    model.add(layers.GRU(64))
    model.add(layers.Dense(10))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Adamax(2e-3), loss, metrics=["sparse_categorical_accuracy"])
    return model


@architecture(floats(24, 24, 24, 1), floats(24, 24, 24, 1), 24)
def voxel_completion() -> keras.Model:
    """Fills in the half of a shape that the camera did not see."""
    inputs = keras.Input((24, 24, 24, 1))
    x, skips = inputs, []
    for filters in (8, 16, 32):
        x = layers.LeakyReLU(0.1)(layers.Conv3D(filters, 3, strides=2, padding="same")(x))
        skips.append(x)
    x = layers.Dense(400, activation="relu")(layers.Flatten()(x))
    x = layers.Reshape((3, 3, 3, 64))(layers.Dense(3 * 3 * 3 * 64, activation="relu")(x))
    for filters, skip in zip((24, 12, 8), reversed(skips), strict=True):
        x = layers.Concatenate()([x, skip])
        x = layers.BatchNormalization()(layers.Conv3D(filters, 3, padding="same", activation="relu")(x))
        x = layers.Conv3DTranspose(filters, 2, strides=2, activation="relu")(x)
    x = layers.GaussianDropout(0.1)(x)
    model = keras.Model(inputs, layers.Conv3D(1, 1, activation="sigmoid")(x))
    model.compile(
        optimizers.Adam(1e-3, clipnorm=5.0), losses.Tversky(alpha=0.4, beta=0.6), metrics=[metrics.BinaryIoU([1])]
    )
    return model


class Involution(layers.Layer):
    """A kernel of its own for every place, shared by the channels of a group."""

    def __init__(self, channels: int, groups: int, size: int = 3, **options: Any) -> None:
        super().__init__(**options)
        self.channels, self.groups, self.size = channels, groups, size
        self.reduce = keras.Sequential([layers.Conv2D(channels // 4, 1), layers.BatchNormalization(), layers.ReLU()])
        self.kernels = layers.Conv2D(size * size * groups, 1)

    def build(self, shape: Any) -> None:
        self.reduce.build(shape)
        self.kernels.build((*shape[:-1], self.channels // 4))

    def call(self, x: Any, training: bool = False) -> Any:
        height, width = x.shape[1:3]
        taps = self.size * self.size
        kernels = self.kernels(self.reduce(x, training=training))
        kernels = ops.reshape(kernels, (-1, height, width, taps, 1, self.groups))
        patches = ops.image.extract_patches(x, self.size, strides=1, padding="same")
        patches = ops.reshape(patches, (-1, height, width, taps, self.channels // self.groups, self.groups))
        return ops.reshape(ops.sum(kernels * patches, axis=3), (-1, height, width, self.channels))


class SkippedNowAndThen(layers.Layer):
    """Leaves out what it wraps, for the whole batch, with a chance."""

    def __init__(self, inner: layers.Layer, chance: float, **options: Any) -> None:
        super().__init__(**options)
        self.inner, self.chance = inner, chance
        self.seeds = random.SeedGenerator(7)

    def build(self, shape: Any) -> None:
        self.inner.build(shape)

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x + self.inner(x)
        kept = random.uniform((), seed=self.seeds) > self.chance
        changed = self.inner(x, training=True)
        return ops.cond(kept, lambda: x + changed, lambda: x)


@architecture(floats(32, 32, 3), whole(100), 56)
def involution_net() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same")(inputs)
    for number, filters in enumerate((32, 64, 128)):
        x = layers.Activation("hard_silu")(layers.BatchNormalization()(layers.Conv2D(filters, 1)(x)))
        x = SkippedNowAndThen(Involution(filters, filters // 16), 0.1 * number)(x)
        x = layers.MaxPooling2D(2)(layers.ReLU(max_value=6.0)(x))
    x = layers.GlobalAveragePooling2D()(x)
    model = keras.Model(inputs, layers.Dense(100)(x))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.SGD(0.05, momentum=0.9, use_ema=True, ema_overwrite_frequency=10), loss)
    return model


class Perceived(keras.Model):
    """Compares what a frozen network sees in the picture, not only its pixels."""

    def look_with(self, eye: keras.Model) -> Perceived:
        eye.trainable = False
        self.eye = eye
        return self

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        seen, wanted = self.eye(y_pred, training=False), ops.stop_gradient(self.eye(y, training=False))
        return ops.mean(ops.abs(y - y_pred)) + 0.01 * ops.mean(ops.square(seen - wanted))


def shuffled_pixels(x: Any, scale: int = 2) -> Any:
    _, height, width, channels = x.shape
    x = layers.Reshape((height, width, scale, scale, channels // scale**2))(x)
    return layers.Reshape((height * scale, width * scale, channels // scale**2))(layers.Permute((1, 3, 2, 4, 5))(x))


@architecture(floats(24, 24, 3), floats(96, 96, 3), 6)
def perceptual_super_resolution() -> keras.Model:
    inputs = keras.Input((24, 24, 3))
    first = x = layers.PReLU(shared_axes=[1, 2])(layers.Conv2D(64, 9, padding="same")(inputs))
    for _ in range(6):
        inner = layers.Conv2D(64, 3, padding="same")(x)
        inner = layers.PReLU(shared_axes=[1, 2])(layers.BatchNormalization(momentum=0.8)(inner))
        x = layers.Add()([x, layers.BatchNormalization(momentum=0.8)(layers.Conv2D(64, 3, padding="same")(inner))])
    x = layers.Add()([first, x])
    for _ in range(2):
        x = layers.PReLU(shared_axes=[1, 2])(shuffled_pixels(layers.Conv2D(256, 3, padding="same")(x)))
    model = Perceived(inputs, layers.Conv2D(3, 9, padding="same", activation="sigmoid")(x))
    vgg = applications.VGG16(include_top=False, weights=None, input_shape=(96, 96, 3))
    model.look_with(keras.Model(vgg.input, vgg.get_layer("block3_conv3").output))
    model.compile(optimizers.Adam(1e-4))
    return model


class AroundTheGlobe(layers.Layer):
    """The east continues in the west; the poles are repeated."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.width = width

    def call(self, x: Any) -> Any:
        x = ops.concatenate([x[:, :, -self.width :], x, x[:, :, : self.width]], axis=2)
        return ops.pad(x, [[0, 0], [self.width, self.width], [0, 0], [0, 0]], mode="symmetric")


def by_latitude(truth: Any, predicted: Any) -> Any:
    weights = ops.cos(ops.linspace(-0.5 * math.pi, 0.5 * math.pi, truth.shape[1]))
    return ops.mean(ops.square(truth - predicted) * weights[None, :, None, None], axis=-1)


@architecture(floats(45, 91, 7), floats(90, 182, 2), 6)
def weather_downscaling() -> keras.Model:
    """Seven fields of a coarse forecast to two of a finer one."""
    inputs = keras.Input((45, 91, 7))
    x = layers.GroupNormalization(1)(layers.Conv2D(40, 3)(AroundTheGlobe(1)(inputs)))
    for dilation in (1, 2, 4, 2):
        inner = layers.DepthwiseConv2D(3, dilation_rate=dilation)(AroundTheGlobe(dilation)(x))
        inner = layers.Conv2D(80, 1, activation="gelu")(layers.LayerNormalization()(inner))
        inner = layers.Conv2D(40, 1, groups=4)(inner)
        x = layers.Add()([x, inner])
    x = ops.image.resize(x, (90, 182), interpolation="bicubic")
    x = layers.SeparableConv2D(32, 3, padding="same", activation="mish")(x)
    model = keras.Model(inputs, layers.Conv2D(2, 1)(x))
    adamw = optimizers.AdamW(5e-4, weight_decay=0.05, global_clipnorm=1.0)
    adamw.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    model.compile(adamw, by_latitude, metrics=["mae"])
    return model


# Text


@architecture(whole(20000, 150), floats(1), 48)
def hotel_reviews() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((150,), dtype="int32"),
            layers.Embedding(20000, 128, mask_zero=True),
            layers.SpatialDropout1D(0.2),
            layers.Bidirectional(layers.LSTM(96, return_sequences=True, dropout=0.1)),
            layers.Bidirectional(layers.LSTM(48), merge_mode="ave"),
            layers.Dense(64, activation="tanh"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizers.Adam(1e-3, clipvalue=0.5), "binary_crossentropy", metrics=["accuracy", metrics.AUC()])
    return model


def encoded(x: Any, heads: int, inner: int, dropout: float) -> Any:
    width = x.shape[-1]
    attention = layers.MultiHeadAttention(heads, width // heads, dropout=dropout)(x, x)
    x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, layers.Dropout(dropout)(attention)]))
    fed = layers.Dense(width)(layers.Dense(inner, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6)(layers.Add()([x, layers.Dropout(dropout)(fed)]))


@architecture(whole(25000, 180), whole(20), 28)
def news_topics() -> keras.Model:
    tokens = keras.Input((180,), dtype="int32")
    x = layers.Embedding(25000, 96, mask_zero=True)(tokens)
    for _ in range(2):
        x = encoded(x, 4, 256, 0.1)
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(x))
    model = keras.Model(tokens, layers.Dense(20, activation="softmax")(x))
    model.compile(optimizers.Lion(1e-4, weight_decay=1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(whole(8000, 224), whole(8000, 224), 6)
def tied_novelist() -> keras.Model:
    """A small decoder whose last matrix is its first, turned around."""
    tokens = keras.Input((224,), dtype="int32")
    words = layers.ReversibleEmbedding(8000, 192, name="words")
    x = words(tokens) + layers.Embedding(224, 192)(ops.arange(224))
    for _ in range(4):
        normal = layers.RMSNormalization()(x)
        x = x + layers.MultiHeadAttention(6, 32, dropout=0.1, use_bias=False)(normal, normal, use_causal_mask=True)
        x = x + layers.Dense(192)(layers.Dense(768, activation="gelu")(layers.RMSNormalization()(x)))
    model = keras.Model(tokens, words(layers.RMSNormalization()(x), reverse=True))
    rate = optimizers.schedules.CosineDecay(0.0, 10000, warmup_target=6e-4, warmup_steps=500)
    adamw = optimizers.AdamW(rate, beta_2=0.95, clipnorm=1.0, use_ema=True, ema_momentum=0.995)
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(adamw, loss, weighted_metrics=["accuracy"], steps_per_execution=1)
    return model


class ConditionalField(keras.Model):
    """The likelihood of a whole sequence of tags, by the forward algorithm."""

    def with_tags(self, tags: int) -> ConditionalField:
        self.transitions = self.add_weight(shape=(tags, tags), initializer="glorot_uniform", name="transitions")
        return self

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        tags = y_pred.shape[-1]
        chosen = ops.one_hot(y, tags)
        score = ops.sum(y_pred * chosen, axis=(1, 2))
        score += ops.einsum("bti,ij,btj->b", chosen[:, :-1], self.transitions, chosen[:, 1:])

        def step(before: Any, emitted: Any) -> Any:
            after = ops.logsumexp(before[:, :, None] + self.transitions[None], axis=1) + emitted
            return after, after

        emissions = ops.transpose(y_pred, (1, 0, 2))
        last, _ = ops.scan(step, emissions[0], emissions[1:])
        return ops.mean(ops.logsumexp(last, axis=-1) - score)


@architecture(whole(12000, 60), whole(25, 60), 160)
def tagger_with_field() -> keras.Model:
    tokens = keras.Input((60,), dtype="int32")
    x = layers.Embedding(12000, 100)(tokens)
    x = layers.Bidirectional(layers.GRU(80, return_sequences=True))(layers.Dropout(0.3)(x))
    model = ConditionalField(tokens, layers.Dense(25)(x)).with_tags(25)
    model.compile(optimizers.SGD(0.1, momentum=0.9, nesterov=True, global_clipnorm=5.0))
    return model


@architecture(whole(50000, 14), whole(40000), variant("half", 96, policy="mixed_float16"))
def product_titles() -> keras.Model:
    """From a few words of a title to one of forty thousand categories."""
    tokens = keras.Input((14,), dtype="int32")
    x = layers.Embedding(50000, 64, embeddings_regularizer=regularizers.L2(1e-7))(tokens)
    x = layers.Concatenate()([ops.max(x, axis=1), ops.mean(x, axis=1)])
    x = layers.Dense(224, activation="leaky_relu")(x)
    x = layers.UnitNormalization()(x)
    scores = layers.Dense(40000, use_bias=False)(x)
    model = keras.Model(tokens, layers.Activation("softmax", dtype="float32")(scores))
    model.compile(optimizers.Adafactor(1e-2), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


# Series and sound


@architecture(floats(96, 21), floats(96, 1), 40)
def power_grid_stateful() -> keras.Model:
    """Remembers, from one batch to the next, where it was."""
    inputs = keras.Input(batch_shape=(40, 96, 21))
    x = layers.LSTM(192, return_sequences=True, stateful=True)(inputs)
    x = layers.LayerNormalization()(x)
    x = layers.LSTM(128, return_sequences=True, stateful=True, kernel_regularizer="l2")(x)
    x = layers.TimeDistributed(layers.Dense(64, activation="softplus"))(x)
    model = keras.Model(inputs, layers.TimeDistributed(layers.Dense(1))(x))
    model.compile(optimizers.RMSprop(1e-3, rho=0.95), losses.LogCosh(), metrics=[metrics.RootMeanSquaredError()])
    return model


class PeepholeCell(layers.Layer):
    """An LSTM whose gates see the cell, and whose sums are normalized."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.units = units
        self.state_size = [units, units]
        self.output_size = units

    def build(self, shape: Any) -> None:
        units = self.units
        self.kernel = self.add_weight(shape=(shape[-1], 4 * units), initializer="glorot_uniform")
        self.recurrent = self.add_weight(shape=(units, 4 * units), initializer="orthogonal")
        self.peepholes = self.add_weight(shape=(3, units), initializer="zeros")
        self.scale = self.add_weight(shape=(4 * units,), initializer="ones")

    def call(self, x: Any, states: Any, training: bool = False) -> Any:
        output, cell = states
        summed = ops.matmul(x, self.kernel) + ops.matmul(output, self.recurrent)
        mean, spread = ops.moments(summed, axes=[-1], keepdims=True)
        parts = ops.split((summed - mean) * ops.rsqrt(spread + 1e-5) * self.scale, 4, axis=-1)
        added = ops.sigmoid(parts[0] + self.peepholes[0] * cell) * ops.tanh(parts[2])
        cell = ops.sigmoid(parts[1] + self.peepholes[1] * cell + 1.0) * cell + added
        output = ops.sigmoid(parts[3] + self.peepholes[2] * cell) * ops.tanh(cell)
        return output, [output, cell]


def stroke_likelihood(truth: Any, predicted: Any) -> Any:
    """Twenty normal distributions in the plane, and whether the pen is lifted."""
    weights, mean_x, mean_y, wide_x, wide_y, turned, lifted = ops.split(predicted, [20, 40, 60, 80, 100, 120], axis=-1)
    x, y, pen = ops.split(truth, 3, axis=-1)
    turned = 0.95 * ops.tanh(turned)
    across, up = (x - mean_x) * ops.exp(-wide_x), (y - mean_y) * ops.exp(-wide_y)
    left = 1.0 - ops.square(turned)
    exponent = -(ops.square(across) + ops.square(up) - 2.0 * turned * across * up) / (2.0 * left)
    logs = exponent - wide_x - wide_y - 0.5 * ops.log(left) - math.log(2.0 * math.pi)
    position = ops.logsumexp(ops.log_softmax(weights) + logs, axis=-1)
    return ops.binary_crossentropy(pen, lifted, from_logits=True)[..., 0] - position


@architecture(floats(150, 3), floats(150, 3), 32)
def handwriting_strokes() -> keras.Model:
    inputs = keras.Input((150, 3))
    x = layers.RNN([PeepholeCell(200), PeepholeCell(200)], return_sequences=True)(inputs)
    x = layers.Concatenate()([inputs, x])
    model = keras.Model(inputs, layers.Dense(121)(x))
    model.compile(optimizers.RMSprop(1e-4, momentum=0.9, centered=True, global_clipnorm=10.0), stroke_likelihood)
    return model


class ParallelGate(layers.Layer):
    """A recurrence without a state inside its gates, so that it is computed as a scan."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.gate = layers.Dense(units, activation="sigmoid")
        self.candidate = layers.Dense(units)

    def build(self, shape: Any) -> None:
        self.gate.build(shape)
        self.candidate.build(shape)

    def call(self, x: Any) -> Any:
        gate = self.gate(x)

        def joined(left: Any, right: Any) -> Any:
            return left[0] * right[0], right[0] * left[1] + right[1]

        _, states = ops.associative_scan(joined, (1.0 - gate, gate * self.candidate(x)), axis=1)
        return ops.reshape(states, (-1, *gate.shape[1:]))


@architecture(floats(100, 9), whole(7), 96)
def parallel_recurrence() -> keras.Model:
    inputs = keras.Input((100, 9))
    x = layers.Dense(80)(layers.Masking(0.0)(inputs))
    for _ in range(2):
        x = layers.Add()([x, ParallelGate(80)(layers.LayerNormalization()(x))])
        x = layers.Add()([x, layers.Dense(80)(layers.Dense(160, activation="silu")(layers.LayerNormalization()(x)))])
    model = keras.Model(inputs, layers.Dense(7, activation="softmax")(x[:, -1]))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def spectral_distance(truth: Any, predicted: Any) -> Any:
    """At three resolutions, and on the waveform itself."""
    total = ops.mean(ops.abs(truth - predicted), axis=-1)
    for length in (256, 512, 1024):
        spectra = []
        for wave in (truth, predicted):
            real, imaginary = ops.stft(wave, length, length // 4, length)
            spectra.append(ops.log(ops.sqrt(ops.square(real) + ops.square(imaginary) + 1e-7)))
        total += ops.mean(ops.abs(spectra[0] - spectra[1]), axis=(1, 2))
    return total


@architecture(floats(16384), floats(16384), 6)
def speech_enhancement() -> keras.Model:
    inputs = keras.Input((16384,))
    real, imaginary = ops.stft(inputs, 512, 128, 512)
    x = ops.stack([real, imaginary], axis=-1)
    skips = []
    for filters in (16, 32, 48):
        skips.append(x)
        x = layers.Conv2D(filters, (3, 5), strides=(1, 2), padding="same")(x)
        x = layers.PReLU(shared_axes=[1])(layers.BatchNormalization()(x))
    _, frames, bands, filters = x.shape
    inner = layers.Reshape((frames, bands * filters))(x)
    inner = layers.Bidirectional(layers.GRU(96, return_sequences=True))(inner)
    x = layers.Add()([x, layers.Reshape((frames, bands, filters))(layers.Dense(bands * filters)(inner))])
    for filters, skip in zip((32, 16, 8), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(filters, (3, 5), strides=(1, 2), padding="same", activation="elu")(x)
        x = layers.Cropping2D(((0, 0), (0, 1)))(x)
        x = layers.Concatenate()([x, skip])
    mask = layers.Conv2D(2, 1, activation="tanh")(x)
    cleaned = (
        real * mask[..., 0] - imaginary * mask[..., 1],
        real * mask[..., 1] + imaginary * mask[..., 0],
    )
    model = keras.Model(inputs, ops.istft(cleaned, 512, 128, 512, length=16384))
    model.compile(optimizers.Adam(3e-4, beta_1=0.8, beta_2=0.99, clipnorm=3.0), spectral_distance)
    return model


# Tables, recommendation, graphs


@architecture(floats(39), floats(1), 3000)
def bank_churn() -> keras.Model:
    inputs = keras.Input((39,))
    x = layers.GaussianNoise(0.05)(layers.BatchNormalization()(inputs))
    for units in (768, 512, 256, 128):
        x = layers.Dense(units, use_bias=False, kernel_initializer="lecun_normal")(x)
        x = layers.Dropout(0.25)(layers.Activation("swish")(layers.BatchNormalization()(x)))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile(
        optimizers.Adam(2e-3), losses.BinaryCrossentropy(label_smoothing=0.02), metrics=[metrics.AUC(name="auc")]
    )
    return model


@architecture(
    {
        "user": whole(150000),
        "item": whole(60000),
        "history": whole(60000, 30),
        "context": whole(400, 6),
        "numbers": floats(13),
    },
    {"click": floats(1), "like": floats(1), "watched": floats(1)},
    2048,
)
def feed_ranking() -> keras.Model:
    """Several experts, and for each question a gate that chooses among them."""
    user, item = keras.Input((), dtype="int32", name="user"), keras.Input((), dtype="int32", name="item")
    history = keras.Input((30,), dtype="int32", name="history")
    context, numbers = keras.Input((6,), dtype="int32", name="context"), keras.Input((13,), name="numbers")
    items = layers.Embedding(60000, 24, name="items")
    wanted, seen = items(item), items(history)
    repeated = layers.RepeatVector(30)(wanted)
    likeness = layers.Concatenate()([seen, repeated, seen * repeated])
    weights = layers.Dense(1)(layers.Dense(32, activation="sigmoid")(likeness))
    interest = layers.Dot(axes=1)([layers.Softmax(axis=1)(weights), seen])
    parts = [
        layers.Embedding(150000, 24, name="users")(user),
        wanted,
        layers.Flatten()(interest),
        layers.Flatten()(layers.Embedding(400, 12)(context)),
        layers.Normalization(mean=0.5, variance=0.1)(numbers),
    ]
    x = layers.Concatenate()(parts)
    experts = ops.stack([layers.Dense(128, activation="relu")(x) for _ in range(5)], axis=1)
    outputs = {}
    for name, activation in (("click", "sigmoid"), ("like", "sigmoid"), ("watched", "relu")):
        gate = layers.Dense(5, activation="softmax")(x)
        mixed = layers.Dense(64, activation="relu")(ops.einsum("be,bed->bd", gate, experts))
        outputs[name] = layers.Dense(1, activation=activation, name=name)(mixed)
    inputs = {"user": user, "item": item, "history": history, "context": context, "numbers": numbers}
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.Adagrad(0.02, initial_accumulator_value=0.1),
        loss={"click": "binary_crossentropy", "like": "binary_crossentropy", "watched": losses.Huber(2.0)},
        loss_weights={"click": 1.0, "like": 0.5, "watched": 0.1},
        metrics={"click": [metrics.AUC()], "watched": ["mae"]},
    )
    return model


def small_mlp(width: int, out: int) -> keras.Sequential:
    return keras.Sequential([layers.Dense(width, activation="relu"), layers.Dense(out), layers.LayerNormalization()])


class MessageStep(layers.Layer):
    """Edges look at both their ends; nodes sum what arrives."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.width = width
        self.of_edges, self.of_nodes = small_mlp(width, width), small_mlp(width, width)

    def build(self, shapes: Any) -> None:
        self.of_edges.build((None, 3 * self.width))
        self.of_nodes.build((None, 2 * self.width))

    def call(self, inputs: Any) -> Any:
        nodes, edges, senders, receivers = inputs
        told = ops.concatenate([edges, ops.take(nodes, senders, axis=0), ops.take(nodes, receivers, axis=0)], axis=-1)
        edges = edges + self.of_edges(told)
        arrived = ops.segment_sum(edges, receivers, num_segments=ops.shape(nodes)[0])
        return nodes + self.of_nodes(ops.concatenate([nodes, arrived], axis=-1)), edges


class MeshSimulator(keras.Model):
    def __init__(self, width: int, rounds: int) -> None:
        super().__init__()
        self.node_encoder, self.edge_encoder = small_mlp(width, width), small_mlp(width, width)
        self.rounds = [MessageStep(width) for _ in range(rounds)]
        self.decoder = layers.Dense(3)

    def call(self, inputs: Any) -> Any:
        nodes, ends = inputs["nodes"], inputs["edges"]
        batch, count, features = ops.shape(nodes)
        flat = ops.reshape(nodes, (-1, features))
        ends = ops.reshape(ends + count * ops.arange(batch, dtype="int32")[:, None, None], (-1, 2))
        senders, receivers = ends[:, 0], ends[:, 1]
        edges = self.edge_encoder(ops.take(flat, senders, axis=0) - ops.take(flat, receivers, axis=0))
        x = self.node_encoder(flat)
        for each in self.rounds:
            x, edges = each((x, edges, senders, receivers))
        return ops.reshape(self.decoder(x), (batch, count, 3))


@architecture(
    {"nodes": floats(300, 11), "edges": whole(300, 1500, 2)},
    floats(300, 3),
    4,
    needs_x=True,
)
def mesh_simulator() -> keras.Model:
    model = MeshSimulator(96, 6)
    model.compile(optimizers.Adam(1e-4, weight_decay=1e-6), "mse")
    return model


# Science


class TriangleUpdate(layers.Layer):
    """What is known of i and k, and of j and k, tells something of i and j."""

    def __init__(self, width: int, **options: Any) -> None:
        super().__init__(**options)
        self.normal, self.after = layers.LayerNormalization(), layers.LayerNormalization()
        self.left, self.right = layers.Dense(width), layers.Dense(width)
        self.gate, self.out = layers.Dense(width, activation="sigmoid"), layers.Dense(width)

    def build(self, shape: Any) -> None:
        for each in (self.normal, self.after, self.left, self.right, self.gate, self.out):
            each.build(shape)

    def call(self, x: Any) -> Any:
        normal = self.normal(x)
        met = ops.einsum("bikc,bjkc->bijc", self.left(normal), self.right(normal))
        return x + self.gate(normal) * self.out(self.after(met))


@architecture(floats(117, 41), whole(16, 117, 117), 1)
def protein_contacts() -> keras.Model:
    """One chain at a time: the distances between all pairs of its residues, in bins."""
    inputs = keras.Input((117, 41))
    x = layers.Bidirectional(layers.LSTM(48, return_sequences=True))(layers.Conv1D(64, 7, padding="same")(inputs))
    rows = ops.repeat(ops.expand_dims(layers.Dense(40)(x), 2), 117, axis=2)
    columns = ops.repeat(ops.expand_dims(layers.Dense(40)(x), 1), 117, axis=1)
    pairs = layers.Concatenate()([rows, columns, ops.abs(rows - columns)])
    pairs = layers.Conv2D(40, 1)(pairs)
    for number in range(8):
        inner = layers.Activation("elu")(layers.GroupNormalization(8)(pairs))
        inner = layers.Conv2D(40, 3, padding="same", dilation_rate=(1, 2, 4, 8)[number % 4])(inner)
        pairs = layers.Add()([pairs, inner])
        if number % 4 == 3:
            pairs = TriangleUpdate(40)(pairs)
    logits = layers.Dense(16)(pairs)
    model = keras.Model(inputs, 0.5 * (logits + ops.transpose(logits, (0, 2, 1, 3))))
    model.compile(optimizers.Adam(1e-3), losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


class Covariance(layers.Layer):
    """A kernel on what the network makes of the rows, with noise on its diagonal."""

    def build(self, shape: Any) -> None:
        self.scales = self.add_weight(shape=(shape[-1],), initializer="zeros", name="scales")
        self.noise = self.add_weight(shape=(), initializer=initializers.Constant(-2.0), name="noise")

    def call(self, x: Any) -> Any:
        x = x * ops.exp(self.scales)
        lengths = ops.sum(ops.square(x), axis=-1)
        apart = lengths[:, None] + lengths[None, :] - 2.0 * ops.matmul(x, ops.transpose(x))
        noise = ops.eye(ops.shape(x)[0]) * (ops.exp(self.noise) + 1e-3)
        return ops.exp(-0.5 * ops.maximum(apart, 0.0)) + noise


def marginal_likelihood(truth: Any, covariance: Any) -> Any:
    root = ops.cholesky(covariance)
    whitened = ops.solve_triangular(root, truth - 0.5, lower=True)
    return 0.5 * ops.sum(ops.square(whitened)) + ops.sum(ops.log(ops.diagonal(root)))


@architecture(floats(24), floats(1), 1500)
def deep_kernel() -> keras.Model:
    inputs = keras.Input((24,))
    x = inputs
    for units in (256, 256, 64, 3):
        x = layers.Dense(units, activation="tanh")(x)
    model = keras.Model(inputs, Covariance()(x))
    model.compile(optimizers.Adam(1e-3), marginal_likelihood)
    return model


class Hamiltonian(keras.Model):
    """The motion follows from the derivatives of an energy that is learned."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.energy = keras.Sequential(
            [
                keras.Input((12,)),
                layers.Dense(width, activation="tanh", kernel_initializer="orthogonal"),
                layers.Dense(width, activation="softplus", kernel_initializer="orthogonal"),
                layers.Dense(width, activation="tanh", kernel_initializer="orthogonal"),
                layers.Dense(1, use_bias=False),
            ]
        )

    def call(self, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            energy = self.energy(x)
        place, momentum = ops.split(tape.gradient(energy, x), 2, axis=-1)
        return ops.concatenate([momentum, -place], axis=-1)


@architecture(
    floats(12, dtype="float64"),
    floats(12, dtype="float64"),
    variant("double", 3000, policy="float64"),
    needs_x=True,
)
def hamiltonian_motion() -> keras.Model:
    model = Hamiltonian(256)
    model.compile(optimizers.Adam(1e-3, epsilon=1e-10), "mse")
    return model


class Flowing(layers.Layer):
    """A differential equation, followed by Runge and Kutta's method in a loop."""

    def __init__(self, filters: int, steps: int, **options: Any) -> None:
        super().__init__(**options)
        self.steps = steps
        self.normal = layers.GroupNormalization(8)
        self.first = layers.Conv2D(filters, 3, padding="same", activation="tanh")
        self.second = layers.Conv2D(filters, 3, padding="same")

    def build(self, shape: Any) -> None:
        for each in (self.normal, self.first, self.second):
            each.build(shape)

    def slope(self, x: Any) -> Any:
        return self.second(self.first(self.normal(x)))

    def call(self, x: Any) -> Any:
        size = 1.0 / self.steps

        def step(_: Any, x: Any) -> Any:
            one = self.slope(x)
            two = self.slope(x + 0.5 * size * one)
            three = self.slope(x + 0.5 * size * two)
            four = self.slope(x + size * three)
            return x + size / 6.0 * (one + 2.0 * two + 2.0 * three + four)

        return ops.fori_loop(0, self.steps, step, x)


@architecture(floats(28, 28, 1), whole(10), 48)
def neural_differential_equation() -> keras.Model:
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 4, strides=2, activation="relu")(inputs)
    x = Flowing(32, 6)(layers.Conv2D(32, 3, activation="relu")(x))
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.GroupNormalization(8)(x)))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    model.compile(optimizers.SGD(0.1, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class NeighbourFeatures(layers.Layer):
    """Each point is told what its nearest neighbours are like."""

    def __init__(self, width: int, neighbours: int, **options: Any) -> None:
        super().__init__(**options)
        self.neighbours = neighbours
        self.dense, self.normal = layers.Dense(width, use_bias=False), layers.BatchNormalization()
        self.width = width

    def build(self, shape: Any) -> None:
        self.dense.build((*shape[:-1], None, 2 * shape[-1]))
        self.normal.build((*shape[:-1], None, self.width))

    def call(self, x: Any, training: bool = False) -> Any:
        lengths = ops.sum(ops.square(x), axis=-1, keepdims=True)
        apart = lengths - 2.0 * ops.einsum("bic,bjc->bij", x, x) + ops.swapaxes(lengths, 1, 2)
        _, nearest = ops.top_k(-apart, self.neighbours)
        around = ops.vectorized_map(lambda pair: ops.take(pair[0], pair[1], axis=0), (x, nearest))
        centre = ops.repeat(ops.expand_dims(x, 2), self.neighbours, axis=2)
        x = self.normal(self.dense(ops.concatenate([centre, around - centre], axis=-1)), training=training)
        return ops.max(ops.leaky_relu(x), axis=2)


class RigidMotion(layers.Layer):
    """The rotation and the shift that best lay one cloud on the other."""

    def call(self, inputs: Any) -> Any:
        source, target = inputs
        middle, aim = ops.mean(source, axis=1, keepdims=True), ops.mean(target, axis=1, keepdims=True)
        u, _, v = ops.svd(ops.einsum("bni,bnj->bij", source - middle, target - aim), full_matrices=False)
        return ops.matmul(source - middle, ops.matmul(u, v)) + aim


@architecture({"source": floats(384, 3), "target": floats(384, 3)}, floats(384, 3), 6)
def cloud_registration() -> keras.Model:
    source, target = keras.Input((384, 3), name="source"), keras.Input((384, 3), name="target")
    inputs = keras.Input((384, 3))
    x = NeighbourFeatures(32, 12)(inputs)
    x = NeighbourFeatures(64, 12)(x)
    describe = keras.Model(inputs, layers.Dense(96)(x), name="describe")
    one, other = describe(source), describe(target)
    cross = layers.MultiHeadAttention(4, 24)
    one, other = one + cross(one, other), other + cross(other, one)
    matched = layers.Softmax()(layers.Dot(axes=2)([one, other]))
    moved = RigidMotion()([source, layers.Dot(axes=(2, 1))([matched, target])])
    model = keras.Model({"source": source, "target": target}, moved)
    model.compile(optimizers.Adam(1e-3, global_clipnorm=1.0), "mean_absolute_error")
    return model


# Own steps


class Varied(keras.Model):
    """VICReg: two views agree, each component varies, and no two say the same."""

    def __init__(self, *parts: Any, **options: Any) -> None:
        super().__init__(*parts, **options)
        self.changes = keras.Sequential(
            [
                layers.RandomFlip("horizontal"),
                layers.RandomZoom((-0.3, 0.0)),
                layers.RandomColorJitter(
                    (0.0, 1.0),
                    brightness_factor=0.2,
                    contrast_factor=0.2,
                    saturation_factor=0.2,
                    hue_factor=0.1,
                ),
                layers.RandomGrayscale(0.2),
            ]
        )

    def train_step(self, data: Any) -> Any:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            one = self(self.changes(x, training=True), training=True)
            other = self(self.changes(x, training=True), training=True)
            loss = 25.0 * ops.mean(ops.square(one - other))
            for view in (one, other):
                centred = view - ops.mean(view, axis=0)
                loss += 25.0 * ops.mean(ops.relu(1.0 - ops.sqrt(ops.var(view, axis=0) + 1e-4)))
                covariance = ops.matmul(ops.transpose(centred), centred) / (ops.shape(view)[0] - 1)
                covariance *= 1.0 - ops.eye(view.shape[-1])
                loss += ops.sum(ops.square(covariance)) / view.shape[-1]
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture(floats(64, 64, 3), None, 40)
def varied_views() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(24, 5, strides=2, padding="same", use_bias=False)(inputs)
    for filters, strides in ((24, 1), (48, 2), (96, 2)):
        inner = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        inner = layers.ReLU()(layers.BatchNormalization()(inner))
        inner = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(inner))
        short = layers.Conv2D(filters, 1, strides=strides)(x)
        x = layers.ReLU()(layers.Add()([short, inner]))
    x = layers.GlobalAveragePooling2D()(x)
    for _ in range(2):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Dense(512, use_bias=False)(x)))
    model = Varied(inputs, layers.Dense(512, use_bias=False)(x))
    model.compile(optimizers.SGD(0.1, momentum=0.9, weight_decay=1e-6))
    return model


class SlicedWasserstein(keras.Model):
    """The codes are sorted along random directions, next to those of the prior."""

    def train_step(self, data: Any) -> Any:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            code, painted = self(x, training=True)
            prior = random.uniform(ops.shape(code), -1.0, 1.0)
            directions = ops.normalize(random.normal((code.shape[-1], 2000)), axis=0)
            one, other = ops.sort(ops.matmul(code, directions), axis=0), ops.sort(ops.matmul(prior, directions), axis=0)
            loss = ops.mean(losses.binary_crossentropy(x, painted)) + 10.0 * ops.mean(ops.square(one - other))
        self.optimizer.apply_gradients(
            zip(tape.gradient(loss, self.trainable_variables), self.trainable_variables, strict=True)
        )
        return {"loss": loss}


@architecture(floats(48, 48, 3), None, 100)
def sliced_codes() -> keras.Model:
    inputs = keras.Input((48, 48, 3))
    x = inputs
    for filters in (16, 32, 64):
        x = layers.LeakyReLU(0.2)(layers.Conv2D(filters, 3, padding="same")(x))
        x = layers.AveragePooling2D(2)(x)
    code = layers.Dense(64)(layers.Flatten()(x))
    x = layers.Reshape((6, 6, 64))(layers.Dense(6 * 6 * 64)(code))
    for filters in (64, 32, 16):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = layers.LeakyReLU(0.2)(layers.Conv2D(filters, 3, padding="same")(x))
    painted = layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x)
    model = SlicedWasserstein(inputs, [code, painted])
    model.compile(optimizers.Adadelta(1.0))
    return model


def conditioned_block(x: Any, signal: Any, heads: int) -> Any:
    width = x.shape[-1]
    parts = ops.split(layers.Dense(6 * width, kernel_initializer="zeros")(signal)[:, None, :], 6, axis=-1)
    normal = layers.LayerNormalization(center=False, scale=False)(x) * (1.0 + parts[0]) + parts[1]
    x = x + parts[2] * layers.MultiHeadAttention(heads, width // heads)(normal, normal)
    normal = layers.LayerNormalization(center=False, scale=False)(x) * (1.0 + parts[3]) + parts[4]
    return x + parts[5] * layers.Dense(width)(layers.Dense(4 * width, activation="gelu")(normal))


class FlowMatching(keras.Model):
    """Learns the straight way from noise to a latent picture."""

    def train_step(self, data: Any) -> Any:
        latent, label, _ = keras.utils.unpack_x_y_sample_weight(data)
        noise = random.normal(ops.shape(latent))
        time = ops.sigmoid(random.normal((ops.shape(latent)[0],)))
        mixed = time[:, None, None, None] * latent + (1.0 - time[:, None, None, None]) * noise
        with tf.GradientTape() as tape:
            velocity = self({"latent": mixed, "time": time, "label": label}, training=True)
            loss = ops.mean(ops.square(ops.cast(velocity, "float32") - (latent - noise)))
        weights = self.trainable_weights
        self.optimizer.apply(tape.gradient(loss, weights), weights)
        return {"loss": loss}


@architecture(floats(32, 32, 4), whole(50), variant("brain", 10, policy="mixed_bfloat16"), needs_x=True)
def flow_transformer() -> keras.Model:
    latent, time = keras.Input((32, 32, 4), name="latent"), keras.Input((), name="time")
    label = keras.Input((), dtype="int32", name="label")
    waves = ops.exp(-math.log(10000.0) * ops.arange(48, dtype="float32") / 48.0)
    angles = 1000.0 * time[:, None] * waves[None, :]
    signal = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    signal = layers.Dense(144, activation="silu")(layers.Dense(144, activation="silu")(signal))
    signal = signal + layers.Embedding(50, 144)(label)
    x = layers.Reshape((256, 144))(layers.Conv2D(144, 2, strides=2)(latent))
    x = x + layers.Embedding(256, 144)(ops.arange(256))
    for _ in range(3):
        x = conditioned_block(x, signal, 4)
    x = layers.Dense(16)(layers.LayerNormalization()(x))
    x = ops.transpose(ops.reshape(x, (-1, 16, 16, 2, 2, 4)), (0, 1, 3, 2, 4, 5))
    outputs = layers.Reshape((32, 32, 4), dtype="float32")(ops.reshape(x, (-1, 32, 32, 4)))
    model = FlowMatching({"latent": latent, "time": time, "label": label}, outputs)
    model.compile(optimizers.AdamW(1e-4, weight_decay=0.0, use_ema=True, ema_momentum=0.9999))
    return model


def critic_network(observed: int, acted: int, width: int) -> keras.Model:
    state, action = keras.Input((observed,)), keras.Input((acted,))
    x = layers.Concatenate()([state, action])
    for _ in range(3):
        x = layers.LayerNormalization()(layers.Dense(width, activation="relu")(x))
    return keras.Model([state, action], layers.Dense(1)(x))


class SoftActorCritic(keras.Model):
    """Two critics with slow copies, an actor, and a temperature, each with an optimizer of its own."""

    def __init__(self, observed: int, acted: int, width: int) -> None:
        super().__init__()
        self.actor = keras.Sequential(
            [
                keras.Input((observed,)),
                layers.Dense(width, activation="relu"),
                layers.Dense(width, activation="relu"),
                layers.Dense(2 * acted),
            ]
        )
        self.critics = [critic_network(observed, acted, width) for _ in range(2)]
        self.slow = [critic_network(observed, acted, width) for _ in range(2)]
        for slow, critic in zip(self.slow, self.critics, strict=True):
            slow.set_weights(critic.get_weights())
            slow.trainable = False
        self.temperature = self.add_weight(shape=(), initializer="zeros", name="temperature")
        self.acted = acted
        self.of_actor, self.of_critics = optimizers.Adam(3e-4), optimizers.Adam(3e-4)
        self.of_temperature = optimizers.Adam(3e-4)

    def call(self, inputs: Any) -> Any:
        return self.acts(inputs["state"])[0]

    def acts(self, state: Any) -> Any:
        mean, spread = ops.split(self.actor(state), 2, axis=-1)
        spread = ops.clip(spread, -5.0, 2.0)
        noise = random.normal(ops.shape(mean))
        action = ops.tanh(mean + ops.exp(spread) * noise)
        likelihood = -0.5 * ops.square(noise) - spread - ops.log(1.0 - ops.square(action) + 1e-6)
        return action, ops.sum(likelihood, axis=-1, keepdims=True)

    def train_step(self, data: Any) -> Any:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        weight = ops.exp(self.temperature)
        following, likelihood = self.acts(x["next"])
        worth = ops.minimum(*(slow([x["next"], following]) for slow in self.slow)) - weight * likelihood
        aim = ops.stop_gradient(x["reward"] + 0.99 * (1.0 - x["done"]) * worth)
        with tf.GradientTape() as tape:
            missed = sum(ops.mean(ops.square(critic([x["state"], x["action"]]) - aim)) for critic in self.critics)
        weights = [each for critic in self.critics for each in critic.trainable_weights]
        self.of_critics.apply(tape.gradient(missed, weights), weights)
        with tf.GradientTape() as tape:
            action, likelihood = self.acts(x["state"])
            worth = ops.minimum(*(critic([x["state"], action]) for critic in self.critics))
            loss = ops.mean(weight * likelihood - worth)
        weights = self.actor.trainable_weights
        self.of_actor.apply(tape.gradient(loss, weights), weights)
        with tf.GradientTape() as tape:
            surprise = -ops.mean(self.temperature * ops.stop_gradient(likelihood - self.acted))
        self.of_temperature.apply(tape.gradient(surprise, [self.temperature]), [self.temperature])
        for slow, critic in zip(self.slow, self.critics, strict=True):
            for late, now in zip(slow.weights, critic.weights, strict=True):
                late.assign(0.995 * late + 0.005 * now)
        return {"critics": missed, "actor": loss}


@architecture(
    {"state": floats(111), "action": floats(8), "reward": floats(1), "next": floats(111), "done": floats(1)},
    None,
    1024,
    needs_x=True,
)
def soft_actor_critic() -> keras.Model:
    model = SoftActorCritic(111, 8, 640)
    model.compile()
    return model
