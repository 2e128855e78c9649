"""The models of the benchmark: one function for each architecture, with the batch sizes and variants it is tried in.

Nothing here makes a tensor while it is imported: what a case allocates, it allocates in `Case.build`.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers, ops

from benchmarks.optimizers import accumulating, averaging, clipping, loss_scaling, momentum, weight_decaying
from benchmarks.registry import architecture, floats, variant, whole

CLASSES = "sparse_categorical_crossentropy"
LOGITS = keras.losses.SparseCategoricalCrossentropy


def compiled(model: keras.Model, optimizer: Any, loss: Any, **options: Any) -> keras.Model:
    model.compile(optimizer() if callable(optimizer) else optimizer, loss, **options)
    return model


def classified(x: Any, classes: int = 10) -> Any:
    return layers.Dense(classes, activation="softmax", dtype="float32")(x)


# Convolutions


@architecture(
    floats(64, 64, 3),
    whole(10),
    24,
    96,
    variant("jit", 32, jit_compile=True),
    variant("lion", 48, optimizer="lion"),
    variant("accumulating", 32, optimizer=accumulating),
    variant("several_steps", 40, steps_per_execution=4),
)
def vgg(optimizer: Any = "adam", **options: Any) -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (24, 48, 96):
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.4)(layers.Dense(256, activation="relu")(layers.Flatten()(x)))
    return compiled(keras.Model(inputs, classified(x)), optimizer, CLASSES, metrics=["accuracy"], **options)


def preactivated(x: Any, filters: int, strides: int) -> Any:
    shortcut = layers.Conv2D(filters, 1, strides=strides, use_bias=False)(x)
    for stride in (strides, 1):
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2D(filters, 3, strides=stride, padding="same", use_bias=False)(x)
    return layers.Add()([x, shortcut])


@architecture(
    floats(32, 32, 3),
    whole(100),
    32,
    128,
    variant("jit", 64, jit_compile=True),
    variant("bfloat16", 32, policy="mixed_bfloat16"),
    variant("averaging", 64, optimizer=averaging),
)
def residual(optimizer: Any = momentum, **options: Any) -> keras.Model:
    x = inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(16, 3, padding="same", use_bias=False)(x)
    for filters, strides in ((32, 1), (32, 1), (64, 2), (64, 1), (128, 2), (128, 1)):
        x = preactivated(x, filters, strides)
    x = layers.GlobalAveragePooling2D()(layers.ReLU()(layers.BatchNormalization()(x)))
    top = keras.metrics.SparseTopKCategoricalAccuracy(5)
    return compiled(keras.Model(inputs, classified(x, 100)), optimizer, CLASSES, metrics=["accuracy", top], **options)


def inverted_bottleneck(x: Any, filters: int, strides: int) -> Any:
    wide = layers.Conv2D(4 * x.shape[-1], 1, activation="hard_swish")(x)
    wide = layers.DepthwiseConv2D(5, strides=strides, padding="same", activation="hard_swish")(wide)
    squeezed = layers.GlobalAveragePooling2D(keepdims=True)(wide)
    gate = layers.Dense(wide.shape[-1], activation="hard_sigmoid")(layers.Dense(16, activation="relu")(squeezed))
    narrow = layers.Conv2D(filters, 1)(layers.Multiply()([wide, gate]))
    return layers.Add()([x, narrow]) if x.shape == narrow.shape else narrow


@architecture(floats(80, 80, 3), whole(10), 8, 32)
def squeeze_and_excite() -> keras.Model:
    x = inputs = keras.Input((80, 80, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="hard_swish")(x)
    for filters, strides in ((16, 1), (24, 2), (24, 1), (48, 2), (48, 1)):
        x = inverted_bottleneck(x, filters, strides)
    return compiled(keras.Model(inputs, classified(layers.GlobalMaxPooling2D()(x))), "rmsprop", CLASSES)


@architecture(floats(71, 71, 3), floats(12), 16, variant("nadam", 40, optimizer="nadam"))
def separable(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((71, 71, 3))
    x = layers.Conv2D(32, 3, strides=2, activation="relu")(x)
    for filters in (64, 128, 192):
        shortcut = layers.Conv2D(filters, 1, strides=2, padding="same")(x)
        x = layers.BatchNormalization()(layers.SeparableConv2D(filters, 3, padding="same", activation="relu")(x))
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.Add()([x, shortcut])
    outputs = layers.Dense(12, activation="sigmoid")(layers.GlobalAveragePooling2D()(x))
    return compiled(keras.Model(inputs, outputs), optimizer, "binary_focal_crossentropy", metrics=["binary_accuracy"])


@architecture(floats(48, 48, 3), whole(10), 24)
def inception() -> keras.Model:
    x = inputs = keras.Input((48, 48, 3))
    for width in (16, 32):
        branches = [layers.Conv2D(width, size, padding="same", activation="relu")(x) for size in (1, 3, 5)]
        pooled = layers.AveragePooling2D(3, strides=1, padding="same")(x)
        x = layers.MaxPooling2D()(layers.Concatenate()([*branches, layers.Conv2D(width, 1)(pooled)]))
    x = layers.Flatten()(layers.SpatialDropout2D(0.2)(x))
    return compiled(keras.Model(inputs, classified(x)), "adagrad", CLASSES)


@architecture(floats(64, 64, 3), whole(10), 16, 48)
def convnext() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    x = layers.LayerNormalization()(layers.Conv2D(64, 4, strides=4)(x))
    for _ in range(4):
        hidden = layers.LayerNormalization()(layers.DepthwiseConv2D(7, padding="same")(x))
        x = layers.Add()([x, layers.Dense(64)(layers.Dense(256, activation="gelu")(hidden))])
    x = layers.GlobalAveragePooling2D()(x)
    return compiled(keras.Model(inputs, classified(x)), weight_decaying, CLASSES, metrics=["accuracy"])


@architecture(floats(48, 48, 3), whole(10), 32)
def group_normalized() -> keras.Model:
    x = inputs = keras.Input((48, 48, 3))
    for filters in (32, 64, 96):
        x = layers.Conv2D(filters, 3, padding="same", kernel_regularizer="l2")(x)
        x = layers.AveragePooling2D(2)(layers.Activation("swish")(layers.GroupNormalization(8)(x)))
    return compiled(keras.Model(inputs, classified(layers.Flatten()(x))), "adamax", CLASSES)


@architecture(floats(72, 72, 3), whole(10), 24)
def augmented() -> keras.Model:
    x = inputs = keras.Input((72, 72, 3))
    x = layers.RandomZoom(0.1)(layers.RandomRotation(0.1)(layers.RandomFlip()(x)))
    x = layers.GaussianNoise(0.1)(layers.Normalization(mean=0.5, variance=0.1)(x))
    for filters in (32, 64):
        x = layers.Conv2D(filters, 3, strides=2, activation="elu")(x)
    return compiled(keras.Model(inputs, classified(layers.Flatten()(x))), "adam", CLASSES)


# Images to images


def dice(truth: Any, predicted: Any) -> Any:
    overlap = ops.sum(truth * predicted, axis=(1, 2, 3))
    return 1 - (2 * overlap + 1) / (ops.sum(truth, axis=(1, 2, 3)) + ops.sum(predicted, axis=(1, 2, 3)) + 1)


def convolved_twice(x: Any, filters: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return x


@architecture(floats(96, 96, 1), floats(96, 96, 1), 4, 16, variant("loss_scaling", 8, optimizer=loss_scaling))
def unet(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((96, 96, 1))
    skipped = []
    for filters in (24, 48, 96):
        skipped.append(convolved_twice(x, filters))
        x = layers.MaxPooling2D()(skipped[-1])
    x = convolved_twice(x, 128)
    for filters, skip in zip((96, 48, 24), reversed(skipped), strict=True):
        x = convolved_twice(layers.Concatenate()([layers.UpSampling2D(interpolation="bilinear")(x), skip]), filters)
    outputs = layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x)
    return compiled(keras.Model(inputs, outputs), optimizer, dice, metrics=["binary_accuracy"])


@architecture(floats(96), floats(64, 64, 3), 16, 64)
def transposed() -> keras.Model:
    x = inputs = keras.Input((96,))
    x = layers.Reshape((8, 8, 64))(layers.Dense(8 * 8 * 64, activation="relu")(x))
    for filters in (64, 48, 24):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU(0.2)(layers.BatchNormalization()(x))
    outputs = layers.Conv2D(3, 5, padding="same", activation="tanh")(x)
    return compiled(keras.Model(inputs, outputs), "adam", "mae", metrics=["mse"])


@architecture(floats(40, 40, 3), floats(80, 80, 3), 12)
def super_resolution() -> keras.Model:
    x = inputs = keras.Input((40, 40, 3))
    x = layers.Conv2D(48, 5, padding="same")(x)
    for _ in range(3):
        x = layers.Add()([x, layers.Conv2D(48, 3, padding="same")(layers.PReLU(shared_axes=[1, 2])(x))])
    x = ops.reshape(layers.Conv2D(12, 3, padding="same")(x), (-1, 40, 40, 2, 2, 3))
    outputs = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, 80, 80, 3))
    return compiled(keras.Model(inputs, outputs), clipping, "log_cosh")


@architecture(floats(12, 32, 32, 3), whole(6), 4, 16)
def video() -> keras.Model:
    x = inputs = keras.Input((12, 32, 32, 3))
    for filters in (16, 32):
        x = layers.BatchNormalization()(layers.Conv3D(filters, 3, padding="same", activation="relu")(x))
        x = layers.MaxPooling3D()(x)
    x = layers.GlobalAveragePooling3D()(layers.Conv3D(48, (1, 3, 3), activation="relu")(x))
    return compiled(keras.Model(inputs, classified(x, 6)), "adam", CLASSES)


@architecture(floats(6, 32, 32, 1), floats(6, 32, 32, 1), 8)
def frame_forecast() -> keras.Model:
    x = inputs = keras.Input((6, 32, 32, 1))
    for filters in (12, 12):
        x = layers.ConvLSTM2D(filters, 3, padding="same", return_sequences=True)(x)
    outputs = layers.Conv3D(1, 3, padding="same", activation="sigmoid")(x)
    return compiled(keras.Model(inputs, outputs), "adam", "binary_crossentropy")


# Sequences


def gated_dilation(x: Any, dilation: int) -> tuple[Any, Any]:
    signal = layers.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation="tanh")(x)
    gate = layers.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation="sigmoid")(x)
    kept = layers.Conv1D(32, 1)(layers.Multiply()([signal, gate]))
    return layers.Add()([x, kept]), kept


@architecture(floats(512, 4), whole(64, 512), 16, 48)
def wavenet() -> keras.Model:
    x = inputs = keras.Input((512, 4))
    x = layers.Conv1D(32, 1)(x)
    skipped = []
    for dilation in (1, 2, 4, 8, 16):
        x, kept = gated_dilation(x, dilation)
        skipped.append(kept)
    outputs = layers.Conv1D(64, 1)(layers.ReLU()(layers.Add()(skipped)))
    return compiled(keras.Model(inputs, outputs), "adam", LOGITS(from_logits=True))


@architecture(whole(6000, 200), floats(4), 32)
def text_cnn() -> keras.Model:
    tokens = keras.Input((200,), dtype="int32")
    x = layers.Embedding(6000, 96)(tokens)
    pooled = [layers.GlobalMaxPooling1D()(layers.Conv1D(96, size, activation="relu")(x)) for size in (3, 4, 5)]
    outputs = layers.Dense(4, activation="sigmoid")(layers.Dropout(0.5)(layers.Concatenate()(pooled)))
    return compiled(keras.Model(tokens, outputs), "adam", "binary_crossentropy", metrics=["AUC"])


@architecture(floats(100, 24), floats(1), 64, 256)
def stacked_lstm() -> keras.Model:
    x = inputs = keras.Input((100, 24))
    for units in (96, 64):
        x = layers.LSTM(units, return_sequences=True)(x)
    outputs = layers.Dense(1)(layers.LSTM(32)(x))
    return compiled(keras.Model(inputs, outputs), "rmsprop", "huber", metrics=["mae"])


@architecture(whole(9000, 50), whole(12, 50), 32, 128)
def tagger() -> keras.Model:
    tokens = keras.Input((50,), dtype="int32")
    x = layers.Embedding(9000, 100, mask_zero=True)(tokens)
    x = layers.Bidirectional(layers.GRU(80, return_sequences=True))(x)
    x = layers.Bidirectional(layers.GRU(40, return_sequences=True, dropout=0.2))(x)
    return compiled(keras.Model(tokens, classified(x, 12)), clipping, CLASSES)


@architecture([whole(3000, 30), whole(2500, 25)], whole(2500, 25), 48)
def sequence_to_sequence() -> keras.Model:
    source, target = keras.Input((30,), dtype="int32"), keras.Input((25,), dtype="int32")
    encoded, *state = layers.LSTM(128, return_sequences=True, return_state=True)(layers.Embedding(3000, 96)(source))
    decoded = layers.LSTM(128, return_sequences=True)(layers.Embedding(2500, 96)(target), initial_state=state)
    attended = layers.Attention(use_scale=True)([decoded, encoded])
    outputs = layers.Dense(2500)(layers.Concatenate()([decoded, attended]))
    return compiled(keras.Model([source, target], outputs), "adam", LOGITS(from_logits=True))


@architecture(floats(32, 96, 1), whole(30, 8), 24)
def text_in_image() -> keras.Model:
    x = inputs = keras.Input((32, 96, 1))
    for filters in (32, 64):
        x = layers.MaxPooling2D()(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
    x = layers.Reshape((24, 8 * 64))(layers.Permute((2, 1, 3))(x))
    outputs = layers.Dense(31)(layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x))
    return compiled(keras.Model(inputs, outputs), "adam", "ctc")


# Attention


def transformer_block(x: Any, heads: int, *, causal: bool = False, memory: Any = None, dropout: float = 0.0) -> Any:
    width = x.shape[-1]
    y = layers.LayerNormalization()(x)
    x = x + layers.MultiHeadAttention(heads, width // heads, dropout=dropout)(y, y, use_causal_mask=causal)
    if memory is not None:
        x = x + layers.MultiHeadAttention(heads, width // heads)(layers.LayerNormalization()(x), memory)
    hidden = layers.Dense(4 * width, activation="gelu")(layers.LayerNormalization()(x))
    return x + layers.Dropout(dropout)(layers.Dense(width)(hidden))


def embedded(tokens: Any, vocabulary: int, width: int) -> Any:
    places = layers.Embedding(tokens.shape[1], width)(ops.arange(tokens.shape[1]))
    return layers.Embedding(vocabulary, width)(tokens) + places


@architecture(
    {"tokens": whole(8000, 96), "segments": whole(2, 96)},
    whole(3),
    8,
    40,
    variant("bfloat16", 16, policy="mixed_bfloat16"),
    variant("adafactor", 24, optimizer="adafactor"),
)
def bert(optimizer: Any = weight_decaying) -> keras.Model:
    tokens = keras.Input((96,), dtype="int32", name="tokens")
    segments = keras.Input((96,), dtype="int32", name="segments")
    x = layers.LayerNormalization()(embedded(tokens, 8000, 160) + layers.Embedding(2, 160)(segments))
    for _ in range(3):
        x = transformer_block(x, 5, dropout=0.1)
    outputs = classified(layers.Dense(160, activation="tanh")(x[:, 0]), 3)
    model = keras.Model({"tokens": tokens, "segments": segments}, outputs)
    return compiled(model, optimizer, CLASSES, metrics=["accuracy"])


@architecture(
    whole(6000, 160),
    whole(6000, 160),
    4,
    16,
    variant("jit", 8, jit_compile=True),
    variant("clipping", 8, optimizer=clipping),
)
def gpt(optimizer: Any = "adamw", **options: Any) -> keras.Model:
    tokens = keras.Input((160,), dtype="int32")
    x = embedded(tokens, 6000, 128)
    for _ in range(3):
        x = transformer_block(x, 4, causal=True)
    outputs = layers.Dense(6000, use_bias=False)(layers.LayerNormalization()(x))
    return compiled(keras.Model(tokens, outputs), optimizer, LOGITS(from_logits=True), **options)


@architecture([whole(4000, 64), whole(4000, 48)], whole(4000, 48), 16)
def translator() -> keras.Model:
    source, target = keras.Input((64,), dtype="int32"), keras.Input((48,), dtype="int32")
    memory = embedded(source, 4000, 128)
    x = embedded(target, 4000, 128)
    for _ in range(2):
        memory = transformer_block(memory, 4)
    for _ in range(2):
        x = transformer_block(x, 4, causal=True, memory=memory)
    return compiled(keras.Model([source, target], layers.Dense(4000)(x)), "adam", LOGITS(from_logits=True))


class ClassToken(layers.Layer):
    def build(self, shape: tuple[int, ...]) -> None:
        self.token = self.add_weight((1, 1, shape[-1]))
        self.places = self.add_weight((1, shape[1] + 1, shape[-1]))

    def call(self, x: Any) -> Any:
        token = ops.broadcast_to(self.token, (ops.shape(x)[0], 1, x.shape[-1]))
        return ops.concatenate([token, x], axis=1) + self.places


@architecture(floats(72, 72, 3), whole(10), 8, 32)
def vision_transformer() -> keras.Model:
    x = inputs = keras.Input((72, 72, 3))
    x = layers.Reshape((81, 96))(layers.Conv2D(96, 8, strides=8)(x))
    x = ClassToken()(x)
    for _ in range(4):
        x = transformer_block(x, 4, dropout=0.1)
    x = layers.LayerNormalization()(x)[:, 0]
    return compiled(keras.Model(inputs, classified(x)), "nadam", CLASSES, metrics=["accuracy"])


@architecture(floats(64, 64, 3), whole(10), 24)
def mixer() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    x = layers.Reshape((64, 128))(layers.Conv2D(128, 8, strides=8)(x))
    for _ in range(4):
        mixed = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        mixed = layers.Dense(64)(layers.Dense(128, activation="gelu")(mixed))
        x = layers.Add()([x, layers.Permute((2, 1))(mixed)])
        x = layers.Add()([x, layers.Dense(128)(layers.Dense(512, activation="gelu")(layers.LayerNormalization()(x)))])
    return compiled(keras.Model(inputs, classified(layers.GlobalAveragePooling1D()(x))), "lion", CLASSES)


@architecture(floats(128, 64), floats(128, 8), 16)
def grouped_attention() -> keras.Model:
    x = inputs = keras.Input((128, 64))
    for _ in range(2):
        x = layers.RMSNormalization()(x + layers.GroupQueryAttention(16, 8, 2)(x, x))
        x = x + layers.Dense(64)(layers.Dense(192, activation="silu")(x))
    return compiled(keras.Model(inputs, layers.Dense(8)(x)), "adam", "mse", metrics=["mae", "cosine_similarity"])


# Wide layers and large tables


@architecture(floats(2048), floats(512), 128, variant("adagrad", 1024, optimizer="adagrad"))
def huge_dense(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((2048,))
    x = layers.Dropout(0.5)(layers.Dense(4096, activation="relu")(x))
    return compiled(keras.Model(inputs, layers.Dense(512)(x)), optimizer, "mse")


@architecture(floats(128), whole(20_000), 64, 256)
def many_classes() -> keras.Model:
    x = inputs = keras.Input((128,))
    outputs = layers.Dense(20_000)(layers.Dense(192, activation="selu")(x))
    return compiled(keras.Model(inputs, outputs), momentum, LOGITS(from_logits=True))


@architecture(
    floats(300, dtype="float64"),
    floats(20, dtype="float64"),
    variant("float64", 256, policy="float64"),
)
def tabular(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((300,), dtype="float64")
    for _ in range(3):
        x = layers.AlphaDropout(0.1)(layers.BatchNormalization()(layers.Dense(768, activation="selu")(x)))
    return compiled(keras.Model(inputs, layers.Dense(20)(x)), optimizer, "mse", metrics=["mae"])


@architecture({"user": whole(40_000), "item": whole(12_000), "facts": floats(32)}, floats(1), 256, 4096)
def wide_and_deep() -> keras.Model:
    user, item = keras.Input((), dtype="int32", name="user"), keras.Input((), dtype="int32", name="item")
    facts = keras.Input((32,), name="facts")
    x = layers.Concatenate()([layers.Embedding(40_000, 48)(user), layers.Embedding(12_000, 48)(item), facts])
    for units in (256, 128):
        x = layers.Dense(units, activation="relu")(x)
    outputs = layers.Dense(1, activation="sigmoid")(layers.Concatenate()([x, facts]))
    model = keras.Model({"user": user, "item": item, "facts": facts}, outputs)
    return compiled(model, "adam", "binary_crossentropy", metrics=["AUC", "precision"])


@architecture([whole(60_000), whole(20_000)], floats(1), 512)
def factorization() -> keras.Model:
    user, item = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    tables = (layers.Embedding(60_000, 64, embeddings_regularizer="l2"), layers.Embedding(20_000, 64))
    factors = [tables[0](user), tables[1](item)]
    return compiled(keras.Model([user, item], layers.Dot(-1)(factors)), momentum, "mse")


# Several inputs and outputs, shared layers


@architecture(
    {"image": floats(48, 48, 3), "words": whole(4000, 30), "facts": floats(20)},
    {"label": whole(8), "price": floats(1)},
    24,
)
def listing() -> keras.Model:
    image, facts = keras.Input((48, 48, 3), name="image"), keras.Input((20,), name="facts")
    words = keras.Input((30,), dtype="int32", name="words")
    seen = layers.Flatten()(layers.Conv2D(32, 3, strides=2, activation="relu")(image))
    read = layers.GRU(48)(layers.Embedding(4000, 64)(words))
    x = layers.Dense(128, activation="relu")(layers.Concatenate()([seen, read, layers.UnitNormalization()(facts)]))
    outputs = {"label": classified(x, 8), "price": layers.Dense(1, name="price")(x)}
    model = keras.Model({"image": image, "words": words, "facts": facts}, outputs)
    return compiled(model, "adam", {"label": CLASSES, "price": "mae"}, loss_weights={"label": 1.0, "price": 0.2})


@architecture(floats(80, 80, 3), [floats(10, 10, 4), whole(5, 10, 10)], 16)
def detector() -> keras.Model:
    x = inputs = keras.Input((80, 80, 3))
    for filters in (24, 48, 96):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.LeakyReLU(0.1)(layers.BatchNormalization()(x))
    boxes = layers.Conv2D(4, 1, name="boxes")(layers.Conv2D(96, 3, padding="same", activation="relu")(x))
    kinds = layers.Conv2D(5, 1, activation="softmax", name="kinds")(x)
    return compiled(keras.Model(inputs, [boxes, kinds]), "adam", ["huber", CLASSES], metrics=[["mae"], ["accuracy"]])


@architecture([floats(40, 40, 1), floats(40, 40, 1)], floats(1), 48)
def siamese() -> keras.Model:
    tower = keras.Sequential(
        [
            keras.Input((40, 40, 1)),
            layers.Conv2D(24, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(48, 3, activation="relu"),
            layers.Flatten(),
            layers.Dense(64),
        ]
    )
    one, other = keras.Input((40, 40, 1)), keras.Input((40, 40, 1))
    apart = ops.abs(tower(one) - tower(other))
    outputs = layers.Dense(1, activation="sigmoid")(apart)
    return compiled(keras.Model([one, other], outputs), "rmsprop", "binary_crossentropy", metrics=["accuracy"])


# Models of the user's own making


class ResidualDense(layers.Layer):
    def __init__(self, units: int) -> None:
        super().__init__()
        self.normalization = layers.LayerNormalization()
        self.wide, self.narrow = layers.Dense(units * 4, activation="relu"), layers.Dense(units)

    def call(self, x: Any) -> Any:
        return x + self.narrow(self.wide(self.normalization(x)))


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.entry = layers.Dense(256)
        self.blocks = [ResidualDense(256) for _ in range(4)]
        self.head = layers.Dense(10)

    def call(self, x: Any) -> Any:
        x = self.entry(x)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


@architecture(floats(400), whole(10), 64, 1024, needs_x=True)
def subclassed() -> keras.Model:
    return compiled(Subclassed(), weight_decaying, LOGITS(from_logits=True), metrics=["accuracy"])


class Distilled(keras.Model):
    """A custom step: a small model learns from a large one that is not trained."""

    def __init__(self, inputs: Any, outputs: Any, teacher: keras.Model) -> None:
        super().__init__(inputs, outputs)
        self.teacher = teacher
        self.teacher.trainable = False
        self.distance = keras.metrics.Mean(name="distance")

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        wanted = ops.softmax(self.teacher(x, training=False) / 3.0)
        with tf.GradientTape() as tape:
            logits = self(x, training=True)
            loss = ops.mean(keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True))
            loss += ops.mean(keras.losses.kl_divergence(wanted, ops.softmax(logits / 3.0)))
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        self.distance.update_state(loss)
        return {"distance": self.distance.result()}


def image_logits(width: int) -> tuple[Any, Any]:
    x = inputs = keras.Input((40, 40, 3))
    for filters in (width, 2 * width):
        x = layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(x)
    return inputs, layers.Dense(10)(layers.Flatten()(x))


@architecture(floats(40, 40, 3), whole(10), 64)
def distillation() -> keras.Model:
    teacher = keras.Model(*image_logits(64))
    model = Distilled(*image_logits(16), teacher)
    return compiled(model, "adam", LOGITS(from_logits=True))


class Adversaries(keras.Model):
    """Two optimizers and a penalty on the gradient, which is a gradient of a gradient."""

    def __init__(self) -> None:
        super().__init__()
        self.forger = keras.Sequential(
            [
                keras.Input((48,)),
                layers.Dense(8 * 8 * 32, activation="relu"),
                layers.Reshape((8, 8, 32)),
                layers.Conv2DTranspose(32, 4, strides=2, padding="same", activation="relu"),
                layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"),
            ]
        )
        self.critic = keras.Sequential(
            [
                keras.Input((32, 32, 1)),
                layers.Conv2D(32, 3, strides=2, padding="same", activation="softplus"),
                layers.Conv2D(64, 3, strides=2, padding="same", activation="softplus"),
                layers.Flatten(),
                layers.Dense(1),
            ]
        )

    def compile(self, forging: Any, judging: Any) -> None:
        super().compile()
        self.forging, self.judging = forging, judging

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        real, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        noise = tf.random.normal((tf.shape(real)[0], 48))
        with tf.GradientTape() as tape:
            forged = self.forger(noise)
            judged = ops.mean(self.critic(forged)) - ops.mean(self.critic(real)) + 10.0 * self.penalty(real, forged)
        self.judging.apply(tape.gradient(judged, self.critic.trainable_variables), self.critic.trainable_variables)
        with tf.GradientTape() as tape:
            missed = -ops.mean(self.critic(self.forger(noise)))
        self.forging.apply(tape.gradient(missed, self.forger.trainable_variables), self.forger.trainable_variables)
        return {"judged": judged, "missed": missed}

    def penalty(self, real: Any, forged: Any) -> Any:
        import tensorflow as tf

        between = (real + forged) / 2
        with tf.GradientTape() as tape:
            tape.watch(between)
            judged = self.critic(between)
        slope = ops.sqrt(ops.sum(tape.gradient(judged, between) ** 2, axis=(1, 2, 3)) + 1e-8)
        return ops.mean((slope - 1) ** 2)


@architecture(floats(32, 32, 1), None, 64, needs_x=True)
def adversaries() -> keras.Model:
    model = Adversaries()
    model.compile(keras.optimizers.Adam(1e-4), keras.optimizers.RMSprop(1e-4))
    return model


class Sampling(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.seed = keras.random.SeedGenerator(7)

    def call(self, parameters: Any) -> Any:
        mean, spread = parameters
        self.add_loss(-0.5 * ops.mean(1 + spread - mean**2 - ops.exp(spread)))
        return mean + ops.exp(spread / 2) * keras.random.normal(ops.shape(mean), seed=self.seed)


@architecture(floats(784), floats(784), 256, variant("averaging", 1024, optimizer=averaging))
def variational(optimizer: Any = "adam") -> keras.Model:
    x = inputs = keras.Input((784,))
    for units in (768, 384):
        x = layers.Dense(units, activation="relu")(x)
    x = Sampling()([layers.Dense(48)(x), layers.Dense(48)(x)])
    for units in (384, 768):
        x = layers.Dense(units, activation="relu")(x)
    outputs = layers.Dense(784, activation="sigmoid")(x)
    return compiled(keras.Model(inputs, outputs), optimizer, "binary_crossentropy")


class Denoiser(keras.Model):
    """A diffusion model's step: noise of a random strength is added, and has to be told."""

    def train_step(self, data: Any) -> dict[str, Any]:
        import tensorflow as tf

        clean, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        noise = tf.random.normal(tf.shape(clean))
        strength = tf.random.uniform((tf.shape(clean)[0], 1))
        blurred = clean + noise * strength[:, None, None, :]
        with tf.GradientTape() as tape:
            loss = ops.mean((self([blurred, strength], training=True) - noise) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture(floats(48, 48, 3), None, 16, needs_x=True)
def diffusion() -> keras.Model:
    image, strength = keras.Input((48, 48, 3)), keras.Input((1,))
    x = start = layers.Conv2D(32, 3, padding="same")(image)
    x = layers.Conv2D(64, 3, strides=2, padding="same")(x)
    x = layers.GroupNormalization(8)(x + layers.Dense(64, activation="silu")(strength)[:, None, None, :])
    x = layers.Conv2D(64, 3, padding="same", activation="silu")(x)
    x = layers.Conv2DTranspose(32, 3, strides=2, padding="same")(x)
    model = Denoiser([image, strength], layers.Conv2D(3, 3, padding="same")(layers.Add()([x, start])))
    return compiled(model, "adamw", None)


# The models that everyone has


@architecture(floats(224, 224, 3), whole(10), 4)
def resnet50() -> keras.Model:
    return compiled(keras.applications.ResNet50(weights=None, classes=10), "adam", CLASSES)


@architecture(floats(96, 96, 3), whole(10), 16, variant("momentum", 32, optimizer=momentum))
def resnet50_small(optimizer: Any = "adam") -> keras.Model:
    model = keras.applications.ResNet50(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, optimizer, CLASSES)


@architecture(floats(96, 96, 3), whole(10), 16, 48)
def mobilenet_v2() -> keras.Model:
    model = keras.applications.MobileNetV2(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, "rmsprop", CLASSES, metrics=["accuracy"])


@architecture(floats(96, 96, 3), whole(10), 12)
def efficientnet_b0() -> keras.Model:
    model = keras.applications.EfficientNetB0(weights=None, classes=10, input_shape=(96, 96, 3))
    return compiled(model, "adam", CLASSES)


@architecture(floats(64, 64, 3), whole(10), 16)
def densenet121() -> keras.Model:
    model = keras.applications.DenseNet121(weights=None, classes=10, input_shape=(64, 64, 3))
    return compiled(model, momentum, CLASSES)
