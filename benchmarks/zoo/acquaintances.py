"""Models by a seventh stranger, who had not seen the estimate, nor the other cases."""

from __future__ import annotations

import keras
import tensorflow as tf
from keras import layers, ops, regularizers

from benchmarks.registry import architecture, floats, variant, whole

# Plain convolutional networks


@architecture(floats(150, 150, 3), whole(2, 1), 32)
def kennel_or_cattery() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((150, 150, 3)),
            layers.Rescaling(1 / 255),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(128, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.RMSprop(1e-4), loss="binary_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(28, 28, 1), whole(10), 384)
def digits_by_the_tutorial() -> keras.Model:
    model = keras.Sequential()
    model.add(keras.Input((28, 28, 1)))
    model.add(layers.Conv2D(32, (3, 3), activation="relu"))
    model.add(layers.Conv2D(64, (3, 3), activation="relu"))
    model.add(layers.MaxPooling2D((2, 2)))
    model.add(layers.Dropout(0.25))
    model.add(layers.Flatten())
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(10, activation="softmax"))
    model.compile(optimizer="adadelta", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(32, 32, 1), floats(26), variant("xla", 1024))
def letters_lenet_tanh() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((32, 32, 1)),
            layers.Conv2D(8, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(20, 5, activation="tanh"),
            layers.AveragePooling2D(2),
            layers.Conv2D(150, 5, activation="tanh"),
            layers.Flatten(),
            layers.Dense(84, activation="tanh"),
            layers.Dense(26, activation="softmax"),
        ]
    )
    model.compile(keras.optimizers.SGD(0.05), "categorical_crossentropy", metrics=["accuracy"], jit_compile=True)
    return model


@architecture(floats(224, 224, 3), whole(102), 40)
def flowers_alexnet_slim() -> keras.Model:
    inputs = keras.Input((224, 224, 3))
    x = layers.Conv2D(64, 11, strides=4, padding="same", activation="relu")(inputs)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Conv2D(192, 5, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Conv2D(256, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(192, 3, padding="same", activation="relu")(x)
    x = layers.MaxPooling2D(3, strides=2)(x)
    x = layers.Flatten()(x)
    for _ in range(2):
        x = layers.Dense(1536, activation="relu")(x)
        x = layers.Dropout(0.5)(x)
    model = keras.Model(inputs, layers.Dense(102, activation="softmax")(x))
    optimizer = keras.optimizers.SGD(0.01, momentum=0.9, nesterov=True, weight_decay=5e-4)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(64, 64, 3), whole(200), 40)
def tiny_imagenet_vggish() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (48, 96, 192):
        for _ in range(2):
            x = layers.Conv2D(
                filters,
                3,
                padding="same",
                activation="relu",
                kernel_initializer="he_uniform",
                kernel_regularizer=regularizers.l2(1e-4),
            )(x)
        x = layers.MaxPooling2D(2)(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="relu", kernel_regularizer=regularizers.l1_l2(1e-6, 1e-4))(x)
    x = layers.Dropout(0.4)(x)
    model = keras.Model(inputs, layers.Dense(200)(x))
    schedule = keras.optimizers.schedules.ExponentialDecay(1e-3, 2000, 0.9)
    model.compile(
        keras.optimizers.Adam(schedule),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(5)],
    )
    return model


