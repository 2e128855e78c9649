"""Models as thirty other people would write them, from notebooks, papers, courses and keras.io.

They were unseen once, and showed what the estimate did not know; since then they are known.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import layers, ops, optimizers, regularizers

from benchmarks.registry import architecture, floats, variant, whole
from benchmarks.zoo.models import CLASSES, LOGITS, classified, compiled

# Images


@architecture(floats(28, 28, 1), whole(10), 4000)
def lenet_homework() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(16, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Flatten(),
            layers.Dense(120, activation="tanh"),
            layers.Dense(84, activation="tanh"),
            layers.Dense(10, activation="softmax"),
        ]
    )
    return compiled(model, "sgd", CLASSES, metrics=["accuracy"])


@architecture(floats(100, 100, 3), floats(1), 20)
def cats_and_dogs() -> keras.Model:
    """Raw pixels in, augmented and scaled by the model itself, as in the first Kaggle notebooks."""
    model = keras.Sequential(
        [
            keras.Input((100, 100, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomTranslation(0.1, 0.1),
            layers.RandomBrightness(0.2, value_range=(0.0, 1.0)),
            layers.Rescaling(2.0, offset=-1.0),
        ]
    )
    for filters in (32, 64, 128):
        model.add(layers.Conv2D(filters, 3, kernel_regularizer=regularizers.L2(1e-4)))
        model.add(layers.BatchNormalization())
        model.add(layers.PReLU(shared_axes=[1, 2]))
        model.add(layers.MaxPooling2D())
        model.add(layers.SpatialDropout2D(0.1))
    model.add(layers.Flatten())
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(1, activation="sigmoid"))
    optimizer = optimizers.RMSprop(1e-4, momentum=0.9, clipvalue=0.5)
    return compiled(model, optimizer, "binary_crossentropy", metrics=["accuracy", keras.metrics.AUC()])


def conv_bn_relu(x: Any, filters: int, size: int = 3, dilation: int = 1) -> Any:
    x = layers.Conv2D(filters, size, padding="same", dilation_rate=dilation, use_bias=False)(x)
    return layers.ReLU()(layers.BatchNormalization()(x))


@architecture(floats(96, 96, 3), whole(21, 96, 96), 6)
def deeplab() -> keras.Model:
    """Atrous pyramid pooling over a strided stem, upsampled bilinearly."""
    inputs = keras.Input((96, 96, 3))
    low = conv_bn_relu(layers.Conv2D(32, 3, strides=2, padding="same")(inputs), 48)
    x = conv_bn_relu(layers.MaxPooling2D()(low), 96)
    x = conv_bn_relu(layers.MaxPooling2D()(x), 160)
    pooled = layers.GlobalAveragePooling2D(keepdims=True)(x)
    pooled = layers.UpSampling2D(12, interpolation="bilinear")(layers.Conv2D(64, 1, activation="relu")(pooled))
    branches = [pooled, conv_bn_relu(x, 64, 1), *(conv_bn_relu(x, 64, 3, rate) for rate in (2, 4, 6))]
    x = conv_bn_relu(layers.Concatenate()(branches), 64, 1)
    x = layers.UpSampling2D(4, interpolation="bilinear")(x)
    x = conv_bn_relu(layers.Concatenate()([x, conv_bn_relu(low, 24, 1)]), 64)
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(21, 1)(x))
    return compiled(
        keras.Model(inputs, x),
        optimizers.SGD(0.007, momentum=0.9),
        LOGITS(from_logits=True, ignore_class=0),
        metrics=["accuracy"],
    )


@architecture(floats(64, 64, 3), floats(1), 40)
def spectral_critic() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters, groups in ((32, 1), (64, 4), (128, 8)):
        x = layers.Conv2D(filters, 4, strides=2, padding="same", groups=groups)(x)
        x = layers.GroupNormalization(8)(layers.LeakyReLU(0.2)(x))
        x = layers.SpectralNormalization(layers.Conv2D(filters, 3, padding="same", activation="mish"))(x)
    x = layers.SpectralNormalization(layers.Dense(1))(layers.GlobalMaxPooling2D()(x))
    return compiled(keras.Model(inputs, x), optimizers.Adam(2e-4, beta_1=0.5), "hinge")


@architecture(floats(64, 256, 1), whole(4), 24)
def eegnet() -> keras.Model:
    inputs = keras.Input((64, 256, 1))
    x = layers.Conv2D(8, (1, 64), padding="same", use_bias=False)(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.DepthwiseConv2D(
        (64, 1), depth_multiplier=2, use_bias=False, depthwise_constraint=keras.constraints.MaxNorm(1.0)
    )(x)
    x = layers.Activation("elu")(layers.BatchNormalization()(x))
    x = layers.Dropout(0.5)(layers.AveragePooling2D((1, 4))(x))
    x = layers.SeparableConv2D(16, (1, 16), padding="same", use_bias=False)(x)
    x = layers.Activation("elu")(layers.BatchNormalization()(x))
    x = layers.Dropout(0.5)(layers.AveragePooling2D((1, 8))(x))
    x = layers.Dense(4, kernel_constraint=keras.constraints.MaxNorm(0.25))(layers.Flatten()(x))
    return compiled(keras.Model(inputs, layers.Softmax()(x)), "adam", CLASSES, metrics=["accuracy"])


def nested_node(parts: list[Any], filters: int) -> Any:
    x = layers.Concatenate()(parts) if len(parts) > 1 else parts[0]
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", activation="swish", kernel_initializer="he_normal")(x)
    return x


@architecture(floats(80, 80, 3), floats(80, 80, 1), 6)
def unet_plus_plus() -> keras.Model:
    inputs = keras.Input((80, 80, 3))
    widths = (16, 32, 64, 128)
    grid: dict[tuple[int, int], Any] = {}
    x = inputs
    for depth, filters in enumerate(widths):
        grid[depth, 0] = nested_node([x], filters)
        x = layers.MaxPooling2D()(grid[depth, 0])
        for step in range(1, depth + 1):
            row = depth - step
            raised = layers.Conv2DTranspose(widths[row], 2, strides=2)(grid[row + 1, step - 1])
            grid[row, step] = nested_node([*(grid[row, earlier] for earlier in range(step)), raised], widths[row])
    outputs = layers.Average()([layers.Conv2D(1, 1, activation="sigmoid")(grid[0, step]) for step in (1, 2, 3)])
    optimizer = optimizers.SGD(0.01, momentum=0.9, use_ema=True, ema_momentum=0.999)
    loss = keras.losses.BinaryFocalCrossentropy(gamma=2.0)
    return compiled(keras.Model(inputs, outputs), optimizer, loss, metrics=[keras.metrics.BinaryIoU([1])])


@architecture(floats(8, 40, 40, 3), whole(8), 8)
def factorized_video() -> keras.Model:
    """The (2 + 1)-D convolutions of the keras.io video tutorial."""
    x = inputs = keras.Input((8, 40, 40, 3))
    for filters in (16, 32, 64):
        shortcut = layers.Conv3D(filters, 1, strides=(1, 2, 2))(x)
        x = layers.Conv3D(filters, (1, 3, 3), strides=(1, 2, 2), padding="same")(x)
        x = layers.Conv3D(filters, (3, 1, 1), padding="same")(x)
        x = layers.LayerNormalization()(x)
        x = layers.ReLU()(layers.Add()([x, shortcut]))
    x = layers.GlobalAveragePooling3D()(x)
    return compiled(keras.Model(inputs, layers.Dense(8)(x)), "nadam", LOGITS(from_logits=True))


def fire(x: Any, squeezed: int, expanded: int) -> Any:
    x = layers.Conv2D(squeezed, 1, activation="relu")(x)
    sides = [layers.Conv2D(expanded, size, padding="same", activation="relu")(x) for size in (1, 3)]
    return layers.concatenate(sides)


@architecture(floats(112, 112, 3), floats(30), 24)
def squeezenet() -> keras.Model:
    inputs = keras.Input((112, 112, 3))
    x = layers.Conv2D(64, 3, strides=2, activation="relu")(inputs)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = fire(fire(x, 16, 64), 16, 64)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = fire(fire(x, 32, 128), 32, 128)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Dropout(0.5)(fire(x, 48, 192))
    x = layers.GlobalAveragePooling2D()(layers.Conv2D(30, 1, activation="relu")(x))
    loss = keras.losses.CategoricalCrossentropy(label_smoothing=0.1)
    return compiled(
        keras.Model(inputs, layers.Softmax()(x)), "adamax", loss, metrics=[keras.metrics.TopKCategoricalAccuracy(3)]
    )


@architecture(floats(64, 64, 3), whole(5), 12)
def resnet50_v2_finetuned() -> keras.Model:
    """The last stage is trained, the rest of the base is frozen."""
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(64, 64, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith(("conv5", "post"))
    inputs = keras.Input((64, 64, 3))
    x = keras.applications.resnet_v2.preprocess_input(inputs * 255.0)
    x = layers.GlobalAveragePooling2D()(base(x))
    x = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(x))
    return compiled(keras.Model(inputs, classified(x, 5)), optimizers.Adam(1e-5), CLASSES, metrics=["accuracy"])


@architecture(floats(64, 64, 3), whole(12), 4)
def convnext_tiny() -> keras.Model:
    base = keras.applications.ConvNeXtTiny(include_top=False, weights=None, input_shape=(64, 64, 3), pooling="max")
    return compiled(keras.Model(base.input, classified(base.output, 12)), optimizers.SGD(0.01), CLASSES)


def squashed(x: Any) -> Any:
    length = ops.sum(ops.square(x), axis=-1, keepdims=True)
    return length / (1.0 + length) * x / ops.sqrt(length + 1e-7)


class Capsules(layers.Layer):
    def __init__(self, count: int, width: int, routings: int = 3) -> None:
        super().__init__()
        self.count, self.width, self.routings = count, width, routings

    def build(self, shape: Any) -> None:
        self.transform = self.add_weight(
            shape=(self.count, shape[1], self.width, shape[2]), initializer="glorot_uniform", name="transform"
        )

    def call(self, x: Any) -> Any:
        votes = ops.einsum("jiwd,bid->bjiw", self.transform, x)
        agreement = ops.zeros_like(votes[..., 0])
        for step in range(self.routings):
            coupling = ops.softmax(agreement, axis=1)
            poses = squashed(ops.einsum("bji,bjiw->bjw", coupling, votes))
            if step < self.routings - 1:
                agreement = agreement + ops.einsum("bjw,bjiw->bji", poses, votes)
        return poses


def margin_loss(truth: Any, lengths: Any) -> Any:
    present = truth * ops.square(ops.maximum(0.0, 0.9 - lengths))
    absent = 0.5 * (1.0 - truth) * ops.square(ops.maximum(0.0, lengths - 0.1))
    return ops.sum(present + absent, axis=-1)


@architecture(floats(28, 28, 1), floats(10), 32)
def capsule_network() -> keras.Model:
    inputs = keras.Input((28, 28, 1))
    x = layers.Conv2D(64, 9, activation="relu")(inputs)
    x = layers.Conv2D(128, 9, strides=2)(x)
    x = layers.Lambda(squashed)(layers.Reshape((-1, 8))(x))
    x = Capsules(10, 16)(x)
    x = layers.Lambda(lambda poses: ops.sqrt(ops.sum(ops.square(poses), axis=-1) + 1e-7), output_shape=(10,))(x)
    return compiled(keras.Model(inputs, x), "adam", margin_loss, metrics=["categorical_accuracy"])


def verification_tower() -> keras.Model:
    x = inputs = keras.Input((64, 96, 1))
    for filters in (24, 48, 96):
        x = layers.Conv2D(filters, 3, padding="same", activation="gelu", kernel_regularizer="l2")(x)
        x = layers.Conv2D(filters, 3, strides=2, padding="same", bias_regularizer="l1")(x)
        x = layers.BatchNormalization()(x)
    x = layers.UnitNormalization()(layers.Dense(128)(layers.GlobalAveragePooling2D()(x)))
    return keras.Model(inputs, x)


def contrastive_margin(truth: Any, distance: Any) -> Any:
    return ops.mean(truth * ops.square(distance) + (1.0 - truth) * ops.square(ops.maximum(1.0 - distance, 0.0)))


@architecture([floats(64, 96, 1), floats(64, 96, 1)], floats(1), 16)
def signatures() -> keras.Model:
    tower = verification_tower()
    left, right = keras.Input((64, 96, 1)), keras.Input((64, 96, 1))
    distance = layers.Lambda(
        lambda pair: ops.sqrt(ops.maximum(ops.sum(ops.square(pair[0] - pair[1]), axis=1, keepdims=True), 1e-7)),
        output_shape=(1,),
    )([tower(left), tower(right)])
    return compiled(keras.Model([left, right], distance), optimizers.Adadelta(1.0), contrastive_margin)


class StochasticDepth(layers.Layer):
    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate, self.seed = rate, keras.random.SeedGenerator(11)

    def call(self, x: Any, training: bool = False) -> Any:
        if not training:
            return x
        kept = keras.random.uniform((ops.shape(x)[0], 1, 1), seed=self.seed) + (1.0 - self.rate)
        return x / (1.0 - self.rate) * ops.floor(kept)


class SequencePooling(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.attention = layers.Dense(1)

    def call(self, x: Any) -> Any:
        weights = ops.transpose(ops.softmax(self.attention(x), axis=1), (0, 2, 1))
        return ops.squeeze(ops.matmul(weights, x), -2)


@architecture(floats(32, 32, 3), floats(10), 48)
def compact_transformer() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = inputs
    for filters in (64, 128):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False, activation="relu")(x)
        x = layers.MaxPooling2D(3, 2, "same")(x)
    x = layers.Reshape((64, 128))(x)
    for rate in (0.0, 0.05, 0.1):
        normal = layers.LayerNormalization(epsilon=1e-5)(x)
        attended = layers.MultiHeadAttention(2, 128, dropout=0.1)(normal, normal)
        x = layers.Add()([StochasticDepth(rate)(attended), x])
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        for _ in range(2):
            y = layers.Dropout(0.1)(layers.Dense(128, activation=keras.activations.gelu)(y))
        x = layers.Add()([StochasticDepth(rate)(y), x])
    x = SequencePooling()(layers.LayerNormalization(epsilon=1e-5)(x))
    return compiled(
        keras.Model(inputs, layers.Dense(10)(x)),
        optimizers.AdamW(1e-3, weight_decay=1e-4, gradient_accumulation_steps=2),
        keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1),
    )


# Sequences


@architecture(floats(288, 1), floats(288, 1), 512)
def anomaly_autoencoder() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((288, 1)),
            layers.Conv1D(32, 7, padding="same", strides=2, activation="relu"),
            layers.Dropout(0.2),
            layers.Conv1D(16, 7, padding="same", strides=2, activation="relu"),
            layers.Conv1DTranspose(16, 7, padding="same", strides=2, activation="relu"),
            layers.Dropout(0.2),
            layers.Conv1DTranspose(32, 7, padding="same", strides=2, activation="relu"),
            layers.Conv1DTranspose(1, 7, padding="same"),
        ]
    )
    return compiled(model, optimizers.Adam(1e-3), "mse", steps_per_execution=3)


@architecture(floats(100, 9), floats(6), 96)
def phone_activity() -> keras.Model:
    """Zero-padded recordings, masked, through recurrent layers of both directions."""
    model = keras.Sequential(
        [
            keras.Input((100, 9)),
            layers.Masking(0.0),
            layers.Bidirectional(layers.GRU(64, return_sequences=True, dropout=0.2)),
            layers.Bidirectional(layers.GRU(32, return_sequences=True), merge_mode="sum"),
            layers.LSTM(48),
            layers.Dense(6, activation="sigmoid"),
        ]
    )
    optimizer = optimizers.Adam(1e-3, global_clipnorm=1.0)
    return compiled(model, optimizer, "binary_crossentropy", metrics=[keras.metrics.F1Score("macro", 0.5)])


@architecture(floats(16, 96, 6), floats(96, 1), 24)
def traffic_flow() -> keras.Model:
    x = inputs = keras.Input((16, 96, 6))
    x = layers.ConvLSTM1D(24, 5, padding="same", return_sequences=True)(x)
    x = layers.BatchNormalization()(x)
    x = layers.ConvLSTM1D(24, 3, padding="same", recurrent_dropout=0.1)(x)
    x = layers.Conv1D(1, 1)(x)
    return compiled(keras.Model(inputs, x), "adagrad", keras.losses.LogCosh(), metrics=["mae"])


@architecture([floats(72, 10), floats(24, 4)], floats(24, 1), 200)
def load_forecast() -> keras.Model:
    """The state of an encoder starts a decoder that looks back with Luong's attention."""
    history, known = keras.Input((72, 10)), keras.Input((24, 4))
    encoded, hidden, carry = layers.LSTM(96, return_sequences=True, return_state=True)(history)
    repeated = layers.RepeatVector(24)(hidden)
    decoded = layers.LSTM(96, return_sequences=True)(
        layers.Concatenate()([repeated, known]), initial_state=[hidden, carry]
    )
    context = layers.Attention(use_scale=True)([decoded, encoded])
    x = layers.Concatenate()([decoded, context])
    x = layers.TimeDistributed(layers.Dense(32, activation="selu"))(x)
    x = layers.TimeDistributed(layers.Dense(1))(x)
    return compiled(keras.Model([history, known], x), "rmsprop", keras.losses.Huber(), metrics=["mape"])


