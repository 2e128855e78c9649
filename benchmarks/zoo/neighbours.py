"""Models by a sixth stranger, who had not seen the estimate, nor the other cases."""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf
from keras import applications, layers, losses, metrics, ops, optimizers, random, regularizers

from benchmarks.registry import architecture, floats, variant, whole

# Plain convolutional networks


@architecture(floats(28, 28, 1), floats(10), 512, variant("ten_steps", 512, steps=10))
def mnist_onehot_convnet(steps: int = 1) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Conv2D(64, kernel_size=(3, 3), activation="relu"),
            layers.MaxPooling2D(pool_size=(2, 2)),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy"], steps_per_execution=steps)
    return model


@architecture(floats(150, 150, 3), whole(2), 32)
def dogs_vs_cats_from_scratch() -> keras.Model:
    model = keras.Sequential([keras.Input((150, 150, 3))])
    for filters in (32, 64, 128, 128):
        model.add(layers.Conv2D(filters, (3, 3), activation="relu"))
        model.add(layers.MaxPooling2D((2, 2)))
    model.add(layers.Flatten())
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.Dense(1, activation="sigmoid"))
    model.compile(optimizers.RMSprop(learning_rate=1e-4), "binary_crossentropy", metrics=["acc"])
    return model


@architecture(floats(32, 32, 3), whole(10), 128)
def cifar10_elu_batchnorm() -> keras.Model:
    decay = regularizers.l2(1e-4)
    model = keras.Sequential([keras.Input((32, 32, 3))])
    for filters, rate in ((32, 0.2), (64, 0.3), (128, 0.4)):
        for _ in range(2):
            model.add(layers.Conv2D(filters, (3, 3), padding="same", kernel_regularizer=decay))
            model.add(layers.Activation("elu"))
            model.add(layers.BatchNormalization())
        model.add(layers.MaxPooling2D(pool_size=(2, 2)))
        model.add(layers.Dropout(rate))
    model.add(layers.Flatten())
    model.add(layers.Dense(10, activation="softmax"))
    model.compile(optimizers.RMSprop(0.001, weight_decay=1e-6), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(48, 48, 1), floats(7), 48)