@architecture(floats(32, 32, 3), whole(10), variant("bf16", 128, policy="mixed_bfloat16", activation="swish"))
def cifar_pairs_normalised(activation: str = "elu") -> keras.Model:
    model = keras.Sequential([keras.Input((32, 32, 3))])
    for filters, rate in ((32, 0.2), (64, 0.3), (128, 0.4)):
        for _ in range(2):
            model.add(layers.Conv2D(filters, 3, padding="same", kernel_regularizer=regularizers.L2(1e-4)))
            model.add(layers.Activation(activation))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D())
        model.add(layers.Dropout(rate))
    model.add(layers.Flatten())
    model.add(layers.Dense(10, activation="softmax", dtype="float32"))
    model.compile(keras.optimizers.RMSprop(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(200, 200, 3), {"age": floats(1), "gender": whole(2, 1), "ethnicity": whole(5)}, 48)
def faces_three_answers() -> keras.Model:
    inputs = keras.Input((200, 200, 3))
    x = inputs
    for filters, size in ((24, 7), (48, 5), (96, 3), (192, 3)):
        x = layers.Conv2D(filters, size, strides=1 if filters > 24 else 2, activation="relu")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.GlobalAveragePooling2D()(x)
    age = layers.Dense(1, name="age")(layers.Dense(128, activation="relu")(x))
    gender = layers.Dense(1, activation="sigmoid", name="gender")(layers.Dense(64, activation="relu")(x))
    ethnicity = layers.Dense(5, activation="softmax", name="ethnicity")(layers.Dense(64, activation="relu")(x))
    model = keras.Model(inputs, {"age": age, "gender": gender, "ethnicity": ethnicity})
    model.compile(
        "adam",
        loss={"age": "mae", "gender": "binary_crossentropy", "ethnicity": "sparse_categorical_crossentropy"},
        loss_weights={"age": 0.1, "gender": 1.0, "ethnicity": 1.0},
        metrics={"gender": ["accuracy"], "age": ["mse"]},
    )
    return model


# Images in, images out


def overlap_missed(y_true, y_pred):
    y_true = ops.cast(y_true, y_pred.dtype)
    overlap = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    return 1 - (2 * overlap + 1) / (total + 1)


def overlap_missed_and_crossentropy(y_true, y_pred):
    return overlap_missed(y_true, y_pred) + ops.mean(keras.losses.binary_crossentropy(y_true, y_pred), axis=(1, 2))


@architecture(floats(128, 128, 1), whole(2, 128, 128, 1), 16)
def nuclei_unet_of_four() -> keras.Model:
    def twice(x, filters):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)
        return layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_normal")(x)

    inputs = keras.Input((128, 128, 1))
    x, skips = inputs, []
    for filters in (24, 48, 96, 160):
        x = twice(x, filters)
        skips.append(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Dropout(0.3)(twice(x, 256))
    for filters, skip in zip((160, 96, 48, 24), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = twice(layers.Concatenate()([x, skip]), filters)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam(1e-4))
    model.compile(optimizer, overlap_missed_and_crossentropy, metrics=[keras.metrics.BinaryIoU([1])])
    return model


@architecture(floats(96, 96, 3), floats(96, 96, 3), 32)
def dusty_scans_denoiser() -> keras.Model:
    inputs = keras.Input((96, 96, 3))
    x = layers.GaussianNoise(0.1)(inputs)
    x = layers.Conv2D(32, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Conv2D(64, 3, strides=2, padding="same", activation="relu")(x)
    for filters in (64, 64, 32):
        x = layers.UpSampling2D(2)(x)
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x))
    model.compile(optimizer="adam", loss="mse")
    return model


