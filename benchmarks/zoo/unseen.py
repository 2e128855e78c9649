"""More models like those of `held_out.py`, written later, by somebody who has not seen how the estimate is made."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers, ops

from benchmarks.optimizers import averaging, clipping, momentum, weight_decaying
from benchmarks.registry import architecture, floats, variant, whole
from benchmarks.zoo.models import CLASSES, LOGITS, classified, compiled

# Images


def convolution_pair(x: Any, filters: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


def gated_skip(skip: Any, signal: Any, filters: int) -> Any:
    """Weighs the places of what is skipped by what the coarser signal says of them."""
    seen = layers.Conv2D(filters, 2, strides=2, padding="same")(skip)
    both = layers.ReLU()(layers.Add()([seen, layers.Conv2D(filters, 1)(signal)]))
    weights = layers.Conv2D(1, 1, activation="sigmoid")(both)
    return layers.Multiply()([skip, layers.UpSampling2D(interpolation="bilinear")(weights)])


@architecture(floats(96, 96, 1), floats(96, 96, 1), 8)
def attention_gated_unet() -> keras.Model:
    x = inputs = keras.Input((96, 96, 1))
    skipped = []
    for filters in (16, 32, 64):
        x = convolution_pair(x, filters)
        skipped.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.SpatialDropout2D(0.2)(convolution_pair(x, 128))
    for filters, skip in zip((64, 32, 16), reversed(skipped), strict=True):
        kept = gated_skip(skip, x, filters)
        x = layers.Conv2DTranspose(filters, 2, strides=2)(x)
        x = convolution_pair(layers.Concatenate()([x, kept]), filters)
    outputs = layers.Conv2D(1, 1, activation="sigmoid")(x)
    loss = keras.losses.Tversky(alpha=0.3, beta=0.7)
    return compiled(keras.Model(inputs, outputs), "adam", loss, metrics=["binary_accuracy"])


def darknet_convolution(x: Any, filters: int, size: int, strides: int = 1) -> Any:
    x = layers.Conv2D(filters, size, strides=strides, padding="same", use_bias=False, kernel_regularizer="l2")(x)
    return layers.LeakyReLU(negative_slope=0.1)(layers.BatchNormalization(momentum=0.97)(x))


def detection_loss(truth: Any, predicted: Any) -> Any:
    shape = (-1, predicted.shape[1], predicted.shape[2], 3, 9)
    truth, predicted = ops.reshape(truth, shape), ops.reshape(predicted, shape)
    present = truth[..., 4:5]
    places = ops.square(ops.sigmoid(predicted[..., :2]) - truth[..., :2])
    sizes = ops.square(predicted[..., 2:4] - ops.log(truth[..., 2:4] + 1e-3))
    named = ops.binary_crossentropy(truth[..., 4:], predicted[..., 4:], from_logits=True)
    axes = (1, 2, 3, 4)
    return ops.sum(present * places, axes) + ops.sum(present * sizes, axes) + ops.sum(named, axes)


@architecture(floats(96, 96, 3), [floats(12, 12, 27), floats(6, 6, 27)], 24)
def yolo() -> keras.Model:
    """Detection at two scales, the finer one fed by the coarser one."""
    inputs = keras.Input((96, 96, 3))
    x, kept = darknet_convolution(inputs, 16, 3), []
    for filters, count in ((32, 1), (64, 2), (128, 2), (256, 1)):
        x = darknet_convolution(x, filters, 3, strides=2)
        for _ in range(count):
            x = layers.Add()([x, darknet_convolution(darknet_convolution(x, filters // 2, 1), filters, 3)])
        kept.append(x)
    x = darknet_convolution(x, 128, 1)
    coarse = layers.Conv2D(27, 1)(darknet_convolution(x, 256, 3))
    x = layers.UpSampling2D()(darknet_convolution(x, 64, 1))
    x = darknet_convolution(layers.Concatenate()([x, kept[-2]]), 64, 1)
    fine = layers.Conv2D(27, 1)(darknet_convolution(x, 128, 3))
    return compiled(keras.Model(inputs, [fine, coarse]), momentum, [detection_loss, detection_loss])


class SkippedAtTimes(layers.Layer):
    """Leaves out the whole branch of some of the images."""

    def __init__(self, rate: float, **options: Any) -> None:
        super().__init__(**options)
        self.rate, self.seed = rate, keras.random.SeedGenerator(7)

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        chance = keras.random.uniform((ops.shape(x)[0], 1, 1, 1), seed=self.seed)
        return x * ops.cast(chance < 1 - self.rate, x.dtype) / (1 - self.rate)


def expanded_block(x: Any, filters: int, strides: int, *, fused: bool) -> Any:
    hidden = 4 * x.shape[-1]
    if fused:
        y = layers.Conv2D(hidden, 3, strides=strides, padding="same", use_bias=False)(x)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
    else:
        y = layers.Activation("swish")(layers.BatchNormalization()(layers.Conv2D(hidden, 1, use_bias=False)(x)))
        y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
        y = layers.Activation("swish")(layers.BatchNormalization()(y))
        squeezed = layers.GlobalAveragePooling2D(keepdims=True)(y)
        squeezed = layers.Conv2D(x.shape[-1] // 4, 1, activation="swish")(squeezed)
        y = layers.Multiply()([y, layers.Conv2D(hidden, 1, activation="sigmoid")(squeezed)])
    y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(y))
    if strides == 1 and filters == x.shape[-1]:
        y = layers.Add()([x, SkippedAtTimes(0.1)(y)])
    return y


@architecture(floats(64, 64, 3), whole(10), variant("bfloat16", 40, policy="mixed_bfloat16"))
def fused_expansion() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.Activation("swish")(layers.BatchNormalization()(x))
    for filters, strides, fused in ((24, 1, True), (48, 2, True), (48, 1, True), (96, 2, False), (96, 1, False)):
        x = expanded_block(x, filters, strides, fused=fused)
    x = layers.Activation("swish")(layers.BatchNormalization()(layers.Conv2D(256, 1, use_bias=False)(x)))
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    return compiled(keras.Model(inputs, classified(x)), "adamw", CLASSES, metrics=["accuracy"])


def shuffle_unit(x: Any, filters: int, strides: int) -> Any:
    half = filters // 2
    if strides == 1:
        kept, y = ops.split(x, 2, axis=-1)
    else:
        kept = layers.DepthwiseConv2D(3, strides=2, padding="same", use_bias=False)(x)
        kept = layers.Conv2D(half, 1, use_bias=False)(layers.BatchNormalization()(kept))
        kept, y = layers.ReLU()(layers.BatchNormalization()(kept)), x
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(half, 1, use_bias=False)(y)))
    y = layers.BatchNormalization()(layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y))
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(half, 1, use_bias=False)(y)))
    x = layers.Concatenate()([kept, y])
    height, width = x.shape[1:3]
    x = ops.transpose(ops.reshape(x, (-1, height, width, 2, half)), (0, 1, 2, 4, 3))
    return ops.reshape(x, (-1, height, width, filters))


@architecture(floats(96, 96, 3), whole(50), variant("adamax", 24, optimizer="adamax"))
def shuffle_net(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((96, 96, 3))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(24, 3, strides=2, padding="same", use_bias=False)(x)))
    for filters in (96, 192):
        for strides in (2, 1, 1):
            x = shuffle_unit(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(384, 1, activation="relu")(x))
    return compiled(keras.Model(inputs, classified(x, 50)), optimizer, CLASSES, metrics=["accuracy"])


class LearnedStart(layers.Layer):
    """The same small picture for each of the batch."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.start = self.add_weight((4, 4, 128), initializer="random_normal")

    def call(self, z: Any) -> Any:
        return ops.broadcast_to(ops.expand_dims(self.start, 0), (ops.shape(z)[0], 4, 4, 128))


