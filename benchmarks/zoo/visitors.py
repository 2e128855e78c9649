"""Models by a third stranger, who had not seen the estimate.

They were unseen when they were first scored, and showed what it did not know; since then they are known.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import applications, initializers, layers, losses, metrics, ops, optimizers, random, regularizers

from benchmarks.registry import architecture, floats, variant, whole

# Pictures


@architecture(floats(48, 48, 3), whole(43), 192)
def traffic_signs() -> keras.Model:
    model = keras.Sequential([keras.Input((48, 48, 3))])
    for filters in (32, 64, 128):
        model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
        model.add(layers.Conv2D(filters, 3, activation="relu"))
        model.add(layers.MaxPooling2D(2))
        model.add(layers.BatchNormalization())
        model.add(layers.Dropout(0.2))
    model.add(layers.Flatten())
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(43, activation="softmax"))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(160, 160, 3), floats(1), 32)
def mobilenet_v2_unfrozen() -> keras.Model:
    """The second half of TensorFlow's tutorial on transfer: from the hundredth layer on, the base is trained."""
    base = applications.MobileNetV2(input_shape=(160, 160, 3), include_top=False, weights=None)
    for layer in base.layers[:100]:
        layer.trainable = False
    augment = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomRotation(0.2)])
    inputs = keras.Input((160, 160, 3))
    x = applications.mobilenet_v2.preprocess_input(augment(inputs))
    x = layers.GlobalAveragePooling2D()(base(x, training=False))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(layers.Dropout(0.2)(x)))
    model.compile(optimizers.RMSprop(1e-5), losses.BinaryCrossentropy(), metrics=[metrics.BinaryAccuracy()])
    return model


@architecture(floats(150, 150, 3), floats(6), 12)
def vgg19_last_block() -> keras.Model:
    base = applications.VGG19(weights=None, include_top=False, input_shape=(150, 150, 3))
    base.trainable = True
    for layer in base.layers:
        layer.trainable = layer.name.startswith("block5")
    model = keras.Sequential([base, layers.Flatten(), layers.Dense(512, activation="relu"), layers.Dropout(0.5)])
    model.add(layers.Dense(6, activation="softmax"))
    model.compile(optimizers.Adamax(1e-4), "categorical_crossentropy", metrics=["acc"])
    return model


@architecture(floats(160, 160, 3), whole(102), 16)
def resnet101_head() -> keras.Model:
    """Flowers: only what is put on top of the base is trained."""
    base = applications.ResNet101(weights=None, include_top=False, pooling="avg", input_shape=(160, 160, 3))
    base.trainable = False
    inputs = keras.Input((160, 160, 3))
    x = base(applications.resnet.preprocess_input(inputs), training=False)
    x = layers.BatchNormalization()(x)
    x = layers.Dropout(0.4)(layers.Dense(1024, activation="gelu")(x))
    model = keras.Model(inputs, layers.Dense(102)(x))
    model.compile(
        optimizers.AdamW(optimizers.schedules.CosineDecay(1e-3, 5000)),
        losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", metrics.SparseTopKCategoricalAccuracy(5)],
    )
    return model


@architecture(floats(224, 224, 3), whole(200), 8)
def nasnet_mobile() -> keras.Model:
    model = applications.NASNetMobile(weights=None, classes=200)
    momentum = optimizers.SGD(0.045, momentum=0.9, nesterov=True, weight_decay=4e-5)
    model.compile(momentum, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(160, 160, 3), floats(14), 12)
def chest_findings() -> keras.Model:
    """CheXNet with a larger DenseNet, of which the last block is trained, a focal loss, and averaged weights."""
    base = applications.DenseNet169(include_top=False, weights=None, input_shape=(160, 160, 3), pooling="avg")
    names = [layer.name for layer in base.layers]
    for layer in base.layers[: names.index("conv5_block1_0_bn")]:
        layer.trainable = False
    model = keras.Model(base.input, layers.Dense(14, activation="sigmoid", name="findings")(base.output))
    model.compile(
        optimizers.Adam(1e-4, use_ema=True, ema_momentum=0.999),
        losses.BinaryFocalCrossentropy(apply_class_balancing=True),
        metrics=[metrics.AUC(multi_label=True, num_labels=14)],
    )
    return model


class GeneralizedMean(layers.Layer):
    """Between the mean and the maximum, wherever its exponent says."""

    def build(self, shape: Any) -> None:
        self.exponent = self.add_weight(shape=(), initializer=initializers.Constant(3.0), name="exponent")

    def call(self, x: Any) -> Any:
        return ops.power(ops.mean(ops.power(ops.maximum(x, 1e-3), self.exponent), axis=(1, 2)), 1.0 / self.exponent)


class ArcFace(layers.Layer):
    """Cosines to the centres of all classes, with a margin on the angle to the right one."""

    def __init__(self, classes: int, scale: float = 30.0, margin: float = 0.3, **options: Any) -> None:
        super().__init__(dtype="float32", **options)
        self.classes, self.scale, self.margin = classes, scale, margin

    def build(self, shapes: Any) -> None:
        self.centres = self.add_weight(
            shape=(shapes[0][-1], self.classes), initializer="glorot_uniform", regularizer=regularizers.L2(5e-4)
        )

    def call(self, inputs: Any) -> Any:
        x, label = inputs
        cosine = ops.matmul(ops.normalize(x, axis=-1), ops.normalize(self.centres, axis=0))
        angle = ops.arccos(ops.clip(cosine, -1.0 + 1e-6, 1.0 - 1e-6))
        right = ops.one_hot(label, self.classes)
        return ops.softmax(self.scale * (right * ops.cos(angle + self.margin) + (1.0 - right) * cosine))


@architecture(
    {"image": floats(128, 128, 3), "label": whole(5000)},
    whole(5000),
    10,
)
def whale_identification() -> keras.Model:
    image, label = keras.Input((128, 128, 3), name="image"), keras.Input((), dtype="int32", name="label")
    base = applications.EfficientNetB1(include_top=False, weights=None, input_shape=(128, 128, 3))
    x = GeneralizedMean()(base(image))
    x = layers.BatchNormalization()(layers.Dense(512, use_bias=False)(layers.Dropout(0.3)(x)))
    model = keras.Model({"image": image, "label": label}, ArcFace(5000)([x, label]))
    model.compile(optimizers.SGD(1e-2, momentum=0.9), "sparse_categorical_crossentropy")
    return model