def fer_emotion_net() -> keras.Model:
    model = keras.Sequential([keras.Input((48, 48, 1))])
    for filters, size in ((64, 3), (128, 5), (512, 3), (512, 3)):
        model.add(layers.Conv2D(filters, size, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.Activation("relu"))
        model.add(layers.MaxPooling2D(2))
        model.add(layers.Dropout(0.25))
    model.add(layers.Flatten())
    for units in (256, 512):
        model.add(layers.Dense(units))
        model.add(layers.BatchNormalization())
        model.add(layers.Activation("relu"))
        model.add(layers.Dropout(0.25))
    model.add(layers.Dense(7, activation="softmax"))
    loss = losses.CategoricalCrossentropy(label_smoothing=0.1)
    model.compile(optimizers.Adam(5e-4, clipvalue=0.5), loss, metrics=["accuracy", metrics.F1Score(average="macro")])
    return model


@architecture(floats(30, 30, 3), whole(43), 512)
def gtsrb_signs() -> keras.Model:
    model = keras.models.Sequential(
        [
            layers.Input((30, 30, 3)),
            layers.Conv2D(16, (3, 3), activation="relu"),
            layers.Conv2D(32, (3, 3), activation="relu"),
            layers.MaxPool2D((2, 2)),
            layers.BatchNormalization(axis=-1),
            layers.Conv2D(64, (3, 3), activation="relu"),
            layers.Conv2D(128, (3, 3), activation="relu"),
            layers.MaxPool2D((2, 2)),
            layers.BatchNormalization(axis=-1),
            layers.Flatten(),
            layers.Dense(512, activation="relu"),
            layers.BatchNormalization(),
            layers.Dropout(0.5),
            layers.Dense(43, activation="softmax"),
        ]
    )
    model.compile(optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(224, 224, 1), floats(1), 24)
def xray_gray_pneumonia() -> keras.Model:
    inputs = x = keras.Input((224, 224, 1))
    for filters in (16, 32, 64, 128):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu", kernel_initializer="he_uniform")(x)
        x = layers.AveragePooling2D(2)(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(64, activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(1)(x))
    loss = losses.BinaryCrossentropy(from_logits=True)
    found = [metrics.Precision(name="precision"), metrics.Recall(name="recall"), metrics.AUC(from_logits=True)]
    model.compile(optimizers.SGD(0.01, momentum=0.9), loss, metrics=found)
    return model


@architecture(floats(124, 129, 1), whole(8), 256)
def speech_command_spectrogram() -> keras.Model:
    model = keras.Sequential(
        [
            layers.Input((124, 129, 1)),
            layers.Resizing(32, 32),
            layers.Normalization(axis=None, mean=0.5, variance=0.08),
            layers.Conv2D(32, 3, activation="relu"),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.25),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dropout(0.5),
            layers.Dense(8),
        ]
    )
    model.compile(optimizers.Adam(), losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


@architecture(floats(227, 227, 3), whole(100), 12)
def halved_alexnet() -> keras.Model:
    model = keras.Sequential(name="alexnet")
    model.add(keras.Input((227, 227, 3)))
    model.add(layers.Conv2D(96, 11, strides=4, activation="relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.MaxPooling2D(3, strides=2))
    model.add(layers.Conv2D(256, 5, padding="same", activation="relu"))
    model.add(layers.BatchNormalization())
    model.add(layers.MaxPooling2D(3, strides=2))
    model.add(layers.Conv2D(384, 3, padding="same", activation="relu"))
    model.add(layers.Conv2D(384, 3, padding="same", activation="relu"))
    model.add(layers.Conv2D(256, 3, padding="same", activation="relu"))
    model.add(layers.MaxPooling2D(3, strides=2))
    model.add(layers.Flatten())
    for _ in range(2):
        model.add(layers.Dense(2048, activation="relu"))
        model.add(layers.Dropout(0.5))
    model.add(layers.Dense(100, activation="softmax"))
    model.compile(optimizers.SGD(0.01, momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


# Other networks for pictures, volumes and sound


def resnet_layer(x: Any, filters: int, kernel: int = 3, strides: int = 1, activation: str | None = "relu") -> Any:
    x = layers.Conv2D(
        filters,
        kernel,
        strides=strides,
        padding="same",
        kernel_initializer="he_normal",
        kernel_regularizer=regularizers.L2(1e-4),
    )(x)
    x = layers.BatchNormalization()(x)
    return layers.Activation(activation)(x) if activation else x


@architecture(floats(32, 32, 3), whole(100), 96)
def resnet20_cifar100() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = resnet_layer(layers.RandomCrop(32, 32)(layers.ZeroPadding2D(4)(inputs)), 16)
    for stack, filters in enumerate((16, 32, 64)):
        for block in range(3):
            strides = 2 if stack > 0 and block == 0 else 1
            y = resnet_layer(resnet_layer(x, filters, strides=strides), filters, activation=None)
            if strides == 2:
                x = layers.Conv2D(filters, 1, strides=2, padding="same", kernel_initializer="he_normal")(x)
            x = layers.Activation("relu")(layers.add([x, y]))
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    model = keras.Model(inputs, layers.Dense(100, activation="softmax", kernel_initializer="he_normal")(x))
    schedule = optimizers.schedules.CosineDecay(0.0, 50_000, warmup_target=0.1, warmup_steps=1_000)
    top = metrics.SparseTopKCategoricalAccuracy(k=5, name="top5")
    optimizer = optimizers.SGD(schedule, momentum=0.9, nesterov=True)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy", top])
    return model


@architecture(floats(49, 10, 1), whole(12), 256)
def keyword_depthwise_net() -> keras.Model:
    inputs = keras.Input((49, 10, 1))
    x = layers.Conv2D(64, (10, 4), strides=(2, 2), padding="same", use_bias=False)(inputs)
    x = layers.Dropout(0.2)(layers.ReLU()(layers.BatchNormalization()(x)))
    for _ in range(4):
        x = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Conv2D(64, 1, use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.SeparableConv2D(128, 3, padding="same", activation="swish")(x)
    x = layers.Dropout(0.4)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(12, activation="softmax")(x))
    model.compile(optimizers.Nadam(5e-4), "sparse_categorical_crossentropy", metrics=["sparse_categorical_accuracy"])
    return model


def dice_and_crossentropy(y_true: Any, y_pred: Any) -> Any:
    y_true = ops.cast(y_true, y_pred.dtype)
    both = ops.sum(y_true * y_pred, axis=(1, 2, 3))
    total = ops.sum(y_true, axis=(1, 2, 3)) + ops.sum(y_pred, axis=(1, 2, 3))
    dice = 1.0 - (2.0 * both + 1.0) / (total + 1.0)
    return dice + ops.mean(ops.binary_crossentropy(y_true, y_pred), axis=(1, 2, 3))


def unet_double_conv(x: Any, filters: int) -> Any:
    for _ in range(2):
        x = layers.Conv2D(filters, 3, padding="same", kernel_initializer="he_normal")(x)
        x = layers.Activation("relu")(layers.BatchNormalization()(x))
    return x


@architecture(floats(96, 96, 3), whole(2, 96, 96, 1), 8)
def salt_dice_unet() -> keras.Model:
    inputs = x = keras.Input((96, 96, 3))
    skips = []
    for filters in (32, 64, 128):
        skips.append(unet_double_conv(x, filters))
        x = layers.Dropout(0.1)(layers.MaxPooling2D(2)(skips[-1]))
    x = unet_double_conv(x, 256)
    for filters, skip in zip((128, 64, 32), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same")(x)
        x = layers.Dropout(0.1)(layers.concatenate([x, skip]))
        x = unet_double_conv(x, filters)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    overlap = metrics.BinaryIoU(target_class_ids=[1], threshold=0.5)
    model.compile(optimizers.Adam(1e-4), dice_and_crossentropy, metrics=["accuracy", overlap])
    return model


@architecture(floats(48, 48, 32, 1), whole(2), 8)
def ct_volume_classifier() -> keras.Model:
    inputs = x = keras.Input((48, 48, 32, 1))
    for filters in (32, 64, 128):
        x = layers.Conv3D(filters=filters, kernel_size=3, activation="relu")(x)
        x = layers.MaxPool3D(pool_size=2)(x)
        x = layers.BatchNormalization()(x)
    x = layers.GlobalAveragePooling3D()(x)
    x = layers.Dropout(0.3)(layers.Dense(units=512, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(units=1, activation="sigmoid")(x), name="3dcnn")
    schedule = optimizers.schedules.ExponentialDecay(1e-4, decay_steps=100_000, decay_rate=0.96, staircase=True)
    model.compile(loss="binary_crossentropy", optimizer=optimizers.Adam(schedule), metrics=["acc"])
    return model


@architecture(
    floats(112, 112, 3),
    {"age": floats(1), "gender": whole(2, 1), "race": whole(5)},
    28,
    variant("clipped", 28, clip=1.0),
)
def utk_face_heads(clip: float | None = None) -> keras.Model:
    inputs = x = keras.Input((112, 112, 3))
    for filters in (16, 32, 64, 96):
        x = layers.Conv2D(filters, (3, 3), padding="same", activation="relu")(x)
        x = layers.BatchNormalization(axis=-1)(x)
        x = layers.MaxPooling2D(pool_size=(3, 3), strides=2)(x)
        x = layers.SpatialDropout2D(0.15)(x)
    x = layers.Flatten()(x)

    def head(name: str, units: int, activation: str) -> Any:
        hidden = layers.BatchNormalization()(layers.Dense(128, activation="relu")(x))
        return layers.Dense(units, activation=activation, name=name)(layers.Dropout(0.4)(hidden))

    outputs = {
        "age": head("age", 1, "linear"),
        "gender": head("gender", 1, "sigmoid"),
        "race": head("race", 5, "softmax"),
    }
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.Adam(4e-4, clipnorm=clip),
        loss={"age": "mse", "gender": "binary_crossentropy", "race": "sparse_categorical_crossentropy"},
        loss_weights={"age": 4.0, "gender": 0.1, "race": 1.5},
        metrics={"age": ["mae"], "gender": ["accuracy"], "race": ["accuracy"]},
    )
    return model


@architecture(floats(96, 96, 3), whole(38), 56)
def plant_mobilenet_v3_ema() -> keras.Model:
    base = applications.MobileNetV3Small(include_top=False, weights=None, input_shape=(96, 96, 3), pooling="avg")
    model = keras.Sequential([base, layers.Dropout(0.2), layers.Dense(38, activation="softmax")])
    optimizer = optimizers.Adam(1e-3, use_ema=True, ema_momentum=0.995)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(64, 64, 3), whole(6), 24)
def vgg16_last_block_tuned() -> keras.Model:
    base = applications.VGG16(weights=None, include_top=False, input_shape=(64, 64, 3))
    for layer in base.layers:
        layer.trainable = layer.name.startswith("block5")
    x = layers.Flatten()(base.output)
    x = layers.Dropout(0.5)(layers.Dense(1024, activation="relu")(x))
    model = keras.Model(base.input, layers.Dense(6, activation="softmax")(x))
    model.compile(optimizers.Adamax(1e-4), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(200, 50, 1), whole(20, 5), 40)
def captcha_ctc_reader() -> keras.Model:
    inputs = x = keras.Input((200, 50, 1), name="image")
    for filters in (32, 64):
        x = layers.Conv2D(filters, 3, activation="relu", kernel_initializer="he_normal", padding="same")(x)
        x = layers.MaxPooling2D((2, 2))(x)
    x = layers.Reshape((50, 12 * 64))(x)
    x = layers.Dropout(0.2)(layers.Dense(64, activation="relu")(x))
    x = layers.Bidirectional(layers.LSTM(128, return_sequences=True, dropout=0.25))(x)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.25))(x)
    model = keras.Model(inputs, layers.Dense(21)(x), name="ocr_model_v1")
    model.compile(optimizers.Adam(), losses.CTC())
    return model


# Text and series


@architecture(whole(20_000, 140), whole(2), 64, needs_x=True)
def imdb_bidirectional_lstm() -> keras.Model:
    inputs = keras.Input(shape=(None,), dtype="int32")
    x = layers.Embedding(20_000, 128)(inputs)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(64))(x)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(168, 12), floats(24), 128)
def hourly_load_gru() -> keras.Model:
    model = keras.Sequential()
    model.add(keras.Input((168, 12)))
    model.add(layers.Conv1D(32, 5, padding="causal", activation="relu"))
    model.add(layers.GRU(96, return_sequences=True, dropout=0.1, recurrent_dropout=0.1))
    model.add(layers.GRU(48, activation="tanh"))
    model.add(layers.Dense(64, activation="relu"))
    model.add(layers.Dense(24))
    rmse = metrics.RootMeanSquaredError()
    model.compile(optimizers.RMSprop(1e-3, momentum=0.5), losses.Huber(delta=0.5), metrics=["mae", rmse])
    return model


def token_loss_without_padding(y_true: Any, y_pred: Any) -> Any:
    loss = ops.sparse_categorical_crossentropy(y_true, y_pred, from_logits=True)
    return loss * ops.cast(y_true != 0, loss.dtype)


@architecture({"source": whole(6000, 30), "target": whole(6000, 30)}, whole(6000, 30), 40, needs_x=True)
def additive_attention_translator() -> keras.Model:
    source = keras.Input((None,), dtype="int32", name="source")
    target = keras.Input((None,), dtype="int32", name="target")
    x = layers.Embedding(6000, 256, mask_zero=True)(source)
    encoded = layers.Bidirectional(layers.GRU(256, return_sequences=True), merge_mode="sum")(x)
    y = layers.GRU(256, return_sequences=True)(layers.Embedding(6000, 256, mask_zero=True)(target))
    context = layers.AdditiveAttention()([y, encoded])
    y = layers.LayerNormalization()(layers.Add()([y, context]))
    model = keras.Model({"source": source, "target": target}, layers.Dense(6000)(y))
    model.compile(optimizers.Adam(1e-3, global_clipnorm=5.0), token_loss_without_padding)
    return model


class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen: int, vocab_size: int, embed_dim: int) -> None:
        super().__init__()
        self.token_emb = layers.Embedding(input_dim=vocab_size, output_dim=embed_dim)
        self.pos_emb = layers.Embedding(input_dim=maxlen, output_dim=embed_dim)

    def call(self, x: Any) -> Any:
        positions = self.pos_emb(ops.arange(0, ops.shape(x)[-1], 1))
        return self.token_emb(x) + positions


class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim: int, heads: int, ff_dim: int, rate: float = 0.1, causal: bool = False) -> None:
        super().__init__()
        self.causal = causal
        self.att = layers.MultiHeadAttention(num_heads=heads, key_dim=embed_dim // heads if causal else embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="relu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)
        self.dropout2 = layers.Dropout(rate)

    def call(self, inputs: Any, training: bool | None = None) -> Any:
        attended = self.dropout1(self.att(inputs, inputs, use_causal_mask=self.causal), training=training)
        out1 = self.layernorm1(inputs + attended)
        return self.layernorm2(out1 + self.dropout2(self.ffn(out1), training=training))


@architecture(whole(20_000, 200), whole(2), 64, variant("adafactor", 64, optimizer="adafactor"))
def token_position_transformer(optimizer: str = "adam") -> keras.Model:
    inputs = keras.Input((200,), dtype="int32")
    x = TokenAndPositionEmbedding(200, 20_000, 32)(inputs)
    x = TransformerBlock(32, 2, 32)(x)
    x = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x))
    x = layers.Dropout(0.1)(layers.Dense(20, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(2, activation="softmax")(x))
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(whole(8000, 80), whole(8000, 80), 24)
def causal_story_gpt() -> keras.Model:
    inputs = keras.Input((80,), dtype="int32")
    x = TokenAndPositionEmbedding(80, 8000, 256)(inputs)
    for _ in range(2):
        x = TransformerBlock(256, 4, 512, causal=True)(x)
    model = keras.Model(inputs, layers.Dense(8000)(x))
    optimizer = optimizers.AdamW(3e-4, weight_decay=0.01, clipnorm=1.0)
    optimizer.exclude_from_weight_decay(var_names=["bias", "gamma", "beta"])
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"])
    return model


class PatchEncoder(layers.Layer):
    def __init__(self, patch_size: int, num_patches: int, projection_dim: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.num_patches = num_patches
        self.projection = layers.Dense(projection_dim)
        self.position_embedding = layers.Embedding(num_patches, projection_dim)

    def call(self, images: Any) -> Any:
        patches = ops.image.extract_patches(images, size=self.patch_size)
        patches = ops.reshape(patches, (-1, self.num_patches, self.patch_size**2 * 3))
        positions = ops.expand_dims(ops.arange(0, self.num_patches), axis=0)
        return self.projection(patches) + self.position_embedding(positions)


def gelu_mlp(x: Any, hidden_units: tuple[int, ...], rate: float) -> Any:
    for units in hidden_units:
        x = layers.Dropout(rate)(layers.Dense(units, activation="gelu")(x))
    return x


@architecture(floats(32, 32, 3), whole(100), 32, variant("accumulating", 32, accumulate=4))
def small_data_vit(accumulate: int | None = None) -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = layers.Resizing(72, 72)(inputs)
    x = layers.RandomRotation(0.02)(layers.RandomFlip("horizontal")(x))
    x = PatchEncoder(6, 144, 64)(x)
    for _ in range(6):
        x1 = layers.LayerNormalization(epsilon=1e-6)(x)
        attended = layers.MultiHeadAttention(num_heads=4, key_dim=64, dropout=0.1)(x1, x1)
        x2 = layers.Add()([attended, x])
        x3 = gelu_mlp(layers.LayerNormalization(epsilon=1e-6)(x2), (128, 64), 0.1)
        x = layers.Add()([x3, x2])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x)))
    model = keras.Model(inputs, layers.Dense(100)(gelu_mlp(x, (512, 256), 0.5)))
    optimizer = optimizers.AdamW(1e-3, weight_decay=1e-4, gradient_accumulation_steps=accumulate)
    top = metrics.SparseTopKCategoricalAccuracy(5, name="top-5-accuracy")
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=[metrics.SparseCategoricalAccuracy(name="accuracy"), top])
    return model