@architecture(floats(112, 112, 3), whole(12, 112, 112), 24)
def streets_atrous_pyramid() -> keras.Model:
    def block(x, filters, size=3, rate=1, strides=1):
        padding = "same"
        x = layers.Conv2D(filters, size, strides, padding, dilation_rate=rate, use_bias=False)(x)
        return layers.ReLU()(layers.BatchNormalization()(x))

    inputs = keras.Input((112, 112, 3))
    low = block(block(inputs, 32, strides=2), 48)
    x = block(low, 96, strides=2)
    x = block(block(x, 128), 128, rate=2)
    pooled = layers.GlobalAveragePooling2D(keepdims=True)(x)
    pooled = layers.UpSampling2D(28, interpolation="bilinear")(block(pooled, 64, 1))
    x = layers.Concatenate()([pooled, block(x, 64, 1), *(block(x, 64, rate=rate) for rate in (3, 6, 9))])
    x = layers.UpSampling2D(2, interpolation="bilinear")(block(x, 96, 1))
    x = block(layers.Concatenate()([x, block(low, 24, 1)]), 96)
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(12, 1)(x))
    model = keras.Model(inputs, x)
    schedule = keras.optimizers.schedules.PolynomialDecay(0.02, 10_000, power=0.9)
    model.compile(
        keras.optimizers.SGD(schedule, momentum=0.9, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


# Less plain images


@architecture(floats(128, 128, 3), whole(2, 1), 20)
def leaves_small_xception() -> keras.Model:
    inputs = keras.Input((128, 128, 3))
    x = layers.RandomFlip("horizontal")(inputs)
    x = layers.RandomRotation(0.1)(x)
    x = layers.Rescaling(1 / 255)(x)
    x = layers.Conv2D(64, 3, strides=2, padding="same")(x)
    x = previous = layers.Activation("relu")(layers.BatchNormalization()(x))
    for size in (128, 192, 320):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.SeparableConv2D(size, 3, padding="same")(x)
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = previous = layers.add([x, layers.Conv2D(size, 1, strides=2, padding="same")(previous)])
    x = layers.SeparableConv2D(512, 3, padding="same", activation="relu")(x)
    x = layers.Dropout(0.25)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile(
        keras.optimizers.Adam(3e-4, use_ema=True, ema_momentum=0.99),
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy(name="acc")],
    )
    return model


@architecture(floats(224, 224, 3), whole(37), 32)
def breeds_on_frozen_mobilenet() -> keras.Model:
    augmentation = keras.Sequential([layers.RandomFlip("horizontal"), layers.RandomZoom(0.2)])
    base = keras.applications.MobileNetV3Small((224, 224, 3), include_top=False, weights=None, pooling="avg")
    base.trainable = False
    inputs = keras.Input((224, 224, 3))
    x = base(augmentation(inputs), training=False)
    x = layers.Dropout(0.2)(x)
    model = keras.Model(inputs, layers.Dense(37, activation="softmax")(x))
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(96, 96, 3), floats(1), 24)
def ripeness_resnet_last_stage() -> keras.Model:
    base = keras.applications.ResNet50V2(include_top=False, weights=None, input_shape=(96, 96, 3), pooling="avg")
    for layer in base.layers:
        layer.trainable = layer.name.startswith(("conv5", "post"))
    x = layers.Dropout(0.3)(base.output)
    model = keras.Model(base.input, layers.Dense(1)(x))
    schedule = keras.optimizers.schedules.CosineDecay(1e-5, 5000, warmup_target=1e-3, warmup_steps=500)
    model.compile(keras.optimizers.AdamW(schedule, weight_decay=1e-4), keras.losses.Huber(), metrics=["mae"])
    return model