class TalkingHeads(layers.Layer):
    """Attention whose heads are mixed before and after the softmax."""

    def __init__(self, width: int, heads: int, **options: Any) -> None:
        super().__init__(**options)
        self.heads, self.depth = heads, width // heads
        self.qkv = layers.Dense(3 * width)
        self.before, self.after = layers.Dense(heads), layers.Dense(heads)
        self.project = layers.Dense(width)

    def call(self, x: Any) -> Any:
        tokens = x.shape[1]
        qkv = ops.transpose(ops.reshape(self.qkv(x), (-1, tokens, 3, self.heads, self.depth)), (2, 0, 3, 1, 4))
        scores = ops.matmul(qkv[0] * self.depth**-0.5, ops.transpose(qkv[1], (0, 1, 3, 2)))
        scores = ops.softmax(self.before(ops.transpose(scores, (0, 2, 3, 1))), axis=2)
        weights = ops.transpose(self.after(scores), (0, 3, 1, 2))
        x = ops.transpose(ops.matmul(weights, qkv[2]), (0, 2, 1, 3))
        return self.project(ops.reshape(x, (-1, tokens, self.heads * self.depth)))


class LayerScale(layers.Layer):
    def build(self, shape: Any) -> None:
        self.scale = self.add_weight(shape=(shape[-1],), initializer=initializers.Constant(1e-2), name="scale")

    def call(self, x: Any) -> Any:
        return x * self.scale


class Beginning(layers.Layer):
    """A learned token for each of the batch."""

    def build(self, shape: Any) -> None:
        self.token = self.add_weight(shape=(1, 1, shape[-1]), initializer="random_normal", name="token")

    def call(self, x: Any) -> Any:
        return ops.tile(self.token, (ops.shape(x)[0], 1, 1))


class LearnedPlaces(layers.Layer):
    def build(self, shape: Any) -> None:
        self.places = self.add_weight(shape=shape[1:], initializer="random_normal", name="places")

    def call(self, x: Any) -> Any:
        return x + self.places


def feed_forward(x: Any, inner: int) -> Any:
    hidden = layers.Dense(inner, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
    return layers.Dense(x.shape[-1])(layers.Dropout(0.1)(hidden))


@architecture(floats(32, 32, 3), whole(100), 48)
def class_attention() -> keras.Model:
    """CaiT: the class token comes only after the patches are done with each other. Compiled with XLA."""
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(128, 4, strides=4)(inputs)
    x = LearnedPlaces()(layers.Reshape((64, 128))(x))
    for _ in range(4):
        x = x + LayerScale()(TalkingHeads(128, 4)(layers.LayerNormalization(epsilon=1e-6)(x)))
        x = x + LayerScale()(feed_forward(x, 512))
    token = Beginning()(x)
    for _ in range(2):
        seen = layers.LayerNormalization(epsilon=1e-6)(ops.concatenate([token, x], axis=1))
        token = token + LayerScale()(layers.MultiHeadAttention(4, 32)(seen[:, :1], seen))
        token = token + LayerScale()(feed_forward(token, 512))
    model = keras.Model(inputs, layers.Dense(100)(layers.LayerNormalization()(token)[:, 0]))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Lamb(2e-3, weight_decay=0.02), loss, metrics=["accuracy"], jit_compile=True)
    return model


def upsampled(x: Any, filters: int, dropout: bool = False) -> Any:
    x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", use_bias=False)(x)
    x = layers.BatchNormalization()(x)
    return layers.ReLU()(layers.Dropout(0.5)(x) if dropout else x)