class Noisy(layers.Layer):
    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.seed = keras.random.SeedGenerator(3)

    def build(self, shape: tuple[int, ...]) -> None:
        self.strength = self.add_weight((shape[-1],), initializer="zeros")

    def call(self, x: Any) -> Any:
        noise = keras.random.normal((ops.shape(x)[0], x.shape[1], x.shape[2], 1), seed=self.seed)
        return x + self.strength * noise


def styled(x: Any, style: Any) -> Any:
    filters = x.shape[-1]
    scale, shift = ops.split(layers.Reshape((1, 1, 2 * filters))(layers.Dense(2 * filters)(style)), 2, axis=-1)
    x = layers.GroupNormalization(groups=-1, center=False, scale=False)(x)
    return x * (1.0 + scale) + shift


@architecture(floats(128), floats(64, 64, 3), 16)
def style_generator() -> keras.Model:
    z = keras.Input((128,))
    style = z
    for _ in range(3):
        style = layers.Dense(128)(style)
        style = layers.LeakyReLU(negative_slope=0.2)(style)
    x = LearnedStart()(z)
    for filters in (128, 96, 64, 32):
        x = layers.UpSampling2D(interpolation="bilinear")(x)
        x = Noisy()(layers.Conv2D(filters, 3, padding="same")(x))
        x = styled(layers.LeakyReLU(negative_slope=0.2)(x), style)
    outputs = layers.Conv2D(3, 1, activation="sigmoid")(x)
    return compiled(keras.Model(z, outputs), keras.optimizers.Adam(1e-3, beta_1=0.0, beta_2=0.99), "mse")