@architecture(floats(28, 28), whole(10), 400)
def rows_as_steps() -> keras.Model:
    cells = [layers.LSTMCell(100), layers.GRUCell(100), layers.SimpleRNNCell(50)]
    model = keras.Sequential(
        [
            keras.Input((28, 28)),
            layers.RNN(cells, unroll=True),
            layers.LayerNormalization(),
            layers.Dense(10),
        ]
    )
    return compiled(model, optimizers.Nadam(2e-3, clipnorm=1.0), LOGITS(from_logits=True), metrics=["accuracy"])


@architecture(whole(30_000, 25), whole(30_000), 200)
def next_purchase() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((25,), dtype="int32"),
            layers.Embedding(30_000, 64, mask_zero=True),
            layers.GRU(100),
            layers.Dropout(0.25),
            layers.Dense(30_000),
        ]
    )
    top = keras.metrics.SparseTopKCategoricalAccuracy(20)
    return compiled(model, optimizers.Adagrad(0.05), LOGITS(from_logits=True), metrics=[top])


class LinearAttention(layers.Layer):
    """Attention without the square: keys meet values before queries meet either."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.width, self.heads = width, heads
        self.mixed, self.out = layers.Dense(3 * width, use_bias=False), layers.Dense(width)

    def call(self, x: Any) -> Any:
        batch, steps = ops.shape(x)[0], ops.shape(x)[1]
        parts = ops.reshape(self.mixed(x), (batch, steps, 3, self.heads, self.width // self.heads))
        query, key, value = ops.unstack(parts, 3, axis=2)
        query, key = ops.elu(query) + 1.0, ops.elu(key) + 1.0
        memory = ops.einsum("bshd,bshe->bhde", key, value)
        scale = 1.0 / (ops.einsum("bshd,bhd->bsh", query, ops.sum(key, axis=1)) + 1e-6)
        mixed = ops.einsum("bshd,bhde,bsh->bshe", query, memory, scale)
        return self.out(ops.reshape(mixed, (batch, steps, self.width)))


@architecture(whole(256, 512), whole(2), 8)
def byte_classifier() -> keras.Model:
    inputs = keras.Input((512,), dtype="int32")
    x = layers.Embedding(256, 128)(inputs)
    x = x + layers.Embedding(512, 128)(ops.arange(512))
    for _ in range(3):
        x = layers.Add()([x, LinearAttention(128, 4)(layers.LayerNormalization()(x))])
        hidden = layers.Dense(256, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(128)(hidden)])
    x = layers.GlobalMaxPooling1D()(x)
    return compiled(keras.Model(inputs, classified(x, 2)), "adafactor", CLASSES, metrics=["accuracy"])


@architecture(whole(4000, 160), whole(4000, 160), variant("bfloat16", 8, policy="mixed_bfloat16"))
def grouped_query_decoder() -> keras.Model:
    inputs = keras.Input((160,), dtype="int32")
    x = layers.Embedding(4000, 192)(inputs)
    for _ in range(3):
        normal = layers.RMSNormalization()(x)
        x = x + layers.GroupQueryAttention(32, 6, 2)(normal, normal, use_causal_mask=True)
        normal = layers.RMSNormalization()(x)
        x = x + layers.Dense(192)(layers.Dense(512, activation="silu")(normal) * layers.Dense(512)(normal))
    outputs = layers.Dense(4000, dtype="float32")(layers.RMSNormalization()(x))
    optimizer = optimizers.Lion(1e-4, weight_decay=0.1)
    return compiled(keras.Model(inputs, outputs), optimizer, LOGITS(from_logits=True))


class Fourier(layers.Layer):
    def call(self, x: Any) -> Any:
        real, _ = ops.fft2((x, ops.zeros_like(x)))
        return real


def fourier_block(x: Any, hidden: int) -> Any:
    x = layers.LayerNormalization()(x + Fourier()(x))
    y = layers.Dense(x.shape[-1])(layers.Dense(hidden, activation="relu")(x))
    return layers.LayerNormalization()(x + y)


@architecture([whole(6000, 40), whole(6000, 40)], whole(6000, 40), 32)
def fnet_chatbot() -> keras.Model:
    """The encoder mixes with Fourier transforms, the decoder attends."""
    asked, answered = keras.Input((40,), dtype="int32"), keras.Input((40,), dtype="int32")
    words = layers.Embedding(6000, 128)
    memory = fourier_block(fourier_block(words(asked), 512), 512)
    x = words(answered)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 32)(x, memory))
    x = layers.LayerNormalization()(x + layers.Dense(128)(layers.Dense(512, activation="relu")(x)))
    outputs = layers.Dense(6000, activation="softmax")(layers.Dropout(0.5)(x))
    return compiled(keras.Model([asked, answered], outputs), "adam", CLASSES, metrics=["accuracy"])


class SwitchedExperts(layers.Layer):
    """Each token goes to one expert; a loss added on the way keeps the experts evenly loaded."""

    def __init__(self, experts: int, hidden: int) -> None:
        super().__init__()
        self.experts, self.hidden = experts, hidden
        self.router = layers.Dense(experts)

    def build(self, shape: Any) -> None:
        self.router.build(shape)
        self.rise = self.add_weight(shape=(self.experts, shape[-1], self.hidden), initializer="glorot_uniform")
        self.fall = self.add_weight(shape=(self.experts, self.hidden, shape[-1]), initializer="glorot_uniform")

    def call(self, x: Any) -> Any:
        chances = ops.softmax(self.router(x))
        gate, chosen = ops.top_k(chances, 1)
        routed = ops.one_hot(chosen[..., 0], self.experts, dtype=x.dtype)
        share = ops.mean(routed, axis=(0, 1)) * ops.mean(chances, axis=(0, 1))
        self.add_loss(0.01 * self.experts * ops.sum(share))
        sent = ops.einsum("bsd,bse->ebsd", x, routed)
        hidden = ops.relu(ops.einsum("ebsd,edh->ebsh", sent, self.rise))
        return ops.einsum("ebsh,ehd,bse->bsd", hidden, self.fall, routed) * gate


@architecture(whole(12_000, 64), floats(1), 40)
def switch_transformer() -> keras.Model:
    inputs = keras.Input((64,), dtype="int32")
    x = layers.Embedding(12_000, 64)(inputs)
    for _ in range(2):
        x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 32)(x, x))
        x = layers.LayerNormalization()(x + SwitchedExperts(6, 128)(x))
    x = layers.Dense(32, activation="relu")(layers.GlobalAveragePooling1D()(x))
    outputs = layers.Dense(1, activation="sigmoid")(x)
    metrics = [keras.metrics.AUC(), keras.metrics.Precision(), keras.metrics.Recall()]
    return compiled(keras.Model(inputs, outputs), optimizers.Adam(1e-3), "binary_crossentropy", metrics=metrics)


# Tables, graphs, recommendations


@architecture(floats(28), floats(1), variant("jit", 6000, jit_compile=True), 12_000)
def higgs(**options: Any) -> keras.Model:
    x = inputs = keras.Input((28,))
    x = layers.GaussianNoise(0.05)(layers.BatchNormalization()(x))
    for _ in range(4):
        x = layers.Dense(300, activation="mish", kernel_initializer="he_normal")(x)
        x = layers.AlphaDropout(0.1)(x)
    outputs = layers.Dense(1, activation="sigmoid")(x)
    optimizer = optimizers.LossScaleOptimizer(optimizers.AdamW(1e-3))
    options = {"metrics": ["accuracy", keras.metrics.AUC(num_thresholds=100)], **options}
    return compiled(keras.Model(inputs, outputs), optimizer, keras.losses.BinaryCrossentropy(), **options)


@architecture(floats(12_000), floats(12_000), 96)
def gene_expression() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((12_000,)),
            layers.Dense(400, activation="softsign", kernel_regularizer=regularizers.L1L2(1e-6, 1e-5)),
            layers.ActivityRegularization(l1=1e-5),
            layers.UnitNormalization(),
            layers.Dense(12_000, activation="softplus"),
        ]
    )
    return compiled(model, optimizers.Ftrl(0.01), "poisson", metrics=["cosine_similarity"])


def gated_residual(x: Any, units: int) -> Any:
    y = layers.Dense(units)(layers.Dense(units, activation="elu")(x))
    y = layers.Dropout(0.1)(y)
    gated = layers.Dense(units)(y) * layers.Dense(units, activation="sigmoid")(y)
    if x.shape[-1] != units:
        x = layers.Dense(units)(x)
    return layers.LayerNormalization()(x + gated)


CENSUS = {"age": floats(1), "hours": floats(1), "work": whole(9), "school": whole(16), "country": whole(42)}


@architecture(CENSUS, floats(1), 3000)
def census_income() -> keras.Model:
    """Gated residual and variable selection networks over features that the model itself encodes."""
    inputs = {name: keras.Input((1,), name=name) for name in ("age", "hours")}
    inputs |= {name: keras.Input((), dtype="int32", name=name) for name in ("work", "school", "country")}
    edges = [step / 10 for step in range(1, 10)]
    buckets = layers.Discretization(bin_boundaries=edges)(inputs["age"])
    encoded = [
        layers.Flatten()(layers.Embedding(10, 32)(buckets)),
        layers.Dense(32)(layers.Normalization(mean=0.5, variance=0.08)(inputs["hours"])),
        layers.Dense(32)(layers.CategoryEncoding(9, output_mode="one_hot")(inputs["work"])),
        layers.Embedding(16, 32)(inputs["school"]),
        layers.Embedding(42, 32)(inputs["country"]),
    ]
    together = layers.Concatenate()(encoded)
    weights = layers.Dense(len(encoded), activation="softmax")(gated_residual(together, 64))
    features = ops.stack([gated_residual(each, 64) for each in encoded], axis=1)
    x = ops.squeeze(ops.matmul(ops.expand_dims(weights, 1), features), 1)
    outputs = layers.Dense(1, activation="sigmoid")(gated_residual(x, 64))
    return compiled(
        keras.Model(inputs, outputs), optimizers.Adam(1e-3), "binary_crossentropy", metrics=[keras.metrics.AUC()]
    )


class GraphAttention(layers.Layer):
    def __init__(self, units: int, heads: int) -> None:
        super().__init__()
        self.units, self.heads = units, heads
        self.project = layers.Dense(units * heads, use_bias=False, kernel_regularizer=regularizers.L2(5e-4))
        self.source, self.target = layers.Dense(1), layers.Dense(1)

    def call(self, nodes: Any, adjacency: Any) -> Any:
        batch, count = ops.shape(nodes)[0], ops.shape(nodes)[1]
        hidden = ops.reshape(self.project(nodes), (batch, count, self.heads, self.units))
        hidden = ops.transpose(hidden, (0, 2, 1, 3))
        scores = self.source(hidden) + ops.transpose(self.target(hidden), (0, 1, 3, 2))
        scores = ops.leaky_relu(scores, 0.2)
        scores = ops.where(ops.expand_dims(adjacency, 1) > 0.9, scores, -1e9)
        mixed = ops.matmul(ops.softmax(scores), hidden)
        return ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (batch, count, self.heads * self.units))


@architecture([floats(1200, 600), floats(1200, 1200)], whole(7, 1200), 1)
def citation_graph() -> keras.Model:
    """One whole graph is one batch."""
    nodes, adjacency = keras.Input((1200, 600)), keras.Input((1200, 1200))
    x = layers.Dropout(0.6)(nodes)
    x = layers.Activation("elu")(GraphAttention(8, 4)(x, adjacency))
    x = GraphAttention(7, 1)(layers.Dropout(0.6)(x), adjacency)
    return compiled(
        keras.Model([nodes, adjacency], x), optimizers.Adam(5e-3), LOGITS(from_logits=True), metrics=["accuracy"]
    )


@architecture(floats(120), floats(24), variant("jit", 1024, jit_compile=True))
def nbeats(**options: Any) -> keras.Model:
    """Doubly residual stacks: each block explains a part of the past and forecasts from it."""
    inputs = keras.Input((120,))
    past, forecast = inputs, 0.0
    for _ in range(6):
        x = past
        for _ in range(4):
            x = layers.Dense(256, activation="relu")(x)
        past = layers.Subtract()([past, layers.Dense(120, use_bias=False)(x)])
        forecast = forecast + layers.Dense(24, use_bias=False)(x)
    return compiled(keras.Model(inputs, forecast), "adam", "mae", **options)


@architecture(
    {"photo": floats(48, 48, 3), "title": whole(5000, 24), "facts": floats(14)},
    {"price": floats(1), "sold": floats(1), "district": whole(60)},
    64,
)
def house_prices() -> keras.Model:
    photo = keras.Input((48, 48, 3), name="photo")
    title, facts = keras.Input((24,), dtype="int32", name="title"), keras.Input((14,), name="facts")
    x = layers.Conv2D(32, 3, activation="relu")(photo)
    x = layers.MaxPooling2D()(layers.Conv2D(32, 3, activation="relu")(x))
    x = layers.GlobalAveragePooling2D()(layers.SeparableConv2D(96, 3, activation="swish")(x))
    words = layers.Embedding(5000, 100, mask_zero=True)(title)
    words = layers.Bidirectional(layers.LSTM(48))(words)
    merged = layers.Concatenate()([x, words, layers.Dense(32, activation="relu")(facts)])
    merged = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(merged))
    outputs = {
        "price": layers.Dense(1, name="price")(merged),
        "sold": layers.Dense(1, activation="sigmoid", name="sold")(merged),
        "district": layers.Dense(60, activation="softmax", name="district")(merged),
    }
    return compiled(
        keras.Model({"photo": photo, "title": title, "facts": facts}, outputs),
        "adam",
        {"price": "mean_squared_logarithmic_error", "sold": "binary_crossentropy", "district": CLASSES},
        loss_weights={"price": 1.0, "sold": 0.5, "district": 0.2},
        metrics={"price": "mae", "sold": keras.metrics.AUC(), "district": "accuracy"},
        steps_per_execution=2,
    )


class Retrieval(keras.Model):
    """Two towers; whatever else was watched in the batch is the negative sample."""

    def __init__(self) -> None:
        super().__init__()
        self.users = keras.Sequential([layers.Embedding(50_000, 48), layers.Dense(48, activation="relu")])
        self.films = keras.Sequential([layers.Embedding(20_000, 48), layers.Dense(48, activation="relu")])

    def call(self, pair: Any) -> Any:
        return self.users(pair["user"]), self.films(pair["film"])

    def train_step(self, data: Any) -> dict[str, Any]:
        pair, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            user, film = self(pair, training=True)
            scores = tf.matmul(user, film, transpose_b=True)
            labels = tf.range(tf.shape(scores)[0])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, scores))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


@architecture({"user": whole(50_000), "film": whole(20_000)}, None, 2048, needs_x=True)
def two_towers() -> keras.Model:
    model = Retrieval()
    model.compile(optimizer=optimizers.Adagrad(0.1))
    return model


# Steps of their own


class HeatEquation(keras.Model):
    """A physics-informed network: second derivatives of the output are part of the loss."""

    def __init__(self) -> None:
        super().__init__()
        self.network = keras.Sequential([keras.Input((2,)), *(layers.Dense(80, "tanh") for _ in range(4))])
        self.network.add(layers.Dense(1))
        self.residual = keras.metrics.Mean(name="residual")

    def call(self, points: Any) -> Any:
        return self.network(points)

    def train_step(self, data: Any) -> dict[str, Any]:
        points, measured, _ = keras.utils.unpack_x_y_sample_weight(data)
        x, t = points[:, :1], points[:, 1:]
        with tf.GradientTape() as tape:
            with tf.GradientTape() as second:
                second.watch(x)
                with tf.GradientTape(persistent=True) as first:
                    first.watch([x, t])
                    u = self.network(tf.concat([x, t], axis=1), training=True)
                by_x, by_t = first.gradient(u, x), first.gradient(u, t)
            by_xx = second.gradient(by_x, x)
            physics = tf.reduce_mean(tf.square(by_t - 0.1 * by_xx))
            loss = physics + tf.reduce_mean(tf.square(u - measured))
        gradients = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights, strict=True))
        self.residual.update_state(physics)
        return {"residual": self.residual.result()}


@architecture(floats(2), floats(1), 5000, needs_x=True)
def physics_informed() -> keras.Model:
    model = HeatEquation()
    model.compile(optimizer=optimizers.Adam(1e-3))
    return model


class Reparameterized(layers.Layer):
    def __init__(self, beta: float) -> None:
        super().__init__()
        self.beta, self.seed = beta, keras.random.SeedGenerator(5)

    def call(self, mean: Any, log_variance: Any) -> Any:
        divergence = -0.5 * ops.sum(1.0 + log_variance - ops.square(mean) - ops.exp(log_variance), axis=-1)
        self.add_loss(self.beta * ops.mean(divergence))
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean), seed=self.seed)


@architecture(whole(3500, 30), whole(3500, 30), 48)
def sentence_vae() -> keras.Model:
    tokens = keras.Input((30,), dtype="int32")
    _, *states = layers.Bidirectional(layers.LSTM(96, return_state=True))(layers.Embedding(3500, 100)(tokens))
    hidden = layers.Concatenate()(states)
    code = Reparameterized(0.1)(layers.Dense(32)(hidden), layers.Dense(32)(hidden))
    x = layers.RepeatVector(30)(code)
    x = layers.GRU(192, return_sequences=True, reset_after=False)(x)
    x = layers.Dense(3500)(x)
    optimizer = optimizers.Adam(1e-3, clipnorm=5.0, use_ema=True, ema_overwrite_frequency=10)
    return compiled(keras.Model(tokens, x), optimizer, LOGITS(from_logits=True))


class BarlowTwins(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.augment = keras.Sequential([layers.RandomFlip(), layers.RandomRotation(0.1), layers.RandomContrast(0.3)])
        self.encoder = keras.Sequential(
            [
                keras.Input((40, 40, 3)),
                layers.Conv2D(32, 3, strides=2, padding="same", use_bias=False),
                layers.BatchNormalization(),
                layers.ReLU(max_value=6.0),
                layers.DepthwiseConv2D(5, padding="same", depth_multiplier=2),
                layers.BatchNormalization(),
                layers.Activation("swish"),
                layers.Conv2D(128, 1, strides=2),
                layers.GlobalAveragePooling2D(),
                layers.Dense(1024, activation="relu"),
                layers.Dense(1024),
                layers.BatchNormalization(scale=False, center=False),
            ]
        )

    def call(self, images: Any, training: bool = False) -> Any:
        return self.encoder(self.augment(images, training=training), training=training)

    def train_step(self, data: Any) -> dict[str, Any]:
        images, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            one, other = self(images, training=True), self(images, training=True)
            correlation = tf.matmul(one, other, transpose_a=True) / tf.cast(tf.shape(one)[0], tf.float32)
            diagonal = tf.linalg.diag_part(correlation)
            aside = tf.reduce_sum(tf.square(correlation)) - tf.reduce_sum(tf.square(diagonal))
            loss = tf.reduce_sum(tf.square(1.0 - diagonal)) + 5e-3 * aside
        gradients = tape.gradient(loss, self.encoder.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.encoder.trainable_variables, strict=True))
        return {"loss": loss}


@architecture(floats(40, 40, 3), None, 64, needs_x=True)
def barlow_twins() -> keras.Model:
    model = BarlowTwins()
    model.compile(optimizer=optimizers.SGD(0.05, momentum=0.9, weight_decay=1e-5))
    return model


def pix2pix_generator() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    skips = []
    for filters in (32, 64, 128, 128):
        x = layers.Conv2D(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU()(layers.BatchNormalization()(x))
        skips.append(x)
    for filters, skip in zip((128, 64, 32), reversed(skips[:-1]), strict=True):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.Dropout(0.5)(layers.BatchNormalization()(x)))
        x = layers.Concatenate()([x, skip])
    return keras.Model(inputs, layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="tanh")(x))


def patch_discriminator() -> keras.Model:
    drawn, shown = keras.Input((64, 64, 3)), keras.Input((64, 64, 3))
    x = layers.Concatenate()([drawn, shown])
    for filters in (32, 64):
        x = layers.LeakyReLU()(layers.Conv2D(filters, 4, strides=2, padding="same")(x))
    x = layers.LeakyReLU()(layers.BatchNormalization()(layers.Conv2D(128, 4)(layers.ZeroPadding2D()(x))))
    return keras.Model([drawn, shown], layers.Conv2D(1, 4)(layers.ZeroPadding2D()(x)))


class Pix2Pix(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.generator, self.discriminator = pix2pix_generator(), patch_discriminator()

    def compile(self, generator_optimizer: Any, discriminator_optimizer: Any) -> None:
        super().compile()
        self.generator_optimizer, self.discriminator_optimizer = generator_optimizer, discriminator_optimizer
        self.cross_entropy = keras.losses.BinaryCrossentropy(from_logits=True)

    def train_step(self, data: Any) -> dict[str, Any]:
        drawn, real, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as generating, tf.GradientTape() as discriminating:
            made = self.generator(drawn, training=True)
            on_real = self.discriminator([drawn, real], training=True)
            on_made = self.discriminator([drawn, made], training=True)
            close = tf.reduce_mean(tf.abs(real - made))
            generated = self.cross_entropy(tf.ones_like(on_made), on_made) + 100.0 * close
            told = self.cross_entropy(tf.ones_like(on_real), on_real)
            told += self.cross_entropy(tf.zeros_like(on_made), on_made)
        maker, judge = self.generator.trainable_variables, self.discriminator.trainable_variables
        self.generator_optimizer.apply_gradients(zip(generating.gradient(generated, maker), maker, strict=True))
        self.discriminator_optimizer.apply_gradients(zip(discriminating.gradient(told, judge), judge, strict=True))
        return {"generated": generated, "told": told}


@architecture(floats(64, 64, 3), floats(64, 64, 3), 12, needs_x=True)
def pix2pix() -> keras.Model:
    model = Pix2Pix()
    model.compile(optimizers.Adam(2e-4, beta_1=0.5), optimizers.Adam(2e-4, beta_1=0.5))
    return model


class MaskedAutoencoder(keras.Model):
    """A vision transformer that sees a quarter of the patches and paints the others."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.places = layers.Dense(96), layers.Embedding(144, 96)
        self.unmask, self.paint = layers.Dense(64), layers.Dense(4 * 4 * 3)
        self.encoder = [self.block(96) for _ in range(3)]
        self.decoder = [self.block(64) for _ in range(2)]
        self.decoder_places = layers.Embedding(144, 64)
        self.unseen = self.add_weight(shape=(1, 1, 64), initializer="random_normal", name="unseen")

    def block(self, width: int) -> list[Any]:
        attention = layers.MultiHeadAttention(4, width // 4, dropout=0.1)
        feedforward = keras.Sequential([layers.Dense(2 * width, activation="gelu"), layers.Dense(width)])
        return [layers.LayerNormalization(), attention, layers.LayerNormalization(), feedforward]

    def through(self, blocks: list[Any], x: Any, training: bool) -> Any:
        for before, attention, after, feedforward in blocks:
            normal = before(x)
            x = x + attention(normal, normal, training=training)
            x = x + feedforward(after(x))
        return x

    def call(self, images: Any, training: bool = False) -> Any:
        patches = tf.reshape(
            tf.image.extract_patches(images, [1, 4, 4, 1], [1, 4, 4, 1], [1] * 4, "VALID"), (-1, 144, 48)
        )
        order = tf.argsort(tf.random.uniform(tf.shape(patches)[:2]), axis=-1)
        kept, hidden = order[:, :36], order[:, 36:]
        x = tf.gather(self.project(patches) + self.places(tf.range(144)), kept, axis=1, batch_dims=1)
        x = self.unmask(self.through(self.encoder, x, training))
        blanks = tf.tile(self.unseen, [tf.shape(patches)[0], 108, 1]) + self.decoder_places(hidden)
        x = tf.concat([x + self.decoder_places(kept), blanks], axis=1)
        painted = self.paint(self.through(self.decoder, x, training)[:, 36:])
        return painted, tf.gather(patches, hidden, axis=1, batch_dims=1)

    def train_step(self, data: Any) -> dict[str, Any]:
        images, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            painted, wanted = self(images, training=True)
            loss = tf.reduce_mean(tf.square(painted - wanted))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


@architecture(floats(48, 48, 3), None, 32, needs_x=True)
def masked_autoencoder() -> keras.Model:
    model = MaskedAutoencoder()
    model.compile(optimizer=optimizers.AdamW(5e-3, weight_decay=1e-4))
    return model


def frequencies(points: Any, count: int) -> Any:
    scaled = [points * 2.0**power for power in range(count)]
    return ops.concatenate([points, *map(ops.sin, scaled), *map(ops.cos, scaled)], axis=-1)


def radiance_field() -> keras.Model:
    x = inputs = keras.Input((None, 6 * 8 + 3))
    for layer in range(6):
        x = layers.Dense(64, activation="relu")(x)
        if layer == 3:
            x = layers.concatenate([x, inputs])
    return keras.Model(inputs, layers.Dense(4)(x))


class NeRF(keras.Model):
    """Colours and densities along rays, summed up to the pixels of a picture."""

    def __init__(self, samples: int = 24) -> None:
        super().__init__()
        self.field, self.samples = radiance_field(), samples

    def call(self, rays: Any, training: bool = False) -> Any:
        origins, directions = rays["origins"][..., None, :], rays["directions"][..., None, :]
        depth = ops.linspace(2.0, 6.0, self.samples)
        points = origins + directions * ops.reshape(depth, (self.samples, 1))
        flat = ops.reshape(points, (ops.shape(points)[0], -1, 3))
        raw = self.field(frequencies(flat, 8), training=training)
        raw = ops.reshape(raw, (-1, ops.shape(points)[1], self.samples, 4))
        colour, density = ops.sigmoid(raw[..., :3]), ops.relu(raw[..., 3])
        alpha = 1.0 - ops.exp(-density * (4.0 / self.samples))
        weights = alpha * tf.math.cumprod(1.0 - alpha + 1e-10, axis=-1, exclusive=True)
        return ops.sum(weights[..., None] * colour, axis=-2)


@architecture({"origins": floats(1024, 3), "directions": floats(1024, 3)}, floats(1024, 3), 1, needs_x=True)
def nerf() -> keras.Model:
    return compiled(NeRF(), "adam", "mse")


class SelfTaught(keras.Model):
    """A mean teacher: the teacher's weights follow the student's at the end of each step."""

    def __init__(self, student: keras.Model, teacher: keras.Model) -> None:
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.trainable = False

    def call(self, x: Any, training: bool = False) -> Any:
        return self.student(x, training=training)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        wanted = self.teacher(x, training=False)
        with tf.GradientTape() as tape:
            predicted = self.student(x + tf.random.normal(tf.shape(x), stddev=0.1), training=True)
            loss = self.compute_loss(x, y, predicted) + 5.0 * tf.reduce_mean(tf.square(predicted - wanted))
            scaled = self.optimizer.scale_loss(loss)
        gradients = tape.gradient(scaled, self.student.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.student.trainable_variables, strict=True))
        for theirs, ours in zip(self.teacher.weights, self.student.weights, strict=True):
            theirs.assign(0.99 * theirs + 0.01 * ours)
        return self.compute_metrics(x, y, predicted, None)