@architecture(floats(128, 128, 3), whole(3, 128, 128, 1), 16)
def pet_outlines() -> keras.Model:
    """TensorFlow's tutorial on segmentation: the way down is a frozen MobileNetV2."""
    base = applications.MobileNetV2(input_shape=(128, 128, 3), include_top=False, weights=None)
    names = ["block_1_expand_relu", "block_3_expand_relu", "block_6_expand_relu", "block_13_expand_relu"]
    taps = [base.get_layer(name).output for name in [*names, "block_16_project"]]
    down = keras.Model(base.input, taps, name="down")
    down.trainable = False
    inputs = keras.Input((128, 128, 3))
    *skips, x = down(inputs)
    for skip, filters in zip(reversed(skips), (512, 256, 128, 64), strict=True):
        x = layers.Concatenate()([upsampled(x, filters), skip])
    model = keras.Model(inputs, layers.Conv2DTranspose(3, 3, strides=2, padding="same")(x))
    model.compile("adam", losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


def focal_tversky(truth: Any, predicted: Any) -> Any:
    hit = ops.sum(truth * predicted, axis=(1, 2, 3))
    missed = ops.sum(truth * (1.0 - predicted), axis=(1, 2, 3))
    false = ops.sum((1.0 - truth) * predicted, axis=(1, 2, 3))
    return ops.power(1.0 - (hit + 1.0) / (hit + 0.7 * missed + 0.3 * false + 1.0), 0.75)


def residual_unit(x: Any, filters: int, strides: int = 1) -> Any:
    y = layers.Activation("relu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(filters, 3, strides=strides, padding="same")(y)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters, 3, padding="same")(y)
    return layers.Add()([y, layers.Conv2D(filters, 1, strides=strides, padding="same")(x)])


@architecture(floats(144, 144, 1), floats(144, 144, 1), 6)
def retinal_vessels() -> keras.Model:
    """A deep residual U-Net, bilinear on the way up."""
    inputs = keras.Input((144, 144, 1))
    x = layers.Conv2D(24, 3, padding="same")(inputs)
    skips = []
    for filters, strides in ((24, 1), (48, 2), (96, 2), (192, 2)):
        x = residual_unit(x, filters, strides)
        skips.append(x)
    for skip, filters in zip(reversed(skips[:-1]), (96, 48, 24), strict=True):
        x = layers.UpSampling2D(2, interpolation="bilinear")(x)
        x = residual_unit(layers.Concatenate()([x, skip]), filters)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile(optimizers.Nadam(1e-3), focal_tversky, metrics=[metrics.BinaryIoU([1]), metrics.Recall()])
    return model


# Text, series, tables


@architecture(whole(20_000, 64), floats(1), 128)
def disaster_tweets() -> keras.Model:
    inputs = keras.Input((64,), dtype="int32")
    x = layers.SpatialDropout1D(0.3)(layers.Embedding(20_000, 200)(inputs))
    x = layers.Bidirectional(layers.LSTM(96, return_sequences=True))(x)
    x = layers.Bidirectional(layers.GRU(64, return_sequences=True))(x)
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.Dropout(0.4)(layers.Dense(64, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizers.Adam(1e-3, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy", "AUC"])
    return model


@architecture(floats(60, 5), floats(1), variant("bfloat16", 384, policy="mixed_bfloat16"))
def stock_prices() -> keras.Model:
    """Four recurrent layers with dropout between them, as in a thousand notebooks."""
    model = keras.Sequential([keras.Input((60, 5))])
    for _ in range(3):
        model.add(layers.LSTM(100, return_sequences=True))
        model.add(layers.Dropout(0.2))
    model.add(layers.LSTM(100))
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(1, dtype="float32"))
    model.compile("adam", "mean_squared_error", metrics=["mae", "mape"])
    return model


@architecture(floats(240, 14), floats(1), 128)
def jena_temperature() -> keras.Model:
    """Convolutions shorten the series for recurrent layers with dropout inside their loops."""
    inputs = keras.Input((240, 14))
    x = layers.Conv1D(64, 7, activation="relu")(inputs)
    x = layers.MaxPooling1D(3)(x)
    x = layers.Conv1D(64, 5, activation="relu", kernel_regularizer="l2")(x)
    x = layers.GRU(96, dropout=0.1, recurrent_dropout=0.4, return_sequences=True)(x)
    x = layers.GRU(64, recurrent_dropout=0.4)(x)
    model = keras.Model(inputs, layers.Dense(1)(layers.Dropout(0.5)(x)))
    model.compile(
        optimizers.RMSprop(1e-3), losses.Huber(), metrics=[metrics.MeanAbsoluteError()], steps_per_execution=8
    )
    return model


@keras.saving.register_keras_serializable("visitors")
class WarmUp(optimizers.schedules.LearningRateSchedule):
    def __init__(self, top: float, steps: int) -> None:
        super().__init__()
        self.top, self.steps = top, steps

    def __call__(self, step: Any) -> Any:
        step = ops.cast(step, "float32") + 1.0
        return self.top * ops.minimum(step / self.steps, ops.sqrt(self.steps / step))

    def get_config(self) -> dict[str, Any]:
        return {"top": self.top, "steps": self.steps}


@architecture(
    {"tokens": whole(24_000, 160), "there": whole(2, 160)},
    floats(1),
    variant("bfloat16", 8, policy="mixed_bfloat16"),
)
def readability() -> keras.Model:
    """How easily an excerpt is read: a post-normalized encoder, and attention over the states of its last layer."""
    tokens = keras.Input((160,), dtype="int32", name="tokens")
    there = keras.Input((160,), dtype="int32", name="there")
    x = LearnedPlaces()(layers.Embedding(24_000, 256)(tokens))
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-5)(x))
    mask = ops.cast(there, "bool")[:, None, :]
    for _ in range(6):
        attended = layers.MultiHeadAttention(8, 32, dropout=0.1)(x, x, attention_mask=mask)
        x = layers.LayerNormalization(epsilon=1e-5)(x + layers.Dropout(0.1)(attended))
        inner = layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))
        x = layers.LayerNormalization(epsilon=1e-5)(x + layers.Dropout(0.1)(inner))
    scores = layers.Dense(1)(layers.Dense(256, activation="tanh")(x))
    scores = scores - 1e4 * (1 - ops.cast(there, scores.dtype)[..., None])
    pooled = ops.sum(layers.Softmax(axis=1)(scores) * x, axis=1)
    head = layers.Dense(1)
    sampled = layers.Average()([head(layers.Dropout(0.1 * rate)(pooled)) for rate in range(1, 6)])
    outputs = layers.Activation("linear", dtype="float32")(sampled)
    model = keras.Model({"tokens": tokens, "there": there}, outputs)
    model.compile(optimizers.AdamW(WarmUp(2e-5, 500), global_clipnorm=1.0), "mse", metrics=["root_mean_squared_error"])
    return model


class SlidingMask(layers.Layer):
    """Each place sees itself and the places shortly before it."""

    def __init__(self, reach: int, **options: Any) -> None:
        super().__init__(**options)
        self.reach = reach

    def call(self, x: Any) -> Any:
        place = ops.arange(ops.shape(x)[1])
        distance = place[:, None] - place[None, :]
        return ops.logical_and(distance >= 0, distance < self.reach)[None]


@architecture(whole(388, 320), whole(388, 320), 6)
def piano_events() -> keras.Model:
    """A decoder of MIDI events, gated inside, whose attention reaches back 128 events."""
    inputs = keras.Input((320,), dtype="int32")
    x = LearnedPlaces()(layers.Embedding(388, 256)(inputs))
    mask = SlidingMask(128)(inputs)
    for _ in range(5):
        y = layers.RMSNormalization()(x)
        x = x + layers.MultiHeadAttention(8, 32, use_bias=False)(y, y, attention_mask=mask)
        y = layers.RMSNormalization()(x)
        y = layers.Dense(704, activation="silu", use_bias=False)(y) * layers.Dense(704, use_bias=False)(y)
        x = x + layers.Dropout(0.1)(layers.Dense(256, use_bias=False)(y))
    model = keras.Model(inputs, layers.Dense(388)(layers.RMSNormalization()(x)))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Muon(1e-3), loss, metrics=["sparse_categorical_accuracy"])
    return model


@architecture(
    {"numbers": floats(120), "ages": floats(1), "kinds": whole(40, 12)},
    floats(1),
    variant("float16", 1024, policy="mixed_float16"),
)
def playground_table() -> keras.Model:
    """A wide network on numbers, bins and a bag of kinds, in half precision with a scaled loss."""
    numbers, ages = keras.Input((120,), name="numbers"), keras.Input((1,), name="ages")
    kinds = keras.Input((12,), dtype="int32", name="kinds")
    bins = layers.Discretization(bin_boundaries=[i / 16 for i in range(1, 16)], output_mode="one_hot")(ages)
    bag = layers.CategoryEncoding(40, output_mode="multi_hot")(kinds)
    x = layers.Concatenate()([layers.BatchNormalization()(numbers), bins, bag])
    for units in (2048, 2048, 1024, 512):
        x = layers.Dense(units, use_bias=False, kernel_regularizer=regularizers.L1L2(1e-6, 1e-5))(x)
        x = layers.Dropout(0.25)(layers.Activation("swish")(layers.BatchNormalization()(x)))
    outputs = layers.Dense(1, activation="sigmoid", dtype="float32")(x)
    model = keras.Model({"numbers": numbers, "ages": ages, "kinds": kinds}, outputs)
    model.compile(optimizers.Lion(1e-4), losses.BinaryCrossentropy(label_smoothing=0.01), metrics=["AUC"])
    return model