@architecture(floats(24, 72, 72, 1), whole(2, 1), 14)
def lungs_volumetric() -> keras.Model:
    inputs = keras.Input((24, 72, 72, 1))
    x = inputs
    for filters in (24, 32, 64):
        x = layers.Conv3D(filters, 3, padding="same", activation="relu")(x)
        x = layers.MaxPool3D((2, 2, 2))(x)
        x = layers.BatchNormalization()(x)
    x = layers.GlobalAveragePooling3D()(x)
    x = layers.Dropout(0.3)(layers.Dense(256, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    schedule = keras.optimizers.schedules.ExponentialDecay(1e-4, 100_000, 0.96, staircase=True)
    model.compile(keras.optimizers.Adam(schedule), "binary_crossentropy", metrics=["acc", keras.metrics.AUC()])
    return model


@architecture(floats(8, 40, 40, 1), floats(8, 40, 40, 1), 6)
def rain_radar_nowcast() -> keras.Model:
    inputs = keras.Input((8, 40, 40, 1))
    x = layers.ConvLSTM2D(24, 5, padding="same", return_sequences=True)(inputs)
    x = layers.BatchNormalization()(x)
    x = layers.ConvLSTM2D(24, 3, padding="same", return_sequences=True)(x)
    model = keras.Model(inputs, layers.Conv3D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile(keras.optimizers.Nadam(1e-3), loss="binary_crossentropy")
    return model


class PatchEmbedding(layers.Layer):
    def __init__(self, patch, width, **kwargs):
        super().__init__(**kwargs)
        self.project = layers.Conv2D(width, patch, strides=patch)
        self.width = width

    def build(self, shape):
        self.project.build(shape)
        _, high, wide, _ = self.project.compute_output_shape(shape)
        self.position = self.add_weight(shape=(1, high * wide + 1, self.width), initializer="random_normal")
        self.token = self.add_weight(shape=(1, 1, self.width), initializer="zeros")

    def call(self, images):
        patches = self.project(images)
        patches = ops.reshape(patches, (-1, self.position.shape[1] - 1, self.width))
        token = ops.broadcast_to(self.token, (ops.shape(patches)[0], 1, self.width))
        return ops.concatenate([token, patches], axis=1) + self.position


@architecture(floats(80, 80, 3), whole(100), 32)
def patches_vit_lamb() -> keras.Model:
    inputs = keras.Input((80, 80, 3))
    x = PatchEmbedding(8, 128)(inputs)
    for _ in range(5):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 32, dropout=0.1)(y, y)])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        y = layers.Dense(128)(layers.Dropout(0.1)(layers.Dense(384, activation="gelu")(y)))
        x = layers.Add()([x, y])
    x = layers.LayerNormalization(epsilon=1e-6)(x[:, 0])
    model = keras.Model(inputs, layers.Dense(100)(x))
    model.compile(
        keras.optimizers.Lamb(2e-3, weight_decay=0.02),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


@architecture(floats(64, 64, 3), whole(20), 64)
def mixer_with_muon() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(192, 8, strides=8)(inputs)
    x = layers.Reshape((64, 192))(x)
    for _ in range(6):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(64)(layers.Dense(128, activation="gelu")(y))
        x = x + layers.Permute((2, 1))(y)
        y = layers.Dense(512, activation="gelu")(layers.LayerNormalization()(x))
        x = x + layers.Dense(192)(y)
    x = layers.GlobalAveragePooling1D()(layers.LayerNormalization()(x))
    model = keras.Model(inputs, layers.Dense(20, activation="softmax", name="head")(x))
    optimizer = keras.optimizers.Muon(0.01, exclude_layers=["head"])
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


# Text and sequences


@architecture(whole(25_000, 160), whole(2, 1), 64, needs_x=True)
def reviews_both_ways() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.Embedding(25_000, 128, mask_zero=True),
            layers.Bidirectional(layers.LSTM(64, return_sequences=True)),
            layers.Bidirectional(layers.LSTM(48)),
            layers.Dropout(0.5),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(120, 14), floats(1), 256)
def weather_stacked_gru() -> keras.Model:
    inputs = keras.Input((120, 14))
    x = layers.Normalization(mean=[0.5] * 14, variance=[1 / 12] * 14)(inputs)
    x = layers.GRU(64, return_sequences=True, recurrent_dropout=0.2)(x)
    x = layers.GRU(64)(x)
    x = layers.Dropout(0.5)(x)
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile("rmsprop", "mse", metrics=["mae"], steps_per_execution=4)
    return model