@architecture(
    {"camera": floats(72, 96, 3), "speed": floats(1)},
    {"steering": floats(1), "throttle": floats(1), "lane": floats(72, 96, 1)},
    16,
)
def driving() -> keras.Model:
    """Three tasks on one trunk, each with its loss and its weight."""
    camera, speed = keras.Input((72, 96, 3), name="camera"), keras.Input((1,), name="speed")
    x = layers.Conv2D(16, 5, padding="same", activation="elu")(camera)
    for filters in (32, 64, 96):
        x = layers.SeparableConv2D(filters, 3, strides=2, padding="same")(x)
        x = layers.SpatialDropout2D(0.1)(layers.Activation("elu")(layers.LayerNormalization()(x)))
    decided = layers.Concatenate()([layers.GlobalAveragePooling2D()(x), layers.Dense(16, activation="elu")(speed)])
    decided = layers.Dropout(0.3)(layers.Dense(128, activation="elu")(decided))
    for filters in (64, 32, 16):
        x = layers.Conv2D(filters, 3, padding="same", activation="elu")(layers.UpSampling2D()(x))
    outputs = {
        "steering": layers.Dense(1, activation="tanh", name="steering")(decided),
        "throttle": layers.Dense(1, activation="sigmoid", name="throttle")(decided),
        "lane": layers.Conv2D(1, 1, activation="sigmoid", name="lane")(x),
    }
    losses = {"steering": "mse", "throttle": "huber", "lane": keras.losses.BinaryFocalCrossentropy(gamma=2.0)}
    options: dict[str, Any] = {"loss_weights": {"steering": 1.0, "throttle": 0.5, "lane": 2.0}}
    options["metrics"] = {"steering": ["mae"], "lane": ["binary_accuracy"]}
    return compiled(keras.Model({"camera": camera, "speed": speed}, outputs), averaging, losses, **options)


# Volumes


def instance_normalized(x: Any, filters: int) -> Any:
    x = layers.Conv3D(filters, 3, padding="same")(x)
    return layers.PReLU(shared_axes=[1, 2, 3])(layers.GroupNormalization(groups=-1)(x))


@architecture(floats(24, 32, 32, 4), whole(4, 24, 32, 32), 3)
def brain_tumours() -> keras.Model:
    x = inputs = keras.Input((24, 32, 32, 4))
    skipped = []
    for filters in (16, 32):
        y = instance_normalized(instance_normalized(x, filters), filters)
        x = layers.Add()([y, layers.Conv3D(filters, 1)(x)])
        skipped.append(x)
        x = layers.Conv3D(filters, 3, strides=2, padding="same")(x)
    x = layers.SpatialDropout3D(0.2)(instance_normalized(x, 64))
    for filters, skip in zip((32, 16), reversed(skipped), strict=True):
        x = layers.Concatenate()([layers.Conv3DTranspose(filters, 2, strides=2)(x), skip])
        x = instance_normalized(x, filters)
    return compiled(keras.Model(inputs, layers.Conv3D(4, 1)(x)), weight_decaying, LOGITS(from_logits=True))


# Signals


def ecg_block(x: Any, filters: int, strides: int) -> Any:
    y = layers.Conv1D(filters, 15, padding="same", use_bias=False)(x)
    y = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(y)))
    y = layers.Conv1D(filters, 15, strides=strides, padding="same", use_bias=False)(y)
    shortcut = layers.Conv1D(filters, 1, use_bias=False)(layers.MaxPooling1D(strides, padding="same")(x))
    return layers.ReLU()(layers.BatchNormalization()(layers.Add()([y, shortcut])))