@architecture([whole(50_000), whole(25_000)], floats(1), 2048)
def neural_matrix() -> keras.Model:
    """NeuMF: products of embeddings beside a network on other embeddings of the same pair."""
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    tables = [layers.Embedding(50_000, width, embeddings_regularizer=regularizers.L2(1e-6)) for width in (16, 64)]
    others = [layers.Embedding(25_000, width, embeddings_regularizer=regularizers.L2(1e-6)) for width in (16, 64)]
    product = layers.Multiply()([tables[0](user), others[0](item)])
    x = layers.Concatenate()([tables[1](user), others[1](item)])
    for units in (128, 64, 32):
        x = layers.Dense(units, activation="relu")(x)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([product, x]))
    model = keras.Model([user, item], outputs)
    model.compile(optimizers.Ftrl(0.05, l1_regularization_strength=1e-4), "binary_crossentropy", metrics=["AUC"])
    return model


@architecture(whole(37, 30), [whole(11) for _ in range(10)], 384)
def dates_translated() -> keras.Model:
    """The homework of a well known course: a loop in Python over the ten characters of a date, each with its head."""
    repeated, joined, energy, weighed = (
        layers.RepeatVector(30),
        layers.Concatenate(axis=-1),
        layers.Dense(10, activation="tanh"),
        layers.Dense(1, activation="relu"),
    )
    decoder, head = layers.LSTM(64, return_state=True), layers.Dense(11, activation="softmax")
    inputs = keras.Input((30,), dtype="int32")
    hot = layers.CategoryEncoding(37, output_mode="one_hot")(layers.Reshape((30, 1))(inputs))
    seen = layers.Bidirectional(layers.LSTM(32, return_sequences=True))(hot)
    state = cell = layers.Lambda(lambda x: ops.zeros((ops.shape(x)[0], 64)), output_shape=(64,))(inputs)
    outputs = []
    for _ in range(10):
        alphas = layers.Softmax(axis=1)(weighed(energy(joined([seen, repeated(state)]))))
        context = layers.Dot(axes=1)([alphas, seen])
        state, _, cell = decoder(context, initial_state=[state, cell])
        outputs.append(head(state))
    model = keras.Model(inputs, outputs)
    model.compile(optimizers.Adam(0.005, beta_1=0.9, beta_2=0.999), ["sparse_categorical_crossentropy"] * 10)
    return model


class LowRankProjection(layers.Layer):
    """Queries, keys or values of all heads; the two small factors alone are trained."""

    def __init__(self, heads: int, depth: int, **options: Any) -> None:
        super().__init__(**options)
        self.dense = layers.EinsumDense("btd,dhk->bthk", (None, heads, depth), lora_rank=8, lora_alpha=16)

    def call(self, x: Any) -> Any:
        return self.dense(x)


@architecture(whole(12_000, 128), whole(12_000, 128), variant("bfloat16", 6, policy="mixed_bfloat16"))
def low_rank_decoder() -> keras.Model:
    """A decoder adapted to another field by low-rank changes to its queries and values."""
    inputs = keras.Input((128,), dtype="int32")
    table = layers.ReversibleEmbedding(12_000, 384, trainable=False)
    x = LearnedPlaces(trainable=False)(table(inputs))
    for _ in range(6):
        y = layers.LayerNormalization(trainable=False)(x)
        query, value = (LowRankProjection(6, 64)(y) for _ in range(2))
        key = layers.EinsumDense("btd,dhk->bthk", (None, 6, 64), trainable=False)(y)
        attended = ops.dot_product_attention(query, key, value, is_causal=True)
        x = x + layers.EinsumDense("bthk,hkd->btd", (None, 384), bias_axes="d", trainable=False)(attended)
        y = layers.Dense(1536, activation="gelu", trainable=False)(layers.LayerNormalization(trainable=False)(x))
        x = x + layers.Dense(384, trainable=False)(y)
    model = keras.Model(inputs, table(layers.LayerNormalization(trainable=False)(x), reverse=True))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Adafactor(1e-3), loss, weighted_metrics=["accuracy"])
    return model


# Sound, motion, volumes