def tweet_reader() -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((60, 300)),
            layers.Conv1D(256, 3, activation="relu", groups=4),
            layers.MaxPooling1D(2),
            layers.Bidirectional(layers.LSTM(128, return_sequences=True)),
            layers.GlobalAveragePooling1D(),
            layers.Dense(512, activation="gelu"),
            layers.Dense(5, activation="softmax", dtype="float32"),
        ]
    )


@architecture(floats(60, 300), whole(5), 96, needs_x=True)
def mean_teacher() -> keras.Model:
    return compiled(SelfTaught(tweet_reader(), tweet_reader()), "rmsprop", CLASSES, metrics=["accuracy"])


@architecture(whole(20_000, 96), floats(28), variant("bfloat16", 16, policy="mixed_bfloat16"))
def emotions() -> keras.Model:
    """Post-normalized encoder with learned places and attention pooling, many labels at once."""
    inputs = keras.Input((96,), dtype="int32")
    x = layers.Embedding(20_000, 128, mask_zero=True)(inputs)
    x = layers.LayerNormalization()(x + layers.Embedding(96, 128)(ops.arange(96)))
    for _ in range(4):
        attended = layers.MultiHeadAttention(8, 16, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        hidden = layers.Dense(512, activation="gelu")(x)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(layers.Dense(128)(hidden))]))
    pooled = layers.Dot(axes=1)([layers.Softmax(axis=1)(layers.Dense(1)(x)), x])
    outputs = layers.Dense(28, activation="sigmoid", dtype="float32")(layers.Flatten()(pooled))
    optimizer = optimizers.Adamax(2e-3, global_clipnorm=1.0)
    metrics = [keras.metrics.AUC(multi_label=True, num_labels=28)]
    return compiled(keras.Model(inputs, outputs), optimizer, "binary_focal_crossentropy", metrics=metrics)