@architecture(floats(1000, 12), floats(5), 32)
def ecg_residual() -> keras.Model:
    x = inputs = keras.Input((1000, 12))
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(32, 15, padding="same", use_bias=False)(x)))
    for filters, strides in ((48, 2), (64, 4), (96, 4), (128, 4)):
        x = ecg_block(x, filters, strides)
    outputs = layers.Dense(5, activation="sigmoid")(layers.Flatten()(x))
    metrics = [keras.metrics.AUC(multi_label=True, num_labels=5)]
    return compiled(keras.Model(inputs, outputs), "adam", "binary_crossentropy", metrics=metrics)


def separation_loss(truth: Any, predicted: Any) -> Any:
    """How much louder than its error each voice is, whatever its scale."""
    truth = truth - ops.mean(truth, axis=1, keepdims=True)
    predicted = predicted - ops.mean(predicted, axis=1, keepdims=True)
    shared = ops.sum(truth * predicted, axis=1, keepdims=True)
    wanted = truth * shared / (ops.sum(truth**2, axis=1, keepdims=True) + 1e-8)
    error = ops.sum((predicted - wanted) ** 2, axis=1) + 1e-8
    return -10.0 * ops.mean(ops.log10(ops.sum(wanted**2, axis=1) / error + 1e-8), axis=-1)


@architecture(floats(4000, 1), floats(4000, 2), 6)
def voice_separation() -> keras.Model:
    inputs = keras.Input((4000, 1))
    heard = layers.Conv1D(128, 16, strides=8, padding="same", activation="relu", use_bias=False)(inputs)
    x = layers.Conv1D(96, 1)(layers.GroupNormalization(groups=1)(heard))
    for dilation in (1, 2, 4, 8, 16, 32):
        y = layers.PReLU(shared_axes=[1])(layers.Conv1D(192, 1)(x))
        y = layers.DepthwiseConv1D(3, padding="same", dilation_rate=dilation)(layers.GroupNormalization(groups=1)(y))
        y = layers.GroupNormalization(groups=1)(layers.PReLU(shared_axes=[1])(y))
        x = layers.Add()([x, layers.Conv1D(96, 1)(y)])
    masks = layers.Conv1D(256, 1, activation="sigmoid")(x)
    spoken = layers.Conv1DTranspose(1, 16, strides=8, padding="same", use_bias=False)
    voices = [spoken(heard * masks[:, :, :128]), spoken(heard * masks[:, :, 128:])]
    return compiled(keras.Model(inputs, layers.Concatenate()(voices)), clipping, separation_loss)


@architecture(floats(8000, 1), whole(12), 24)
def spoken_commands() -> keras.Model:
    """A spectrogram made inside the model, and convolutions on it."""
    inputs = keras.Input((8000, 1))
    spectrum = layers.STFTSpectrogram(
        mode="log", frame_length=400, frame_step=160, fft_length=512, expand_dims=True, trainable=False
    )
    x = layers.BatchNormalization()(spectrum(inputs))
    for filters in (24, 48, 96):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
        x = layers.SpatialDropout2D(0.1)(layers.AveragePooling2D(2)(x))
    x = layers.Concatenate()([ops.mean(x, axis=(1, 2)), ops.max(x, axis=(1, 2))])
    x = layers.Dense(128, activation="relu")(x)
    return compiled(keras.Model(inputs, classified(x, 12)), "nadam", CLASSES, metrics=["accuracy"])


@architecture(floats(120, 39), whole(61, 120), 32)
def phonemes() -> keras.Model:
    """A recurrence both ways, then two cells of different kinds stacked in one loop, all of it masked."""
    inputs = keras.Input((120, 39))
    x = layers.Masking(0.0)(inputs)
    x = layers.Bidirectional(layers.GRU(96, return_sequences=True, dropout=0.2), merge_mode="sum")(x)
    x = layers.LayerNormalization()(x)
    x = layers.RNN([layers.LSTMCell(128), layers.GRUCell(128)], return_sequences=True)(x)
    outputs = layers.Dense(61, activation="softmax")(x)
    return compiled(keras.Model(inputs, outputs), "rmsprop", CLASSES, metrics=["accuracy"])


# Text and attention


def feature_modulated(x: Any, asked: Any) -> Any:
    y = layers.Conv2D(96, 3, padding="same", use_bias=False)(x)
    y = layers.BatchNormalization(center=False, scale=False)(y)
    scale, shift = ops.split(layers.Reshape((1, 1, 192))(layers.Dense(192)(asked)), 2, axis=-1)
    return layers.Add()([x, ops.relu(y * (1.0 + scale) + shift)])