@architecture(floats(16, 56, 56, 3), whole(101), 4)
def sports_clips() -> keras.Model:
    """C3D at half its width."""
    model = keras.Sequential([keras.Input((16, 56, 56, 3))])
    model.add(layers.Conv3D(32, 3, activation="relu", padding="same"))
    model.add(layers.MaxPooling3D((1, 2, 2)))
    model.add(layers.Conv3D(64, 3, activation="relu", padding="same"))
    model.add(layers.MaxPooling3D(2))
    for filters in (128, 256):
        model.add(layers.Conv3D(filters, 3, activation="relu", padding="same"))
        model.add(layers.Conv3D(filters, 3, activation="relu", padding="same"))
        model.add(layers.MaxPooling3D(2))
    model.add(layers.ZeroPadding3D(((0, 0), (0, 1), (0, 1))))
    model.add(layers.Flatten())
    model.add(layers.Dense(1024, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(101, activation="softmax"))
    model.compile(optimizers.Adadelta(1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(8, 64, 64, 1), floats(8, 64, 64, 1), 4)
def unusual_motion() -> keras.Model:
    """What the camera sees every day is painted again; what it paints badly is unusual."""
    inputs = keras.Input((8, 64, 64, 1))
    x = layers.TimeDistributed(layers.Conv2D(32, 7, strides=2, padding="same"))(inputs)
    x = layers.LayerNormalization()(x)
    x = layers.TimeDistributed(layers.Conv2D(48, 5, strides=2, padding="same"))(x)
    x = layers.LayerNormalization()(x)
    for filters in (32, 16, 32):
        x = layers.ConvLSTM2D(filters, 3, padding="same", return_sequences=True)(x)
        x = layers.LayerNormalization()(x)
    x = layers.TimeDistributed(layers.Conv2DTranspose(48, 5, strides=2, padding="same"))(x)
    x = layers.LayerNormalization()(x)
    x = layers.TimeDistributed(layers.Conv2DTranspose(24, 5, strides=2, padding="same"))(x)
    x = layers.LayerNormalization()(x)
    x = layers.TimeDistributed(layers.Conv2D(1, 5, activation="sigmoid", padding="same"))(x)
    model = keras.Model(inputs, x)
    model.compile(optimizers.Adam(1e-4, epsilon=1e-6, weight_decay=1e-5), "mse")
    return model


@architecture(floats(32_000), floats(264), 16)
def bird_calls() -> keras.Model:
    """Two seconds of a forest as a picture, made inside the model."""
    inputs = keras.Input((32_000,))
    x = layers.MelSpectrogram(
        fft_length=1024, sequence_stride=200, sampling_rate=16_000, num_mel_bins=96, min_freq=50, max_freq=8000
    )(inputs)
    x = layers.Resizing(96, 192)(layers.Reshape((*x.shape[1:], 1))(x))
    x = layers.GaussianNoise(0.05)(layers.BatchNormalization()(x))
    x = layers.RandomErasing(factor=0.5, scale=(0.02, 0.1))(layers.Concatenate()([x, x, x]))
    base = applications.MobileNetV3Small(
        input_shape=(96, 192, 3), include_top=False, weights=None, include_preprocessing=False, pooling="max"
    )
    x = layers.Dropout(0.3)(base(x))
    model = keras.Model(inputs, layers.Dense(264, activation="sigmoid")(x))
    model.compile(
        optimizers.Adam(5e-4, use_ema=True),
        losses.BinaryCrossentropy(label_smoothing=0.05),
        metrics=[metrics.F1Score(average="macro", threshold=0.5)],
    )
    return model


def quartz_block(x: Any, filters: int, size: int, repeats: int) -> Any:
    skip = layers.BatchNormalization()(layers.Conv1D(filters, 1, use_bias=False)(x))
    for step in range(repeats):
        x = layers.SeparableConv1D(filters, size, padding="same", use_bias=False)(x)
        x = layers.BatchNormalization()(x)
        if step < repeats - 1:
            x = layers.Dropout(0.1)(layers.ReLU()(x))
    return layers.ReLU()(layers.Add()([x, skip]))


@architecture(floats(480, 64), whole(28, 40), 10)
def quartz_speech() -> keras.Model:
    """QuartzNet: separable convolutions in time only, aligned by CTC."""
    inputs = keras.Input((480, 64))
    x = layers.SeparableConv1D(160, 33, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for filters, size in ((160, 33), (160, 39), (256, 51), (256, 63)):
        x = quartz_block(x, filters, size, 4)
    x = layers.DepthwiseConv1D(87, padding="same", use_bias=False)(x)
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(320, 1, use_bias=False)(x)))
    model = keras.Model(inputs, layers.Conv1D(29, 1)(x))
    model.compile(optimizers.AdamW(1e-3, beta_1=0.95, beta_2=0.5, weight_decay=1e-3), losses.CTC())
    return model


# Graphs, physics, recurrences of one's own


class MessagePassing(layers.Layer):
    """Every bond turns its atom's state by a matrix of its own; what arrives at an atom is summed."""

    def __init__(self, units: int, steps: int, **options: Any) -> None:
        super().__init__(**options)
        self.units, self.steps = units, steps
        self.turn = layers.Dense(units * units)
        self.start = layers.Dense(units)
        self.update = layers.GRUCell(units)

    def build(self, shapes: Any) -> None:
        atoms, bonds, _ = shapes
        self.start.build(atoms)
        self.turn.build((None, bonds[-1]))
        self.update.build((None, self.units))

    def call(self, inputs: Any) -> Any:
        atoms, bonds, pairs = inputs
        graphs, count = ops.shape(atoms)[0], atoms.shape[1]
        offset = ops.arange(graphs)[:, None, None] * count
        pairs = ops.reshape(pairs + ops.cast(offset, pairs.dtype), (-1, 2))
        bonds = ops.reshape(bonds, (-1, bonds.shape[-1]))
        state = self.start(ops.reshape(atoms, (-1, atoms.shape[-1])))
        for _ in range(self.steps):
            matrices = ops.reshape(self.turn(bonds), (-1, self.units, self.units))
            sent = ops.matmul(matrices, ops.take(state, pairs[:, 1], axis=0)[..., None])[..., 0]
            arrived = ops.segment_sum(sent, pairs[:, 0], num_segments=graphs * count)
            state, _ = self.update(arrived, [state])
        return ops.reshape(state, (-1, count, self.units))


@architecture({"atoms": floats(24, 29), "bonds": floats(52, 7), "pairs": whole(24, 52, 2)}, floats(1), 48)
def blood_brain_barrier() -> keras.Model:
    atoms, bonds = keras.Input((24, 29), name="atoms"), keras.Input((52, 7), name="bonds")
    pairs = keras.Input((52, 2), dtype="int32", name="pairs")
    x = MessagePassing(48, 4)([atoms, bonds, pairs])
    attended = layers.MultiHeadAttention(8, 48)(x, x)
    x = layers.LayerNormalization()(x + attended)
    x = layers.LayerNormalization()(x + layers.Dense(48)(layers.Dense(512, activation="relu")(x)))
    x = layers.Dense(512, activation="relu")(layers.GlobalAveragePooling1D()(x))
    inputs = {"atoms": atoms, "bonds": bonds, "pairs": pairs}
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizers.Adam(5e-4, amsgrad=True), "binary_crossentropy", metrics=[metrics.AUC(name="AUC")])
    return model


def scanned(decay: Any, added: Any) -> Any:
    """All prefixes of a linear recurrence along the second axis, in as many rounds as its length has binary digits."""
    reach = 1
    while reach < added.shape[1]:
        shift = [[0, 0], [reach, 0], [0, 0]]
        added = added + decay * ops.pad(added[:, :-reach], shift)
        decay = decay * ops.pad(decay[:, :-reach], shift, constant_values=1.0)
        reach *= 2
    return added