# Tables and recommendations


class RecommenderNet(keras.Model):
    def __init__(self, users: int, movies: int, size: int) -> None:
        super().__init__()
        decay = regularizers.l2(1e-6)
        self.user_embedding = layers.Embedding(
            users, size, embeddings_initializer="he_normal", embeddings_regularizer=decay
        )
        self.user_bias = layers.Embedding(users, 1)
        self.movie_embedding = layers.Embedding(
            movies, size, embeddings_initializer="he_normal", embeddings_regularizer=decay
        )
        self.movie_bias = layers.Embedding(movies, 1)

    def call(self, inputs: Any) -> Any:
        user, movie = self.user_embedding(inputs[:, 0]), self.movie_embedding(inputs[:, 1])
        dot_user_movie = ops.sum(user * movie, axis=1, keepdims=True)
        return ops.sigmoid(dot_user_movie + self.user_bias(inputs[:, 0]) + self.movie_bias(inputs[:, 1]))


@architecture(whole(60_000, 2), floats(1), 1024, needs_x=True)
def movielens_recommender() -> keras.Model:
    model = RecommenderNet(160_000, 60_000, 50)
    model.compile(loss=losses.BinaryCrossentropy(), optimizer=optimizers.Adam(learning_rate=0.001))
    return model


@architecture(
    {"user": whole(400_000), "campaign": whole(50_000), "site": whole(5_000), "numbers": floats(13)}, whole(2, 1), 8192
)
def deep_cross_ads() -> keras.Model:
    sizes = {"user": 400_000, "campaign": 50_000, "site": 5_000}
    inputs = {name: keras.Input((), dtype="int32", name=name) for name in sizes}
    parts = [layers.Embedding(size, 16, name=f"{name}_embedding")(inputs[name]) for name, size in sizes.items()]
    inputs["numbers"] = keras.Input((13,), name="numbers")
    x0 = cross = layers.Concatenate()([*parts, layers.BatchNormalization()(inputs["numbers"])])
    for _ in range(3):
        cross = layers.Add()([layers.Multiply()([x0, layers.Dense(61)(cross)]), cross])
    deep = x0
    for units in (512, 256, 64):
        deep = layers.Dropout(0.2)(layers.Dense(units, activation="relu")(deep))
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(layers.Concatenate()([cross, deep])))
    model.compile(optimizers.Adagrad(0.01), losses.BinaryFocalCrossentropy(), metrics=["AUC"])
    return model