@architecture({"image": floats(64, 64, 3), "question": whole(3000, 20)}, whole(200), 48)
def visual_questions() -> keras.Model:
    image = keras.Input((64, 64, 3), name="image")
    question = keras.Input((20,), dtype="int32", name="question")
    asked = layers.GRU(128)(layers.Embedding(3000, 100, mask_zero=True)(question))
    x = image
    for filters in (64, 96):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    for _ in range(3):
        x = feature_modulated(x, asked)
    x = layers.GlobalMaxPooling2D()(layers.Conv2D(256, 1, activation="relu")(x))
    x = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(layers.Concatenate()([x, asked])))
    model = keras.Model({"image": image, "question": question}, classified(x, 200))
    return compiled(model, "adam", CLASSES, metrics=["accuracy"])


class RelativeAttention(layers.Layer):
    """Adds to each score what has been learnt for the distance of its two places."""

    def __init__(self, heads: int, size: int, **options: Any) -> None:
        super().__init__(**options)
        self.heads, self.size = heads, size
        self.projections = [
            layers.EinsumDense("abc,cde->abde", output_shape=(None, heads, size), bias_axes=None) for _ in range(3)
        ]
        self.merged = layers.EinsumDense("abde,dec->abc", output_shape=(None, heads * size), bias_axes="c")
        self.dropped = layers.Dropout(0.1)

    def build(self, shape: tuple[int, ...]) -> None:
        self.distances = self.add_weight((2 * shape[1] - 1, self.heads), initializer="random_normal")

    def call(self, x: Any, training: bool = False) -> Any:
        length = x.shape[1]
        places = ops.arange(length)
        apart = ops.expand_dims(places, 0) - ops.expand_dims(places, 1) + length - 1
        bias = ops.transpose(ops.take(self.distances, apart, axis=0), (2, 0, 1))
        query, key, value = (projection(x) for projection in self.projections)
        scores = ops.einsum("bthd,bshd->bhts", query, key) / self.size**0.5 + bias
        weights = self.dropped(ops.softmax(scores), training=training)
        return self.merged(ops.einsum("bhts,bshd->bthd", weights, value))


@architecture(
    whole(8000, 160),
    {"start": whole(160), "end": whole(160)},
    variant("adafactor", 12, optimizer="adafactor"),
)
def span_answers(optimizer: Any = "adam") -> keras.Model:
    tokens = keras.Input((160,), dtype="int32")
    x = layers.Embedding(8000, 128)(tokens)
    for _ in range(4):
        x = x + layers.Dropout(0.1)(RelativeAttention(4, 32)(layers.RMSNormalization()(x)))
        y = layers.RMSNormalization()(x)
        y = layers.Dense(384, activation="gelu", use_bias=False)(y) * layers.Dense(384, use_bias=False)(y)
        x = x + layers.Dropout(0.1)(layers.Dense(128, use_bias=False)(y))
    x = layers.RMSNormalization()(x)
    outputs = {name: layers.Flatten(name=name)(layers.Dense(1)(x)) for name in ("start", "end")}
    losses = {name: LOGITS(from_logits=True) for name in ("start", "end")}
    return compiled(keras.Model(tokens, outputs), optimizer, losses)


def rotated(x: Any) -> Any:
    """Turns pairs of numbers by angles that grow with the place."""
    length, half = x.shape[1], x.shape[-1] // 2
    speeds = ops.exp(ops.arange(half, dtype="float32") * (-9.21 / half))
    angles = ops.expand_dims(ops.arange(length, dtype="float32"), 1) * speeds
    cos, sin = (ops.reshape(f(angles), (1, length, 1, half)) for f in (ops.cos, ops.sin))
    one, other = ops.split(x, 2, axis=-1)
    return ops.concatenate([one * cos - other * sin, one * sin + other * cos], axis=-1)