class ScannedGate(layers.Layer):
    """A recurrence whose gates see only the input, so that it is a scan in parallel."""

    def __init__(self, units: int, **options: Any) -> None:
        super().__init__(**options)
        self.gate = layers.Dense(units, activation="sigmoid")
        self.candidate = layers.Dense(units)

    def call(self, x: Any) -> Any:
        gate = self.gate(x)
        return scanned(1.0 - gate, gate * self.candidate(x))


@architecture(whole(256, 512), whole(10), 12)
def pixels_in_turn() -> keras.Model:
    """Pictures read as one long sequence by minimal gated units."""
    inputs = keras.Input((512,), dtype="int32")
    x = layers.Embedding(256, 96)(inputs)
    for _ in range(3):
        x = x + layers.Dense(96)(ScannedGate(144)(layers.LayerNormalization()(x)))
        x = x + layers.Dense(96)(layers.Dense(192, activation="gelu")(layers.LayerNormalization()(x)))
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    model = keras.Model(inputs, layers.Dense(10, activation="softmax")(x))
    accumulated = optimizers.AdamW(2e-3, gradient_accumulation_steps=4)
    model.compile(accumulated, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Automaton(layers.Layer):
    """Cells that see their neighbours' slopes, and change by what one small network tells all of them."""

    def __init__(self, channels: int, steps: int, **options: Any) -> None:
        super().__init__(**options)
        self.channels, self.steps = channels, steps
        self.hidden = layers.Conv2D(96, 1, activation="relu")
        self.change = layers.Conv2D(channels, 1, use_bias=False, kernel_initializer="zeros")

    def build(self, shape: Any) -> None:
        self.hidden.build((*shape[:-1], 3 * self.channels))
        self.change.build((*shape[:-1], 96))
        slope = tf.constant([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8.0
        itself = tf.constant([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        kernels = tf.stack([itself, slope, tf.transpose(slope)], axis=-1)
        self.kernels = keras.Variable(tf.repeat(kernels[:, :, None], self.channels, axis=2), trainable=False)

    def stepped(self, state: Any) -> Any:
        seen = ops.depthwise_conv(state, self.kernels, padding="same")
        awake = ops.cast(tf.random.uniform(tf.shape(state[..., :1])) < 0.5, state.dtype)
        changed = state + awake * self.change(self.hidden(seen))
        alive = ops.max_pool(changed[..., 3:4], 3, strides=1, padding="same") > 0.1
        return changed * ops.cast(alive, state.dtype)

    def call(self, state: Any) -> Any:
        return ops.fori_loop(0, self.steps, lambda _, before: self.stepped(before), state)


class Grown(keras.Model):
    """Each gradient is divided by its length, or the many steps would make it too long or too short."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.square(self(x, training=True)[..., :4] - y))
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(
            [each / (ops.norm(ops.ravel(each)) + 1e-8) for each in gradients], self.trainable_variables
        )
        return {"loss": loss}


@architecture(floats(40, 40, 16), floats(40, 40, 4), 6)
def growing_cells() -> keras.Model:
    inputs = keras.Input((40, 40, 16))
    model = Grown(inputs, Automaton(16, 24)(inputs))
    model.compile(optimizers.Adam(optimizers.schedules.PiecewiseConstantDecay([2000], [2e-3, 2e-4])))
    return model


class SpectralConvolution(layers.Layer):
    """Channels are mixed anew for each of the lowest frequencies; all others are dropped."""

    def __init__(self, channels: int, modes: int, **options: Any) -> None:
        super().__init__(**options)
        self.channels, self.modes = channels, modes

    def build(self, shape: Any) -> None:
        small = initializers.RandomUniform(0.0, 1.0 / self.channels**2, seed=5)
        size = (2, self.channels, self.channels, self.modes, self.modes)
        self.real = self.add_weight(shape=size, initializer=small, name="real")
        self.imaginary = self.add_weight(shape=size, initializer=small, name="imaginary")

    def mixed(self, real: Any, imaginary: Any, corner: int) -> tuple[Any, Any]:
        rule, a, b = "bixy,ioxy->boxy", self.real[corner], self.imaginary[corner]
        return (
            ops.einsum(rule, real, a) - ops.einsum(rule, imaginary, b),
            ops.einsum(rule, real, b) + ops.einsum(rule, imaginary, a),
        )

    def call(self, x: Any) -> Any:
        height, width, modes = x.shape[1], x.shape[2], self.modes
        x = ops.transpose(x, (0, 3, 1, 2))
        real, imaginary = ops.fft2((x, ops.zeros_like(x)))
        top = self.mixed(real[:, :, :modes, :modes], imaginary[:, :, :modes, :modes], 0)
        bottom = self.mixed(real[:, :, -modes:, :modes], imaginary[:, :, -modes:, :modes], 1)
        around = [[0, 0], [0, 0], [0, height - 2 * modes], [0, 0]]
        columns = [[0, 0], [0, 0], [0, 0], [0, width - modes]]
        kept = [
            ops.pad(ops.concatenate([ops.pad(one, around), other], axis=2), columns)
            for one, other in zip(top, bottom, strict=True)
        ]
        return ops.transpose(ops.ifft2(tuple(kept))[0], (0, 2, 3, 1))


def relative_distance(truth: Any, predicted: Any) -> Any:
    return ops.norm(truth - predicted, axis=(1, 2)) / (ops.norm(truth, axis=(1, 2)) + 1e-6)


@architecture(floats(64, 64, 3), floats(64, 64, 1), 8)
def darcy_flow() -> keras.Model:
    """A Fourier neural operator: from how permeable the ground is to the pressure in it."""
    inputs = keras.Input((64, 64, 3))
    x = layers.Dense(32)(layers.ZeroPadding2D(((0, 8), (0, 8)))(inputs))
    for last in (False, False, False, True):
        x = layers.Add()([SpectralConvolution(32, 12)(x), layers.Conv2D(32, 1)(x)])
        x = x if last else layers.Activation("gelu")(x)
    x = layers.Cropping2D(((0, 8), (0, 8)))(x)
    model = keras.Model(inputs, layers.Dense(1)(layers.Dense(128, activation="gelu")(x)))
    model.compile(optimizers.ScheduleFreeAdamW(1e-3), relative_distance, metrics=["mae"])
    return model


class RecurrentActor(keras.Model):
    """Advantage actor-critic over rollouts: what each step was worth is summed from the end of the rollout."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            logits, values = self(x["frames"], training=True)
            values = ops.squeeze(values, -1)
            going = 1.0 - ops.cast(x["done"], "float32")

            def discounted(later: Any, now: Any) -> tuple[Any, Any]:
                worth = now[0] + 0.99 * now[1] * later
                return worth, worth

            steps = (ops.transpose(x["rewards"]), ops.transpose(going))
            _, worth = ops.scan(discounted, ops.stop_gradient(values[:, -1]), steps, reverse=True)
            advantages = ops.transpose(worth) - values
            likely = ops.log_softmax(logits)
            chosen = ops.sum(likely * ops.one_hot(x["actions"], logits.shape[-1]), axis=-1)
            entropy = -ops.mean(ops.sum(ops.exp(likely) * likely, axis=-1))
            loss = -ops.mean(chosen * ops.stop_gradient(advantages))
            loss = loss + 0.5 * ops.mean(ops.square(advantages)) - 0.01 * entropy
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss, "entropy": entropy}


@architecture(
    {"frames": floats(20, 64, 64, 3), "actions": whole(6, 20), "rewards": floats(20), "done": whole(2, 20)},
    None,
    8,
    needs_x=True,
)
def recurrent_actor() -> keras.Model:
    frames = keras.Input((20, 64, 64, 3))
    x = layers.TimeDistributed(layers.Conv2D(32, 8, strides=4, activation="relu"))(frames)
    x = layers.TimeDistributed(layers.Conv2D(64, 4, strides=2, activation="relu"))(x)
    x = layers.TimeDistributed(layers.Conv2D(64, 3, activation="relu"))(x)
    x = layers.TimeDistributed(layers.Flatten())(x)
    x = layers.LSTM(256, return_sequences=True)(layers.Dense(512, activation="relu")(x))
    model = RecurrentActor(frames, [layers.Dense(6, name="policy")(x), layers.Dense(1, name="value")(x)])
    model.compile(optimizers.RMSprop(7e-4, rho=0.99, epsilon=1e-5, global_clipnorm=0.5))
    return model


# Steps and losses of one's own


class ConditionalVae(keras.Model):
    """Faces with given attributes; the loss is put together in `compute_loss`."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.encoder = keras.Sequential(
            [
                layer
                for filters in (32, 64, 128, 256)
                for layer in (layers.Conv2D(filters, 4, strides=2, padding="same"), layers.LeakyReLU(0.2))
            ]
        )
        self.flat, self.moments = layers.Flatten(), layers.Dense(2 * 128)
        self.decoder = keras.Sequential(
            [layers.Dense(4 * 4 * 256, activation="relu"), layers.Reshape((4, 4, 256))]
            + [layers.Conv2DTranspose(n, 4, strides=2, padding="same", activation="relu") for n in (256, 128, 64, 32)]
            + [layers.Conv2D(3, 3, padding="same", activation="sigmoid")]
        )
        self.seeds = random.SeedGenerator(11)
        self.divergence = metrics.Mean(name="divergence")

    def call(self, inputs: Any) -> Any:
        image, attributes = inputs
        encoded = layers.concatenate([self.flat(self.encoder(image)), attributes])
        mean, logarithm = ops.split(self.moments(encoded), 2, axis=-1)
        code = mean + ops.exp(0.5 * logarithm) * random.normal(ops.shape(mean), seed=self.seeds)
        return {"image": self.decoder(layers.concatenate([code, attributes])), "mean": mean, "logarithm": logarithm}

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        mean, logarithm = y_pred["mean"], y_pred["logarithm"]
        divergence = -0.5 * ops.mean(ops.sum(1.0 + logarithm - ops.square(mean) - ops.exp(logarithm), axis=-1))
        self.divergence.update_state(divergence)
        painted = ops.mean(ops.sum(losses.binary_crossentropy(y, y_pred["image"]), axis=(1, 2)))
        return painted + 4.0 * divergence


@architecture([floats(64, 64, 3), floats(40)], floats(64, 64, 3), 32, needs_x=True)
def faces_to_order() -> keras.Model:
    model = ConditionalVae()
    model.compile(optimizers.Adam(5e-4, clipvalue=1.0))
    return model


class LowLight(keras.Model):
    """Zero-DCE of keras.io: curves that brighten a picture, learned without any bright picture."""

    def brightened(self, image: Any, curves: Any) -> Any:
        for curve in ops.split(curves, 8, axis=-1):
            image = image + curve * (ops.square(image) - image)
        return image

    def train_step(self, data: Any) -> dict[str, Any]:
        image, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            curves = self(image, training=True)
            result = self.brightened(image, curves)
            red, green, blue = (ops.mean(result[..., each], axis=(1, 2)) for each in range(3))
            tint = ops.sqrt((red - green) ** 2 + (red - blue) ** 2 + (green - blue) ** 2 + 1e-9)
            exposure = ops.square(tf.nn.avg_pool2d(ops.mean(result, axis=-1, keepdims=True), 16, 16, "VALID") - 0.6)
            rough = ops.mean(tf.image.total_variation(curves)) / (curves.shape[1] * curves.shape[2])
            before, after = (
                tf.image.sobel_edges(tf.nn.avg_pool2d(ops.mean(each, axis=-1, keepdims=True), 4, 4, "VALID"))
                for each in (image, result)
            )
            loss = 5.0 * ops.mean(tint) + 10.0 * ops.mean(exposure) + 200.0 * rough + ops.mean((before - after) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss, "roughness": rough}


@architecture(floats(128, 128, 3), None, 8)
def low_light() -> keras.Model:
    inputs = keras.Input((128, 128, 3))
    first, second, third, fourth = (layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(4))
    one = first(inputs)
    two = second(one)
    three = third(two)
    x = fourth(three)
    for skip in (three, two):
        x = layers.Conv2D(32, 3, padding="same", activation="relu")(layers.Concatenate()([x, skip]))
    curves = layers.Conv2D(24, 3, padding="same", activation="tanh")(layers.Concatenate()([x, one]))
    model = LowLight(inputs, curves)
    model.compile(optimizers.Adam(1e-4, global_clipnorm=0.1))
    return model


class Reflected(layers.Layer):
    def __init__(self, around: int, **options: Any) -> None:
        super().__init__(**options)
        self.around = around

    def call(self, x: Any) -> Any:
        both = [self.around, self.around]
        return ops.pad(x, [[0, 0], both, both, [0, 0]], mode="reflect")


def per_picture(x: Any, active: bool = True) -> Any:
    x = layers.GroupNormalization(groups=-1)(x)
    return layers.ReLU()(x) if active else x


def repainter() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = per_picture(layers.Conv2D(32, 7, use_bias=False)(Reflected(3)(inputs)))
    for filters in (64, 128):
        x = per_picture(layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x))
    for _ in range(4):
        y = per_picture(layers.Conv2D(128, 3, use_bias=False)(Reflected(1)(x)))
        x = layers.Add()([x, per_picture(layers.Conv2D(128, 3, use_bias=False)(Reflected(1)(y)), active=False)])
    for filters in (64, 32):
        x = per_picture(layers.Conv2DTranspose(filters, 3, strides=2, padding="same", use_bias=False)(x))
    return keras.Model(inputs, layers.Conv2D(3, 7, activation="tanh")(Reflected(3)(x)))


def patch_judge() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = layers.LeakyReLU(0.2)(layers.Conv2D(32, 4, strides=2, padding="same")(inputs))
    for filters, strides in ((64, 2), (128, 2), (256, 1)):
        x = layers.Conv2D(filters, 4, strides=strides, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU(0.2)(per_picture(x, active=False))
    return keras.Model(inputs, layers.Conv2D(1, 4, padding="same")(x))


class CycleGan(keras.Model):
    """Horses to zebras and back: four networks, four optimizers, and one tape for all gradients."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.makers = [repainter(), repainter()]
        self.judges = [patch_judge(), patch_judge()]

    def compile(self, rate: float) -> None:
        super().compile()
        self.maker_optimizers = [optimizers.Adam(rate, beta_1=0.5) for _ in range(2)]
        self.judge_optimizers = [optimizers.Adam(rate, beta_1=0.5) for _ in range(2)]

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        real = [x["horses"] * 2.0 - 1.0, x["zebras"] * 2.0 - 1.0]
        with tf.GradientTape(persistent=True) as tape:
            fake = [self.makers[1](real[1], training=True), self.makers[0](real[0], training=True)]
            cycled = [self.makers[1](fake[1], training=True), self.makers[0](fake[0], training=True)]
            same = [self.makers[1](real[0], training=True), self.makers[0](real[1], training=True)]
            made, judged = [], []
            for side in range(2):
                on_real = self.judges[side](real[side], training=True)
                on_fake = self.judges[side](fake[side], training=True)
                judged.append(0.5 * (ops.mean(ops.square(1.0 - on_real)) + ops.mean(ops.square(on_fake))))
                distance = ops.mean(ops.abs(real[side] - cycled[side]))
                kept = ops.mean(ops.abs(real[side] - same[side]))
                made.append(ops.mean(ops.square(1.0 - on_fake)) + 10.0 * distance + 5.0 * kept)
            total = made[0] + made[1]
        for network, optimizer in zip(self.makers, self.maker_optimizers, strict=True):
            optimizer.apply(tape.gradient(total, network.trainable_variables), network.trainable_variables)
        for network, optimizer, loss in zip(self.judges, self.judge_optimizers, judged, strict=True):
            optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
        return {"made": total, "judged": judged[0] + judged[1]}


@architecture({"horses": floats(64, 64, 3), "zebras": floats(64, 64, 3)}, None, 2, needs_x=True)
def horses_to_zebras() -> keras.Model:
    model = CycleGan()
    model.compile(2e-4)
    return model


class FocalClasses(losses.Loss):
    """One-hot classes of all anchors; nearly all of them are background."""

    def call(self, truth: Any, logits: Any) -> Any:
        truth = ops.one_hot(ops.cast(truth, "int32") - 1, logits.shape[-1])
        crossed = tf.nn.sigmoid_cross_entropy_with_logits(labels=truth, logits=logits)
        likely = ops.sigmoid(logits)
        alpha = ops.where(truth == 1.0, 0.25, 0.75)
        missed = ops.where(truth == 1.0, 1.0 - likely, likely)
        return ops.sum(alpha * ops.square(missed) * crossed, axis=-1)


class SmoothBoxes(losses.Loss):
    def call(self, truth: Any, predicted: Any) -> Any:
        distance = ops.abs(truth - predicted)
        return ops.sum(ops.where(distance < 1.0, 0.5 * distance**2, distance - 0.5), axis=-1)


def anchor_head(width: int, bias: Any) -> keras.Model:
    head = keras.Sequential([keras.Input((None, None, 128))])
    for _ in range(4):
        head.add(layers.Conv2D(128, 3, padding="same", activation="relu"))
    head.add(layers.Conv2D(9 * width, 3, padding="same", bias_initializer=bias))
    return head


@architecture(floats(160, 160, 3), {"boxes": floats(4842, 4), "classes": whole(21, 4842)}, 4)
def retina_detector() -> keras.Model:
    """RetinaNet: a pyramid over ResNet50 whose two heads are shared by all five levels."""
    base = applications.ResNet50(include_top=False, weights=None, input_shape=(160, 160, 3))
    taps = [base.get_layer(f"{name}_out").output for name in ("conv3_block4", "conv4_block6", "conv5_block3")]
    p3, p4, p5 = (layers.Conv2D(128, 1)(each) for each in taps)
    p4 = p4 + layers.UpSampling2D(2)(p5)
    p3 = p3 + layers.UpSampling2D(2)(p4)
    p3, p4, p5 = (layers.Conv2D(128, 3, padding="same")(each) for each in (p3, p4, p5))
    p6 = layers.Conv2D(128, 3, strides=2, padding="same")(taps[-1])
    p7 = layers.Conv2D(128, 3, strides=2, padding="same")(layers.ReLU()(p6))
    classes, boxes = anchor_head(20, initializers.Constant(-4.6)), anchor_head(4, "zeros")
    levels = (p3, p4, p5, p6, p7)
    outputs = {
        "boxes": layers.Concatenate(axis=1, name="boxes")([layers.Reshape((-1, 4))(boxes(p)) for p in levels]),
        "classes": layers.Concatenate(axis=1, name="classes")([layers.Reshape((-1, 20))(classes(p)) for p in levels]),
    }
    model = keras.Model(base.input, outputs)
    model.compile(
        optimizers.SGD(1e-3, momentum=0.9, global_clipnorm=10.0),
        loss={"boxes": SmoothBoxes(), "classes": FocalClasses()},
        loss_weights={"boxes": 1.0, "classes": 2.0},
    )
    return model