@architecture(floats(2500, 2), whole(5), 128)
def heartbeats_conv1d() -> keras.Model:
    x = inputs = keras.Input((2500, 2))
    for filters, size in ((32, 15), (64, 9), (64, 5), (128, 3)):
        x = layers.Conv1D(filters, size, padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.LeakyReLU(negative_slope=0.1)(x)
        x = layers.MaxPooling1D(3)(x)
    x = layers.GlobalMaxPooling1D()(x)
    x = layers.Dense(64, activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
    model.compile(keras.optimizers.Nadam(5e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class WordAndPlace(layers.Layer):
    def __init__(self, vocabulary, length, width, **kwargs):
        super().__init__(**kwargs)
        self.words = layers.Embedding(vocabulary, width)
        self.places = layers.Embedding(length, width)

    def call(self, tokens):
        return self.words(tokens) + self.places(ops.arange(ops.shape(tokens)[-1]))


@architecture(whole(20_000, 200), whole(4), 40)
def headlines_one_encoder() -> keras.Model:
    inputs = keras.Input((200,), dtype="int32")
    x = WordAndPlace(20_000, 200, 64)(inputs)
    attended = layers.Dropout(0.1)(layers.MultiHeadAttention(4, 64)(x, x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + attended)
    y = layers.Dense(64)(layers.Dense(128, activation="relu")(x))
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.1)(y))
    x = layers.GlobalAveragePooling1D()(x)
    x = layers.Dropout(0.1)(layers.Dense(20, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(4, activation="softmax")(x))
    optimizer = keras.optimizers.AdamW(1e-3, global_clipnorm=1.0, gradient_accumulation_steps=4)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class CausalBlock(layers.Layer):
    def __init__(self, width, heads, **kwargs):
        super().__init__(**kwargs)
        self.attention = layers.MultiHeadAttention(heads, width // heads)
        self.feed = keras.Sequential([layers.Dense(4 * width, activation="gelu"), layers.Dense(width)])
        self.norms = [layers.LayerNormalization(), layers.LayerNormalization()]
        self.dropout = layers.Dropout(0.1)

    def call(self, x, training=False):
        y = self.norms[0](x)
        x = x + self.dropout(self.attention(y, y, use_causal_mask=True), training=training)
        return x + self.dropout(self.feed(self.norms[1](x)), training=training)


@architecture(
    whole(9000, 96),
    whole(9000, 96),
    20,
)
def limericks_tiny_gpt() -> keras.Model:
    inputs = keras.Input((96,), dtype="int32")
    x = WordAndPlace(9000, 96, 192)(inputs)
    for _ in range(3):
        x = CausalBlock(192, 6)(x)
    model = keras.Model(inputs, layers.Dense(9000, dtype="float32")(layers.LayerNormalization()(x)))
    model.compile(keras.optimizers.Adafactor(1e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return model


# Tables and recommendations


@architecture(floats(10_000), whole(46), 512)
def newswire_multi_hot() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((10_000,)),
            layers.Dense(1200, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(600, activation="relu"),
            layers.Dense(46, activation="softmax"),
        ]
    )
    model.compile("adamax", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture([whole(160_000), whole(40_000)], floats(1), 2048)
def films_dot_product() -> keras.Model:
    user, film = keras.Input((), dtype="int32"), keras.Input((), dtype="int32")
    vectors = [
        layers.Embedding(count, 48, embeddings_initializer="he_normal", embeddings_regularizer=regularizers.l2(1e-6))
        for count in (160_000, 40_000)
    ]
    biases = [layers.Embedding(count, 1) for count in (160_000, 40_000)]
    score = layers.Dot(axes=1)([vectors[0](user), vectors[1](film)])
    score = layers.Activation("sigmoid")(layers.Add()([score, biases[0](user), biases[1](film)]))
    model = keras.Model([user, film], score)
    model.compile(keras.optimizers.Adagrad(0.05), "mse", metrics=[keras.metrics.RootMeanSquaredError()])
    return model


@architecture(
    {"site": whole(120_000, 1), "app": whole(30_000, 1), "device": whole(2_000, 1), "numbers": floats(13)},
    {"click": whole(2, 1), "spend": floats(1)},
    1024,
)
def clicks_wide_beside_deep() -> keras.Model:
    sizes = {"site": 120_000, "app": 30_000, "device": 2_000}
    inputs = {name: keras.Input((1,), dtype="int32", name=name) for name in sizes}
    inputs["numbers"] = keras.Input((13,), name="numbers")
    wide = layers.Add()([layers.Flatten()(layers.Embedding(sizes[name], 1)(inputs[name])) for name in sizes])
    deep = [layers.Flatten()(layers.Embedding(sizes[name], 32)(inputs[name])) for name in sizes]
    deep = layers.Concatenate()([*deep, layers.BatchNormalization()(inputs["numbers"])])
    for units in (512, 256, 128):
        deep = layers.Dropout(0.2)(layers.Dense(units, activation="relu")(deep))
    click = layers.Add()([wide, layers.Dense(1)(deep)])
    click = layers.Activation("sigmoid", name="click")(click)
    spend = layers.Dense(1, activation="softplus", name="spend")(deep)
    model = keras.Model(inputs, {"click": click, "spend": spend})
    model.compile(
        keras.optimizers.Ftrl(0.02, l1_regularization_strength=1e-4),
        loss={"click": "binary_crossentropy", "spend": "mean_absolute_error"},
        metrics={"click": ["AUC"]},
    )
    return model


class DenseGraphAttention(layers.Layer):
    def __init__(self, units, heads, **kwargs):
        super().__init__(**kwargs)
        self.transform = layers.Dense(units * heads, use_bias=False)
        self.senders, self.receivers = layers.Dense(1), layers.Dense(1)
        self.units, self.heads = units, heads

    def call(self, nodes, adjacency):
        count = nodes.shape[1]
        h = ops.reshape(self.transform(nodes), (-1, count, self.heads, self.units))
        h = ops.transpose(h, (0, 2, 1, 3))
        scores = self.senders(h) + ops.transpose(self.receivers(h), (0, 1, 3, 2))
        scores = ops.leaky_relu(scores, 0.2) - 1e9 * ops.cast(adjacency < 0.8, "float32")[:, None]
        h = ops.matmul(ops.softmax(scores), h)
        return ops.reshape(ops.transpose(h, (0, 2, 1, 3)), (-1, count, self.heads * self.units))


@architecture({"atoms": floats(90, 30), "bonds": floats(90, 90)}, floats(12), 96)
def molecules_dense_gat() -> keras.Model:
    atoms, bonds = keras.Input((90, 30), name="atoms"), keras.Input((90, 90), name="bonds")
    x = layers.Dense(128, activation="relu")(atoms)
    for _ in range(3):
        x = layers.LayerNormalization()(x + layers.Activation("elu")(DenseGraphAttention(32, 4)(x, bonds)))
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    x = layers.Dense(12)(layers.Dense(128, activation="relu")(x))
    model = keras.Model({"atoms": atoms, "bonds": bonds}, x)
    model.compile(keras.optimizers.Lion(1e-4, weight_decay=1e-2), "log_cosh", metrics=["mae"])
    return model


# Shared layers, and steps of their own


def near_or_a_margin_apart(y_true, y_pred):
    y_true = ops.cast(y_true, y_pred.dtype)
    return ops.mean((1 - y_true) * ops.square(y_pred) + y_true * ops.square(ops.maximum(1.0 - y_pred, 0)), axis=-1)


class EuclideanDistance(layers.Layer):
    def call(self, left, right):
        return ops.sqrt(ops.maximum(ops.sum(ops.square(left - right), axis=1, keepdims=True), 1e-7))


@architecture([floats(105, 105, 1), floats(105, 105, 1)], whole(2, 1), 24)
def signatures_twin_towers() -> keras.Model:
    tower = keras.Sequential(
        [
            keras.Input((105, 105, 1)),
            layers.Conv2D(48, 7, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 5, activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(96, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(256, activation="sigmoid"),
        ]
    )
    left, right = keras.Input((105, 105, 1)), keras.Input((105, 105, 1))
    model = keras.Model([left, right], EuclideanDistance()(tower(left), tower(right)))
    model.compile(keras.optimizers.RMSprop(1e-4, momentum=0.9), near_or_a_margin_apart)
    return model


class SamplingWithDivergence(layers.Layer):
    def __init__(self, weight, **kwargs):
        super().__init__(**kwargs)
        self.weight = weight
        self.seeds = keras.random.SeedGenerator(7)

    def call(self, mean, log_variance):
        divergence = ops.sum(1 + log_variance - ops.square(mean) - ops.exp(log_variance), axis=1)
        self.add_loss(-0.5 * self.weight * ops.mean(divergence))
        return mean + ops.exp(0.5 * log_variance) * keras.random.normal(ops.shape(mean), seed=self.seeds)


@architecture(floats(64, 64, 3), floats(64, 64, 3), 64)
def portraits_beta_vae() -> keras.Model:
    x = inputs = keras.Input((64, 64, 3))
    for filters in (32, 64, 128):
        x = layers.Conv2D(filters, 4, strides=2, padding="same", activation="relu")(x)
    x = layers.Dense(256, activation="relu")(layers.Flatten()(x))
    x = SamplingWithDivergence(4e-4)(layers.Dense(64)(x), layers.Dense(64)(x))
    x = layers.Reshape((8, 8, 128))(layers.Dense(8 * 8 * 128, activation="relu")(x))
    for filters in (128, 64, 32):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(3, 3, padding="same", activation="sigmoid")(x))
    model.compile(keras.optimizers.Adam(5e-4), "binary_crossentropy")
    return model


class PenalisedGAN(keras.Model):
    def __init__(self, critic, generator, latent, rounds=2, weight=10.0):
        super().__init__()
        self.critic, self.generator = critic, generator
        self.latent, self.rounds, self.weight = latent, rounds, weight

    def compile(self, critic_optimizer, generator_optimizer):
        super().compile()
        self.critic_optimizer, self.generator_optimizer = critic_optimizer, generator_optimizer

    def penalty(self, real, fake):
        share = tf.random.uniform((tf.shape(real)[0], 1, 1, 1))
        between = real + share * (fake - real)
        with tf.GradientTape() as tape:
            tape.watch(between)
            judged = self.critic(between, training=True)
        slopes = tape.gradient(judged, between)
        return tf.reduce_mean((tf.sqrt(tf.reduce_sum(tf.square(slopes), axis=[1, 2, 3]) + 1e-12) - 1.0) ** 2)

    def train_step(self, data):
        real, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        count = tf.shape(real)[0]
        for _ in range(self.rounds):
            noise = tf.random.normal((count, self.latent))
            with tf.GradientTape() as tape:
                fake = self.generator(noise, training=True)
                gap = tf.reduce_mean(self.critic(fake, training=True)) - tf.reduce_mean(
                    self.critic(real, training=True)
                )
                critic_loss = gap + self.weight * self.penalty(real, fake)
            gradients = tape.gradient(critic_loss, self.critic.trainable_variables)
            self.critic_optimizer.apply_gradients(zip(gradients, self.critic.trainable_variables, strict=True))
        noise = tf.random.normal((count, self.latent))
        with tf.GradientTape() as tape:
            loss = -tf.reduce_mean(self.critic(self.generator(noise, training=True), training=True))
        gradients = tape.gradient(loss, self.generator.trainable_variables)
        self.generator_optimizer.apply_gradients(zip(gradients, self.generator.trainable_variables, strict=True))
        return {"critic_loss": critic_loss, "generator_loss": loss}


@architecture(floats(28, 28, 1), None, 96, needs_x=True)
def garments_wasserstein() -> keras.Model:
    critic = keras.Sequential([keras.Input((28, 28, 1)), layers.ZeroPadding2D(2)])
    for filters in (32, 64, 128):
        critic.add(layers.Conv2D(filters, 5, strides=2, padding="same"))
        critic.add(layers.LeakyReLU(negative_slope=0.2))
    critic.add(layers.Flatten())
    critic.add(layers.Dropout(0.2))
    critic.add(layers.Dense(1))
    generator = keras.Sequential([keras.Input((128,)), layers.Dense(4 * 4 * 192, use_bias=False)])
    generator.add(layers.BatchNormalization())
    generator.add(layers.LeakyReLU(negative_slope=0.2))
    generator.add(layers.Reshape((4, 4, 192)))
    for filters in (128, 64):
        generator.add(layers.UpSampling2D())
        generator.add(layers.Conv2D(filters, 3, padding="same", use_bias=False))
        generator.add(layers.BatchNormalization())
        generator.add(layers.LeakyReLU(negative_slope=0.2))
    generator.add(layers.Conv2DTranspose(1, 4, strides=2, padding="same", activation="tanh"))
    generator.add(layers.Cropping2D(2))
    model = PenalisedGAN(critic, generator, latent=128)
    model.compile(keras.optimizers.Adam(2e-4, beta_1=0.5), keras.optimizers.Adam(2e-4, beta_1=0.5))
    return model


class TwoViews(keras.Model):
    """Contrastive learning: two augmented views of one image are to lie near each other."""

    def __init__(self, augment, encoder, projector, temperature=0.1):
        super().__init__()
        self.augment, self.encoder, self.projector = augment, encoder, projector
        self.temperature = temperature
        self.tracker = keras.metrics.Mean(name="loss")

    @property
    def metrics(self):
        return [self.tracker]

    def call(self, images):
        return self.encoder(images)

    def train_step(self, data):
        images, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            first, second = (
                ops.normalize(self.projector(self.encoder(self.augment(images, training=True), training=True)))
                for _ in range(2)
            )
            similar = ops.matmul(first, ops.transpose(second)) / self.temperature
            labels = ops.arange(ops.shape(images)[0])
            losses = [
                keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)
                for logits in (similar, ops.transpose(similar))
            ]
            loss = ops.mean(losses[0] + losses[1]) / 2
        weights = self.encoder.trainable_weights + self.projector.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.tracker.update_state(loss)
        return {"loss": self.tracker.result()}


@architecture(floats(72, 72, 3), None, 48, needs_x=True)
def unlabelled_two_views() -> keras.Model:
    augment = keras.Sequential(
        [
            keras.Input((72, 72, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomTranslation(0.15, 0.15),
            layers.RandomContrast(0.4),
        ]
    )
    encoder = keras.Sequential([keras.Input((72, 72, 3))])
    for filters in (48, 96, 128, 128):
        encoder.add(layers.Conv2D(filters, 3, strides=2, activation="relu"))
        encoder.add(layers.BatchNormalization())
    encoder.add(layers.Flatten())
    encoder.add(layers.Dense(128, activation="relu"))
    projector = keras.Sequential([keras.Input((128,)), layers.Dense(128, activation="relu"), layers.Dense(64)])
    model = TwoViews(augment, encoder, projector)
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    return model


class Apprentice(keras.Model):
    def __init__(self, student, teacher, temperature=4.0, share=0.3):
        super().__init__()
        self.student, self.teacher = student, teacher
        self.teacher.trainable = False
        self.temperature, self.share = temperature, share

    def call(self, x, training=False):
        return self.student(x, training=training)

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        hard = super().compute_loss(x, y, y_pred, sample_weight, training)
        taught = ops.softmax(self.teacher(x, training=False) / self.temperature)
        soft = keras.losses.kl_divergence(taught, ops.softmax(y_pred / self.temperature))
        return self.share * hard + (1 - self.share) * self.temperature**2 * ops.mean(soft)


@architecture(floats(48, 48, 3), whole(43), 64, needs_x=True)
def signs_taught_by_a_bigger() -> keras.Model:
    def network(widths):
        model = keras.Sequential([keras.Input((48, 48, 3))])
        for filters in widths:
            model.add(layers.Conv2D(filters, 3, padding="same", activation="relu"))
            model.add(layers.MaxPooling2D())
        model.add(layers.Flatten())
        model.add(layers.Dense(43))
        return model

    model = Apprentice(network((32, 48, 64)), network((96, 192, 256)))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.02, momentum=0.9), loss, metrics=["accuracy"])
    return model


class RodCooling(keras.Model):
    """Fits u(x, t) to its measured values and to u_t = 0.1 u_xx."""

    def train_step(self, data):
        points, measured, _ = keras.utils.unpack_x_y_sample_weight(data)
        place, time = points[:, :1], points[:, 1:]
        with tf.GradientTape() as outer:
            with tf.GradientTape() as second:
                second.watch(place)
                with tf.GradientTape(persistent=True) as first:
                    first.watch([place, time])
                    u = self(tf.concat([place, time], axis=1), training=True)
                u_x = first.gradient(u, place)
                u_t = first.gradient(u, time)
            u_xx = second.gradient(u_x, place)
            loss = tf.reduce_mean(tf.square(u - measured)) + tf.reduce_mean(tf.square(u_t - 0.1 * u_xx))
        gradients = outer.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


@architecture(floats(2, dtype="float64"), floats(1, dtype="float64"), variant("float64", 9000, policy="float64"))
def heated_rod_in_doubles() -> keras.Model:
    x = inputs = keras.Input((2,))
    for _ in range(4):
        x = layers.Dense(96, activation="tanh", kernel_initializer="glorot_normal")(x)
    model = RodCooling(inputs, layers.Dense(1)(x))
    model.compile(optimizer=keras.optimizers.Adam(1e-3))
    return model