class LlamaBlock(layers.Layer):
    def __init__(self, heads: int, size: int, hidden: int, **options: Any) -> None:
        super().__init__(**options)
        self.heads, self.size = heads, size
        self.normalized = [layers.RMSNormalization() for _ in range(2)]
        self.projections = [layers.Dense(heads * size, use_bias=False) for _ in range(3)]
        self.merged = layers.Dense(heads * size, use_bias=False)
        self.gate, self.up = layers.Dense(hidden, use_bias=False), layers.Dense(hidden, use_bias=False)
        self.down = layers.Dense(heads * size, use_bias=False)

    def call(self, x: Any) -> Any:
        length = x.shape[1]
        y = self.normalized[0](x)
        query, key, value = (ops.reshape(f(y), (-1, length, self.heads, self.size)) for f in self.projections)
        y = ops.dot_product_attention(rotated(query), rotated(key), value, is_causal=True)
        x = x + self.merged(ops.reshape(y, (-1, length, self.heads * self.size)))
        y = self.normalized[1](x)
        return x + self.down(ops.silu(self.gate(y)) * self.up(y))


class Llama(keras.Model):
    """A decoder that uses the table of its inputs for its outputs too."""

    def __init__(self) -> None:
        super().__init__()
        self.table = layers.Embedding(5000, 160)
        self.blocks = [LlamaBlock(5, 32, 432) for _ in range(4)]
        self.normalized = layers.RMSNormalization()

    def call(self, tokens: Any) -> Any:
        x = self.table(tokens)
        for block in self.blocks:
            x = block(x)
        return ops.matmul(self.normalized(x), ops.transpose(self.table.embeddings))


@architecture(whole(5000, 96), whole(5000, 96), 10, needs_x=True)
def llama() -> keras.Model:
    return compiled(Llama(), "adamw", LOGITS(from_logits=True))


class Placed(layers.Layer):
    """Adds to each place of a sequence what has been learnt for it."""

    def build(self, shape: tuple[int, ...]) -> None:
        self.places = self.add_weight(tuple(shape[1:]), initializer="random_normal")

    def call(self, x: Any) -> Any:
        return x + self.places


class Latents(layers.Layer):
    def build(self, shape: tuple[int, ...]) -> None:
        self.latents = self.add_weight((64, 96), initializer="random_normal")

    def call(self, x: Any) -> Any:
        return ops.broadcast_to(ops.expand_dims(self.latents, 0), (ops.shape(x)[0], 64, 96))


@architecture(floats(32, 32, 3), whole(100), 16)
def perceiver() -> keras.Model:
    """A few latents look at all pixels and at each other, twice with the same weights."""
    inputs = keras.Input((32, 32, 3))
    pixels = Placed()(layers.Dense(64)(layers.Reshape((1024, 3))(inputs)))
    pixels = layers.LayerNormalization()(pixels)
    looking = layers.MultiHeadAttention(4, 24, output_shape=96)
    talking = [layers.MultiHeadAttention(4, 24) for _ in range(2)]
    feeding = [keras.Sequential([layers.Dense(192, activation="gelu"), layers.Dense(96)]) for _ in range(2)]
    x = Latents()(inputs)
    for _ in range(2):
        x = layers.Add()([x, looking(layers.LayerNormalization()(x), pixels)])
        for talk, feed in zip(talking, feeding, strict=True):
            y = layers.LayerNormalization()(x)
            x = layers.Add()([x, talk(y, y)])
            x = layers.Add()([x, feed(layers.LayerNormalization()(x))])
    x = layers.GlobalAveragePooling1D()(x)
    optimizer = keras.optimizers.Lamb(1e-3)
    return compiled(keras.Model(inputs, classified(x, 100)), optimizer, CLASSES, metrics=["accuracy"])


# Tables and graphs


def gated_linear(x: Any, dense: Any) -> Any:
    value, gate = ops.split(layers.BatchNormalization(momentum=0.9)(dense(x)), 2, axis=-1)
    return value * ops.sigmoid(gate)


def features_transformed(x: Any, shared: list[Any]) -> Any:
    x = gated_linear(x, shared[0])
    for dense in (shared[1], layers.Dense(256, use_bias=False), layers.Dense(256, use_bias=False)):
        x = (x + gated_linear(x, dense)) * 0.5**0.5
    return x


@architecture(floats(64), whole(7), 2048)
def tabnet() -> keras.Model:
    """Steps that each choose the columns to look at, and look less at those already chosen."""
    inputs = keras.Input((64,))
    x = layers.BatchNormalization()(inputs)
    shared = [layers.Dense(256, use_bias=False) for _ in range(2)]
    prior, total = ops.ones_like(x), None
    _, attention = ops.split(features_transformed(x, shared), 2, axis=-1)
    for _ in range(3):
        asked = layers.BatchNormalization()(layers.Dense(64, use_bias=False)(attention))
        mask = ops.softmax(asked * prior)
        prior = prior * (1.3 - mask)
        decision, attention = ops.split(features_transformed(x * mask, shared), 2, axis=-1)
        decision = ops.relu(decision)
        total = decision if total is None else total + decision
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.ExponentialDecay(0.02, 500, 0.95))
    return compiled(keras.Model(inputs, classified(total, 7)), optimizer, CLASSES, metrics=["accuracy"])