@architecture(floats(1024), floats(1500), 256, variant("compiled", 256, jit=True))
def protein_function_mlp(jit: bool = False) -> keras.Model:
    model = keras.Sequential([keras.Input((1024,)), layers.BatchNormalization()])
    for units in (4096, 4096):
        model.add(layers.Dense(units, activation="relu"))
        model.add(layers.BatchNormalization())
        model.add(layers.Dropout(0.3))
    model.add(layers.Dense(1500, activation="sigmoid"))
    optimizer = optimizers.Lion(1e-4, weight_decay=1e-2)
    model.compile(optimizer, "binary_crossentropy", metrics=["binary_accuracy"], jit_compile=jit)
    return model


# Training steps of their own


class Sampling(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.seed_generator = random.SeedGenerator(1337)

    def call(self, inputs: Any) -> Any:
        z_mean, z_log_var = inputs
        epsilon = random.normal(ops.shape(z_mean), seed=self.seed_generator)
        return z_mean + ops.exp(0.5 * z_log_var) * epsilon


class DigitsVAE(keras.Model):
    def __init__(self, encoder: keras.Model, decoder: keras.Model) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.trackers = [metrics.Mean(name=name) for name in ("loss", "reconstruction_loss", "kl_loss")]

    @property
    def metrics(self) -> list[Any]:
        return self.trackers

    def train_step(self, data: Any) -> dict[str, Any]:
        images = keras.utils.unpack_x_y_sample_weight(data)[0]
        with tf.GradientTape() as tape:
            z_mean, z_log_var, z = self.encoder(images)
            difference = losses.binary_crossentropy(images, self.decoder(z))
            reconstruction = ops.mean(ops.sum(difference, axis=(1, 2)))
            kl = -0.5 * (1 + z_log_var - ops.square(z_mean) - ops.exp(z_log_var))
            kl = ops.mean(ops.sum(kl, axis=1))
            total = reconstruction + kl
        grads = tape.gradient(total, self.trainable_weights)
        self.optimizer.apply_gradients(zip(grads, self.trainable_weights, strict=True))
        for tracker, value in zip(self.trackers, (total, reconstruction, kl), strict=True):
            tracker.update_state(value)
        return {tracker.name: tracker.result() for tracker in self.trackers}


@architecture(floats(28, 28, 1), None, 512, needs_x=True)
def conv_vae_digits() -> keras.Model:
    pictures = keras.Input((28, 28, 1))
    x = layers.Conv2D(32, 3, activation="relu", strides=2, padding="same")(pictures)
    x = layers.Conv2D(64, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Dense(16, activation="relu")(layers.Flatten()(x))
    z_mean, z_log_var = layers.Dense(2, name="z_mean")(x), layers.Dense(2, name="z_log_var")(x)
    encoder = keras.Model(pictures, [z_mean, z_log_var, Sampling()([z_mean, z_log_var])], name="encoder")
    latent = keras.Input((2,))
    x = layers.Reshape((7, 7, 64))(layers.Dense(7 * 7 * 64, activation="relu")(latent))
    x = layers.Conv2DTranspose(64, 3, activation="relu", strides=2, padding="same")(x)
    x = layers.Conv2DTranspose(32, 3, activation="relu", strides=2, padding="same")(x)
    decoder = keras.Model(latent, layers.Conv2DTranspose(1, 3, activation="sigmoid", padding="same")(x), name="decoder")
    model = DigitsVAE(encoder, decoder)
    model.compile(optimizer=optimizers.Adam())
    return model


class FacesGAN(keras.Model):
    def __init__(self, discriminator: keras.Model, generator: keras.Model, latent_dim: int) -> None:
        super().__init__()
        self.discriminator = discriminator
        self.generator = generator
        self.latent_dim = latent_dim
        self.seed_generator = random.SeedGenerator(42)
        self.d_loss_metric, self.g_loss_metric = metrics.Mean(name="d_loss"), metrics.Mean(name="g_loss")

    def compile(self, d_optimizer: Any, g_optimizer: Any, loss_fn: Any) -> None:
        super().compile()
        self.d_optimizer, self.g_optimizer, self.loss_fn = d_optimizer, g_optimizer, loss_fn

    @property
    def metrics(self) -> list[Any]:
        return [self.d_loss_metric, self.g_loss_metric]

    def train_step(self, data: Any) -> dict[str, Any]:
        real = keras.utils.unpack_x_y_sample_weight(data)[0]
        batch_size = ops.shape(real)[0]
        noise = random.normal((batch_size, self.latent_dim), seed=self.seed_generator)
        combined = ops.concatenate([self.generator(noise), real], axis=0)
        labels = ops.concatenate([ops.ones((batch_size, 1)), ops.zeros((batch_size, 1))], axis=0)
        labels += 0.05 * random.uniform(ops.shape(labels), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(labels, self.discriminator(combined))
        grads = tape.gradient(d_loss, self.discriminator.trainable_weights)
        self.d_optimizer.apply_gradients(zip(grads, self.discriminator.trainable_weights, strict=True))
        noise = random.normal((batch_size, self.latent_dim), seed=self.seed_generator)
        with tf.GradientTape() as tape:
            g_loss = self.loss_fn(ops.zeros((batch_size, 1)), self.discriminator(self.generator(noise)))
        grads = tape.gradient(g_loss, self.generator.trainable_weights)
        self.g_optimizer.apply_gradients(zip(grads, self.generator.trainable_weights, strict=True))
        self.d_loss_metric.update_state(d_loss)
        self.g_loss_metric.update_state(g_loss)
        return {"d_loss": self.d_loss_metric.result(), "g_loss": self.g_loss_metric.result()}


@architecture(floats(64, 64, 3), None, 32, needs_x=True)
def dcgan_faces() -> keras.Model:
    discriminator = keras.Sequential([keras.Input((64, 64, 3))], name="discriminator")
    for filters in (64, 128, 128):
        discriminator.add(layers.Conv2D(filters, kernel_size=4, strides=2, padding="same"))
        discriminator.add(layers.LeakyReLU(negative_slope=0.2))
    for layer in (layers.Flatten(), layers.Dropout(0.2), layers.Dense(1, activation="sigmoid")):
        discriminator.add(layer)
    generator = keras.Sequential([keras.Input((128,)), layers.Dense(8 * 8 * 128), layers.Reshape((8, 8, 128))])
    for filters in (128, 96, 64):
        generator.add(layers.Conv2DTranspose(filters, kernel_size=4, strides=2, padding="same"))
        generator.add(layers.LeakyReLU(negative_slope=0.2))
    generator.add(layers.Conv2D(3, kernel_size=5, padding="same", activation="sigmoid"))
    model = FacesGAN(discriminator, generator, 128)
    model.compile(optimizers.Adam(1e-4, beta_1=0.5), optimizers.Adam(1e-4, beta_1=0.5), losses.BinaryCrossentropy())
    return model


class ContrastiveModel(keras.Model):
    def __init__(self, augmenter: keras.Model, encoder: keras.Model, width: int, temperature: float) -> None:
        super().__init__()
        self.augmenter = augmenter
        self.encoder = encoder
        self.temperature = temperature
        self.projection_head = keras.Sequential(
            [keras.Input((width,)), layers.Dense(width, activation="relu"), layers.Dense(width)]
        )
        self.loss_tracker = metrics.Mean(name="c_loss")

    def contrastive_loss(self, one: Any, two: Any) -> Any:
        one, two = ops.normalize(one, axis=1), ops.normalize(two, axis=1)
        similarities = ops.matmul(one, ops.transpose(two)) / self.temperature
        labels = ops.arange(ops.shape(one)[0])
        forth = losses.sparse_categorical_crossentropy(labels, similarities, from_logits=True)
        back = losses.sparse_categorical_crossentropy(labels, ops.transpose(similarities), from_logits=True)
        return ops.mean(forth + back) / 2

    def train_step(self, data: Any) -> dict[str, Any]:
        images = keras.utils.unpack_x_y_sample_weight(data)[0]
        views = [self.augmenter(images, training=True) for _ in range(2)]
        with tf.GradientTape() as tape:
            projections = [self.projection_head(self.encoder(view, training=True), training=True) for view in views]
            loss = self.contrastive_loss(*projections)
        weights = self.encoder.trainable_weights + self.projection_head.trainable_weights
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        self.loss_tracker.update_state(loss)
        return {"c_loss": self.loss_tracker.result()}


@architecture(floats(96, 96, 3), None, 80, needs_x=True)
def simclr_stl_pretraining() -> keras.Model:
    augmenter = keras.Sequential(
        [
            keras.Input((96, 96, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomTranslation(0.25, 0.25),
            layers.RandomContrast(0.3),
        ]
    )
    encoder = keras.Sequential([keras.Input((96, 96, 3))], name="encoder")
    for _ in range(4):
        encoder.add(layers.Conv2D(64, kernel_size=3, strides=2, activation="relu"))
    encoder.add(layers.Flatten())
    encoder.add(layers.Dense(128, activation="relu"))
    model = ContrastiveModel(augmenter, encoder, width=128, temperature=0.1)
    model.compile(optimizer=optimizers.Adam())
    return model


class Distiller(keras.Model):
    def __init__(self, student: keras.Model, teacher: keras.Model, alpha: float, temperature: float) -> None:
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.teacher.trainable = False
        self.alpha = alpha
        self.temperature = temperature
        self.hard = losses.SparseCategoricalCrossentropy(from_logits=True)
        self.soft = losses.KLDivergence()

    def compute_loss(
        self, x: Any = None, y: Any = None, y_pred: Any = None, sample_weight: Any = None, training: bool = True
    ) -> Any:
        taught = ops.softmax(self.teacher(x, training=False) / self.temperature, axis=1)
        learnt = ops.softmax(y_pred / self.temperature, axis=1)
        soft = self.soft(taught, learnt) * self.temperature**2
        return self.alpha * self.hard(y, y_pred) + (1 - self.alpha) * soft

    def call(self, x: Any) -> Any:
        return self.student(x)


def strided_digit_net(name: str, first: int, second: int) -> keras.Model:
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(first, (3, 3), strides=(2, 2), padding="same"),
            layers.LeakyReLU(negative_slope=0.2),
            layers.MaxPooling2D(pool_size=(2, 2), strides=(1, 1), padding="same"),
            layers.Conv2D(second, (3, 3), strides=(2, 2), padding="same"),
            layers.Flatten(),
            layers.Dense(10),
        ],
        name=name,
    )


@architecture(floats(28, 28, 1), whole(10), 256, needs_x=True)
def distilled_digits() -> keras.Model:
    model = Distiller(strided_digit_net("student", 16, 32), strided_digit_net("teacher", 256, 512), 0.1, 10.0)
    model.compile(optimizer=optimizers.Adam(), metrics=[metrics.SparseCategoricalAccuracy()])
    return model