@architecture([floats(40, 24), floats(40, 40, 8), floats(40, 40, 1)], floats(1), 24)
def molecules() -> keras.Model:
    """Messages between all pairs of atoms, weighed by a dense adjacency."""
    atoms, bonds, near = keras.Input((40, 24)), keras.Input((40, 40, 8)), keras.Input((40, 40, 1))
    x = layers.Dense(64, activation="relu")(atoms)
    for _ in range(3):
        sent = ops.expand_dims(layers.Dense(64)(x), 1)
        received = ops.expand_dims(layers.Dense(64, use_bias=False)(x), 2)
        pairs = ops.relu(sent + received + layers.Dense(64, use_bias=False)(bonds))
        told = ops.sum(layers.Dense(64)(pairs) * near, axis=2)
        y = layers.Dense(64, activation="relu")(layers.Concatenate()([x, told]))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    x = layers.Dense(128, activation="relu")(layers.GlobalAveragePooling1D()(x))
    optimizer = keras.optimizers.Adam(1e-3, amsgrad=True)
    return compiled(keras.Model([atoms, bonds, near], layers.Dense(1)(x)), optimizer, "mae")


# Steps of the user's own


class ImageTextPairs(keras.Model):
    """Each image is to be told its text among all of the batch, and the other way round."""

    def __init__(self) -> None:
        super().__init__()
        self.image_tower = keras.Sequential()
        for filters, strides in ((24, 1), (48, 2), (96, 2), (192, 2)):
            self.image_tower.add(layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False))
            self.image_tower.add(layers.BatchNormalization())
            self.image_tower.add(layers.Activation("gelu"))
        self.image_tower.add(layers.GlobalAveragePooling2D())
        self.image_tower.add(layers.Dense(128))
        self.table, self.attention = layers.Embedding(4000, 128), layers.MultiHeadAttention(4, 32)
        self.normalized, self.pooled = layers.LayerNormalization(), layers.GlobalAveragePooling1D()
        self.text_projection = layers.Dense(128)
        self.sharpness = self.add_weight(shape=(), initializer=keras.initializers.Constant(2.66), name="sharpness")

    def call(self, inputs: Any, training: bool = False) -> Any:
        images = self.image_tower(inputs["image"], training=training)
        words = self.table(inputs["text"])
        words = self.normalized(words + self.attention(words, words))
        return images, self.text_projection(self.pooled(words))

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        images, texts = (ops.normalize(ops.cast(each, "float32"), axis=-1) for each in y_pred)
        alike = ops.matmul(images, ops.transpose(texts)) * ops.exp(self.sharpness)
        wanted = ops.arange(ops.shape(alike)[0])
        losses = [
            keras.losses.sparse_categorical_crossentropy(wanted, scores, from_logits=True)
            for scores in (alike, ops.transpose(alike))
        ]
        return ops.mean(losses[0] + losses[1]) / 2


@architecture(
    {"image": floats(64, 64, 3), "text": whole(4000, 24)},
    None,
    variant("bfloat16", 56, policy="mixed_bfloat16"),
    needs_x=True,
)
def image_text_pairs() -> keras.Model:
    return compiled(ImageTextPairs(), "adamw", None)


def dueling_network() -> keras.Model:
    x = inputs = keras.Input((84, 84, 4))
    for filters, size, strides in ((32, 8, 4), (64, 4, 2), (64, 3, 1)):
        x = layers.Conv2D(filters, size, strides=strides, activation="relu")(x)
    x = layers.Flatten()(x)
    value = layers.Dense(1)(layers.Dense(384, activation="relu")(x))
    gain = layers.Dense(6)(layers.Dense(384, activation="relu")(x))
    return keras.Model(inputs, value + gain - ops.mean(gain, axis=-1, keepdims=True))


class DuelingDqn(keras.Model):
    """One network learns; another, that follows it slowly, says what the next state is worth."""

    def __init__(self) -> None:
        super().__init__()
        self.online, self.slow = dueling_network(), dueling_network()
        self.slow.trainable = False
        self.slow.set_weights(self.online.get_weights())

    def call(self, inputs: Any) -> Any:
        return self.online(inputs["state"])

    def train_step(self, data: Any) -> dict[str, Any]:
        seen = data[0] if isinstance(data, tuple) else data
        best = ops.one_hot(ops.argmax(self.online(seen["next"]), axis=-1), 6)
        future = ops.sum(self.slow(seen["next"]) * best, axis=-1)
        wanted = ops.stop_gradient(seen["reward"] + 0.99 * (1.0 - seen["done"]) * future)
        with tf.GradientTape() as tape:
            taken = ops.sum(self.online(seen["state"], training=True) * ops.one_hot(seen["action"], 6), axis=-1)
            error = ops.abs(wanted - taken)
            loss = ops.mean(ops.where(error < 1.0, 0.5 * error**2, error - 0.5))
        trained = self.online.trainable_variables
        self.optimizer.apply(tape.gradient(loss, trained), trained)
        for slow, fast in zip(self.slow.variables, self.online.variables, strict=True):
            slow.assign(0.995 * slow + 0.005 * fast)
        return {"loss": loss}


@architecture(
    {"state": floats(84, 84, 4), "next": floats(84, 84, 4), "action": whole(6), "reward": floats(), "done": floats()},
    None,
    128,
    needs_x=True,
)
def dueling_dqn() -> keras.Model:
    return compiled(DuelingDqn(), keras.optimizers.RMSprop(2.5e-4, momentum=0.95, centered=True), None)


class Wasserstein(keras.Model):
    """A critic whose slope is held near one: a gradient of a gradient, twice for each step of the maker."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = keras.Sequential([keras.Input((40, 40, 3))])
        for filters, strides in ((32, 1), (64, 2), (96, 2), (128, 2)):
            self.critic.add(layers.Conv2D(filters, 5, strides=strides, padding="same"))
            self.critic.add(layers.LeakyReLU(negative_slope=0.2))
        self.critic.add(layers.Flatten())
        self.critic.add(layers.Dense(1))
        self.maker = keras.Sequential([keras.Input((96,)), layers.Dense(5 * 5 * 128, use_bias=False)])
        self.maker.add(layers.Reshape((5, 5, 128)))
        for filters in (96, 64, 32):
            self.maker.add(layers.UpSampling2D())
            self.maker.add(layers.Conv2D(filters, 3, padding="same", use_bias=False))
            self.maker.add(layers.BatchNormalization())
            self.maker.add(layers.LeakyReLU(negative_slope=0.2))
        self.maker.add(layers.Conv2D(3, 3, padding="same", activation="tanh"))

    def call(self, images: Any) -> Any:
        return self.critic(images)

    def compile(self, **options: Any) -> None:
        super().compile(**options)
        self.for_maker = keras.optimizers.Adam(1e-4, beta_1=0.5, beta_2=0.9)

    def train_step(self, data: Any) -> dict[str, Any]:
        real = data[0] if isinstance(data, tuple) else data
        count = tf.shape(real)[0]
        for _ in range(2):
            with tf.GradientTape() as tape:
                made = self.maker(tf.random.normal((count, 96)), training=True)
                share = tf.random.uniform((count, 1, 1, 1))
                between = share * real + (1.0 - share) * made
                with tf.GradientTape() as inner:
                    inner.watch(between)
                    judged = self.critic(between, training=True)
                slopes = inner.gradient(judged, between)
                steepness = tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=(1, 2, 3)) + 1e-12)
                apart = ops.mean(self.critic(made, training=True)) - ops.mean(self.critic(real, training=True))
                loss = apart + 10.0 * tf.reduce_mean(tf.square(steepness - 1.0))
            trained = self.critic.trainable_variables
            self.optimizer.apply(tape.gradient(loss, trained), trained)
        with tf.GradientTape() as tape:
            made = self.maker(tf.random.normal((count, 96)), training=True)
            fooled = -ops.mean(self.critic(made, training=True))
        trained = self.maker.trainable_variables
        self.for_maker.apply(tape.gradient(fooled, trained), trained)
        return {"critic": loss, "maker": fooled}


@architecture(floats(40, 40, 3), None, 32, needs_x=True)
def wasserstein() -> keras.Model:
    model = Wasserstein()
    model.compile(optimizer=keras.optimizers.Adam(1e-4, beta_1=0.5, beta_2=0.9))
    return model
