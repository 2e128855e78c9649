"""Models by somebody else again, who had not seen the estimate.

They were unseen when they were first scored, and showed what it did not know; since then they are known.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import applications, initializers, layers, losses, metrics, ops, optimizers, regularizers

from benchmarks.registry import architecture, floats, variant, whole

# Pictures


@architecture(floats(106, 106, 3), floats(37), 12)
def galaxy_zoo() -> keras.Model:
    """The shares of the votes for each answer about a galaxy's shape, without any normalization."""
    model = keras.Sequential(name="galaxies")
    model.add(keras.Input((106, 106, 3)))
    model.add(layers.Conv2D(32, 7, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    model.add(layers.Conv2D(64, 5, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    model.add(layers.Conv2D(128, 3, activation="relu"))
    model.add(layers.Conv2D(128, 3, activation="relu"))
    model.add(layers.MaxPooling2D(2))
    model.add(layers.Flatten())
    model.add(layers.Dense(1024, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(512, activation="relu"))
    model.add(layers.Dropout(0.5))
    model.add(layers.Dense(37, activation="sigmoid"))
    model.compile(optimizers.Nadam(5e-4), "mse", metrics=[metrics.RootMeanSquaredError()])
    return model


@architecture(floats(128, 128, 3), whole(50), 32)
def mobilenet_v3_large() -> keras.Model:
    backbone = applications.MobileNetV3Large(
        input_shape=(128, 128, 3), alpha=0.75, include_top=False, weights=None, pooling="avg", minimalistic=True
    )
    x = layers.Dropout(0.3)(backbone.output)
    model = keras.Model(backbone.input, layers.Dense(50, activation="softmax")(x))
    schedule = optimizers.schedules.ExponentialDecay(1e-3, 1000, 0.94, staircase=True)
    model.compile(optimizers.Adam(schedule), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(139, 139, 3), floats(5), 8)
def inception_resnet_stem() -> keras.Model:
    """Only the front of InceptionResNetV2, as the data set is a small one."""
    base = applications.InceptionResNetV2(input_shape=(139, 139, 3), include_top=False, weights=None)
    inputs = keras.Input((139, 139, 3))
    cut = keras.Model(base.input, base.get_layer("block35_4_ac").output, name="front")
    x = cut(layers.Rescaling(2.0, offset=-1.0)(inputs))
    x = layers.GlobalMaxPooling2D()(x)
    x = layers.Dense(256, activation="elu", kernel_regularizer=regularizers.L1L2(1e-6, 1e-4))(x)
    outputs = layers.Dense(5, activation="softmax")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.RMSprop(1e-4, centered=True),
        losses.CategoricalCrossentropy(label_smoothing=0.1),
        metrics=[metrics.CategoricalAccuracy(), metrics.F1Score(average="macro")],
    )
    return model


class LocalResponse(layers.Layer):
    def call(self, inputs: Any) -> Any:
        return tf.nn.local_response_normalization(inputs, depth_radius=2, bias=2.0, alpha=1e-4, beta=0.75)


@architecture(floats(227, 227, 3), whole(200), 16)
def alexnet() -> keras.Model:
    inputs = keras.Input((227, 227, 3))
    x = layers.Conv2D(96, 11, strides=4, activation="relu")(inputs)
    x = layers.MaxPooling2D(3, 2)(LocalResponse()(x))
    x = layers.Conv2D(256, 5, padding="same", groups=2, activation="relu", bias_initializer="ones")(x)
    x = layers.MaxPooling2D(3, 2)(LocalResponse()(x))
    x = layers.Conv2D(384, 3, padding="same", activation="relu")(x)
    x = layers.Conv2D(384, 3, padding="same", groups=2, activation="relu")(x)
    x = layers.Conv2D(256, 3, padding="same", groups=2, activation="relu")(x)
    x = layers.Flatten()(layers.MaxPooling2D(3, 2)(x))
    for _ in range(2):
        x = layers.Dropout(0.5)(layers.Dense(3072, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(200)(x))
    model.compile(
        optimizers.SGD(0.01, momentum=0.9, weight_decay=5e-4),
        losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy", metrics.SparseTopKCategoricalAccuracy(5)],
    )
    return model


@architecture(floats(150, 150, 3), floats(38), 8)
def plant_disease() -> keras.Model:
    """Strided convolutions in place of pooling; the labels are one-hot."""
    model = keras.Sequential([keras.Input((150, 150, 3))])
    for filters in (32, 64, 128, 256):
        model.add(layers.Conv2D(filters, 3, padding="same"))
        model.add(layers.BatchNormalization(momentum=0.9))
        model.add(layers.LeakyReLU(negative_slope=0.1))
        model.add(layers.Conv2D(filters, 3, strides=2, padding="same"))
        model.add(layers.BatchNormalization(momentum=0.9))
        model.add(layers.LeakyReLU(negative_slope=0.1))
        model.add(layers.Dropout(0.2))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dense(128, activation="relu"))
    model.add(layers.Dense(38, activation="softmax"))
    precision = [metrics.Precision(name="precision"), metrics.Recall(name="recall")]
    model.compile(optimizers.Adamax(2e-3), "categorical_crossentropy", metrics=["accuracy", *precision])
    return model


@architecture(floats(32, 32, 3), whole(100), 96)
def wide_resnet() -> keras.Model:
    """WRN-16-4 with pre-activation, for CIFAR-100."""
    decay = regularizers.L2(5e-4)

    def convolution(x: Any, filters: int, size: int = 3, strides: int = 1) -> Any:
        return layers.Conv2D(
            filters,
            size,
            strides=strides,
            padding="same",
            use_bias=False,
            kernel_initializer="he_normal",
            kernel_regularizer=decay,
        )(x)

    def unit(x: Any, filters: int, strides: int) -> Any:
        active = layers.Activation("relu")(layers.BatchNormalization()(x))
        shortcut = x if x.shape[-1] == filters else convolution(active, filters, 1, strides)
        y = convolution(active, filters, 3, strides)
        y = layers.Activation("relu")(layers.BatchNormalization()(y))
        y = convolution(layers.Dropout(0.3)(y), filters)
        return layers.Add()([shortcut, y])

    inputs = keras.Input((32, 32, 3))
    x = layers.ZeroPadding2D(4)(inputs)
    x = convolution(layers.RandomFlip("horizontal")(layers.RandomCrop(32, 32)(x)), 16)
    for filters, strides in ((64, 1), (128, 2), (256, 2)):
        for index in range(2):
            x = unit(x, filters, strides if index == 0 else 1)
    x = layers.Activation("relu")(layers.BatchNormalization()(x))
    x = layers.Flatten()(layers.AveragePooling2D(8)(x))
    model = keras.Model(inputs, layers.Dense(100, activation="softmax")(x))
    schedule = optimizers.schedules.CosineDecay(0.1, 50_000)
    optimizer = optimizers.SGD(schedule, momentum=0.9, nesterov=True)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def ghost_module(x: Any, filters: int, active: bool = True) -> Any:
    """Half of the maps by a pointwise convolution, the other half by a cheap depthwise one over the first."""
    primary = layers.BatchNormalization()(layers.Conv2D(filters // 2, 1, use_bias=False)(x))
    primary = layers.ReLU(6.0)(primary) if active else primary
    cheap = layers.DepthwiseConv2D(3, padding="same", use_bias=False)(primary)
    cheap = layers.BatchNormalization()(cheap)
    cheap = layers.ReLU(6.0)(cheap) if active else cheap
    return layers.Concatenate()([primary, cheap])


@architecture(floats(128, 128, 3), whole(102), 24)
def ghost_net() -> keras.Model:
    inputs = keras.Input((128, 128, 3))
    x = layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    plan = [(16, 16, 1), (48, 24, 2), (72, 24, 1), (72, 40, 2), (120, 40, 1), (240, 80, 2), (200, 80, 1)]
    for expansion, filters, strides in plan:
        y = ghost_module(x, expansion)
        if strides == 2:
            y = layers.BatchNormalization()(layers.DepthwiseConv2D(5, strides=2, padding="same")(y))
        squeezed = layers.GlobalAveragePooling2D(keepdims=True)(y)
        squeezed = layers.Conv2D(max(8, expansion // 4), 1, activation="relu")(squeezed)
        y = layers.Multiply()([y, layers.Conv2D(expansion, 1, activation="hard_sigmoid")(squeezed)])
        y = ghost_module(y, filters, active=False)
        if strides == 2 or x.shape[-1] != filters:
            x = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(x)
            x = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(x))
        x = layers.Add()([x, y])
    x = layers.Conv2D(480, 1, activation="hard_swish")(x)
    x = layers.Dropout(0.2)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, layers.Dense(102)(x))
    optimizer = optimizers.RMSprop(0.002, rho=0.9, momentum=0.9, clipvalue=1.0)
    model.compile(optimizer, losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


@architecture(floats(64, 64, 13), floats(19), variant("bfloat16", 16, policy="mixed_bfloat16"))
def satellite_bands() -> keras.Model:
    """Land cover from all the bands of Sentinel-2, several labels for each tile, in half precision."""
    inputs = keras.Input((64, 64, 13))
    x = inputs
    for filters in (32, 64, 96):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(x)
        x = layers.Activation("gelu")(layers.BatchNormalization()(x))
        x = layers.MaxPooling2D()(x)
    x = layers.Conv2D(128, 3, activation="gelu")(x)
    x = layers.GlobalMaxPooling2D()(x)
    outputs = layers.Dense(19, activation="sigmoid", dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.AdamW(1e-3, weight_decay=1e-4),
        losses.BinaryFocalCrossentropy(gamma=2.0),
        metrics=[metrics.AUC(multi_label=True, num_labels=19), metrics.BinaryAccuracy()],
    )
    return model


@architecture(floats(160, 160, 1), floats(1), 48)
def pneumonia() -> keras.Model:
    """The keras.io and Kaggle classic for chest X-rays, of separable convolutions."""
    inputs = keras.Input((160, 160, 1))
    x = layers.Conv2D(16, 3, activation="relu", padding="same")(inputs)
    x = layers.Conv2D(16, 3, activation="relu", padding="same")(x)
    x = layers.MaxPool2D()(x)
    for filters, dropped in ((32, 0.0), (64, 0.0), (128, 0.2), (256, 0.2)):
        x = layers.SeparableConv2D(filters, 3, activation="relu", padding="same")(x)
        x = layers.SeparableConv2D(filters, 3, activation="relu", padding="same")(x)
        x = layers.BatchNormalization()(x)
        x = layers.MaxPool2D()(x)
        if dropped:
            x = layers.Dropout(dropped)(x)
    x = layers.Flatten()(x)
    for units, dropped in ((512, 0.7), (128, 0.5), (64, 0.3)):
        x = layers.Dense(units, activation="relu")(x)
        x = layers.BatchNormalization()(x)
        x = layers.Dropout(dropped)(x)
    model = keras.Model(inputs, layers.Dense(1, activation="sigmoid")(x))
    model.compile("adam", "binary_crossentropy", metrics=["accuracy", metrics.Precision(), metrics.Recall()])
    return model


@architecture(floats(64, 192, 1), {f"char_{place}": whole(36) for place in range(7)}, 24)
def license_plates() -> keras.Model:
    """Seven characters read at once by seven heads over one trunk."""
    inputs = keras.Input((64, 192, 1), name="plate")
    x = inputs
    for filters in (32, 64, 64, 128):
        x = layers.Conv2D(filters, 3, padding="same", activation="selu", kernel_initializer="lecun_normal")(x)
        x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    x = layers.Dense(512, activation="selu", kernel_initializer="lecun_normal")(x)
    x = layers.AlphaDropout(0.1)(x)
    names = [f"char_{place}" for place in range(7)]
    outputs = {name: layers.Dense(36, activation="softmax", name=name)(x) for name in names}
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.Adadelta(1.0),
        dict.fromkeys(names, "sparse_categorical_crossentropy"),
        loss_weights={name: 1.0 if place < 2 else 0.5 for place, name in enumerate(names)},
        metrics={name: ["accuracy"] for name in names},
    )
    return model


class RepVGGBlock(layers.Layer):
    """Three branches that are summed: they could be fused into one after the training."""

    def __init__(self, filters: int, strides: int = 1) -> None:
        super().__init__()
        self.dense = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)
        self.point = layers.Conv2D(filters, 1, strides=strides, padding="same", use_bias=False)
        self.dense_norm = layers.BatchNormalization()
        self.point_norm = layers.BatchNormalization()
        self.same_norm = layers.BatchNormalization() if strides == 1 else None

    def build(self, shape: Any) -> None:
        self.dense.build(shape)
        self.point.build(shape)
        self.dense_norm.build(self.dense.compute_output_shape(shape))
        self.point_norm.build(self.point.compute_output_shape(shape))
        if self.same_norm is not None:
            self.same_norm.build(shape)

    def compute_output_shape(self, shape: Any) -> Any:
        return self.dense.compute_output_shape(shape)

    def call(self, x: Any, training: bool | None = None) -> Any:
        total = self.dense_norm(self.dense(x), training=training) + self.point_norm(self.point(x), training=training)
        if self.same_norm is not None:
            total = total + self.same_norm(x, training=training)
        return ops.relu(total)


class RepVGG(keras.Model):
    def __init__(self, widths: list[int], depth: int, classes: int) -> None:
        super().__init__()
        self.stages = []
        for filters in widths:
            self.stages.append(RepVGGBlock(filters, strides=2))
            self.stages.extend(RepVGGBlock(filters) for _ in range(depth - 1))
        self.pool = layers.GlobalAveragePooling2D()
        self.head = layers.Dense(classes)

    def build(self, shape: Any) -> None:
        for stage in self.stages:
            stage.build(shape)
            shape = stage.compute_output_shape(shape)
        self.head.build((None, shape[-1]))

    def call(self, x: Any, training: bool | None = None) -> Any:
        for stage in self.stages:
            x = stage(x, training=training)
        return self.head(self.pool(x))


@architecture(floats(80, 80, 3), whole(30), 16)
def rep_vgg() -> keras.Model:
    model = RepVGG([48, 96, 160], depth=3, classes=30)
    model.build((None, 80, 80, 3))
    model.compile(
        optimizers.Lion(1e-4, weight_decay=0.1),
        losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        jit_compile=True,
    )
    return model


# From pictures to pictures


def residual_pair(x: Any, filters: int, strides: int) -> Any:
    y = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", use_bias=False)(y))
    if strides > 1 or x.shape[-1] != filters:
        x = layers.BatchNormalization()(layers.Conv2D(filters, 1, strides=strides, use_bias=False)(x))
    return layers.ReLU()(layers.Add()([x, y]))


def crossentropy_and_dice(truth: Any, predicted: Any) -> Any:
    overlap = ops.sum(truth * predicted, axis=(1, 2, 3))
    total = ops.sum(truth, axis=(1, 2, 3)) + ops.sum(predicted, axis=(1, 2, 3))
    dice = 1.0 - (2.0 * overlap + 1.0) / (total + 1.0)
    return ops.mean(losses.binary_crossentropy(truth, predicted), axis=(1, 2)) + dice


@architecture(floats(192, 192, 3), floats(192, 192, 1), 8)
def linknet() -> keras.Model:
    """Salt deposits, buildings and the like: the skips are added, and the way up is transposed."""
    inputs = keras.Input((192, 192, 3))
    x = layers.Conv2D(32, 7, strides=2, padding="same", use_bias=False)(inputs)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    skips = []
    for filters, strides in ((48, 1), (96, 2), (192, 2)):
        x = residual_pair(residual_pair(x, filters, strides), filters, 1)
        skips.append(x)
    for skip in reversed(skips[:-1]):
        x = layers.Conv2D(x.shape[-1] // 4, 1, activation="relu")(x)
        x = layers.Conv2DTranspose(x.shape[-1], 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Add()([layers.Conv2D(skip.shape[-1], 1)(x), skip])
    for filters in (32, 16):
        x = layers.Conv2DTranspose(filters, 4, strides=2, padding="same", activation="relu")(x)
    model = keras.Model(inputs, layers.Conv2D(1, 3, padding="same", activation="sigmoid")(x))
    model.compile(optimizers.Adam(1e-3, clipnorm=1.0), crossentropy_and_dice, metrics=[metrics.BinaryIoU([1], 0.5)])
    return model


class DepthEstimator(keras.Model):
    """The losses of keras.io: likeness of structure, distance, and edges that follow those of the depth."""

    def train_step(self, data: Any) -> dict[str, Any]:
        pictures, depths = data[0], data[1]
        with tf.GradientTape() as tape:
            predicted = self(pictures, training=True)
            down, across = tf.image.image_gradients(depths)
            predicted_down, predicted_across = tf.image.image_gradients(predicted)
            smooth_down = predicted_down * tf.exp(tf.reduce_mean(tf.abs(down)))
            smooth_across = predicted_across * tf.exp(tf.reduce_mean(tf.abs(across)))
            edges = tf.reduce_mean(tf.abs(smooth_down)) + tf.reduce_mean(tf.abs(smooth_across))
            likeness = tf.reduce_mean(1.0 - tf.image.ssim(depths, predicted, max_val=1.0, filter_size=7))
            distance = tf.reduce_mean(tf.abs(depths - predicted))
            loss = 0.85 * likeness + 0.1 * distance + 0.9 * edges
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss, "ssim": 1.0 - likeness}


@architecture(floats(128, 160, 3), floats(128, 160, 1), 4)
def depth_estimation() -> keras.Model:
    inputs = keras.Input((128, 160, 3))
    x, skips = inputs, []
    for filters in (16, 32, 64, 128):
        first = layers.Conv2D(filters, 3, padding="same")(x)
        y = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(first))
        y = layers.Conv2D(filters, 3, padding="same")(y)
        y = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(y))
        skips.append(layers.Add()([first, y]))
        x = layers.MaxPool2D(2)(skips[-1])
    x = layers.Conv2D(256, 3, padding="same", activation="leaky_relu")(x)
    for filters, skip in zip((128, 64, 32, 16), reversed(skips), strict=True):
        x = layers.Concatenate()([layers.UpSampling2D()(x), skip])
        for _ in range(2):
            x = layers.Conv2D(filters, 3, padding="same")(x)
            x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    model = DepthEstimator(inputs, layers.Conv2D(1, 1, activation="tanh")(x))
    model.compile(optimizers.Adam(2e-4, amsgrad=True))
    return model


@architecture(floats(32, 48, 48, 2), whole(4, 32, 48, 48), 2)
def vnet() -> keras.Model:
    """Prostate or heart in 3-D, with PReLU and strided convolutions down and transposed ones up."""

    def stage(x: Any, filters: int, count: int) -> Any:
        y = x
        for _ in range(count):
            y = layers.Conv3D(filters, 3, padding="same")(y)
            y = layers.PReLU(shared_axes=[1, 2, 3])(layers.GroupNormalization(4)(y))
        return layers.Add()([layers.Conv3D(filters, 1)(x), y])

    inputs = keras.Input((32, 48, 48, 2))
    first = stage(inputs, 12, 1)
    second = stage(layers.Conv3D(24, 2, strides=2)(first), 24, 2)
    third = stage(layers.Conv3D(48, 2, strides=2)(second), 48, 2)
    x = layers.Conv3DTranspose(24, 2, strides=2)(third)
    x = stage(layers.Concatenate()([x, second]), 24, 2)
    x = layers.Conv3DTranspose(12, 2, strides=2)(x)
    x = stage(layers.Concatenate()([x, first]), 12, 1)
    model = keras.Model(inputs, layers.Conv3D(4, 1, activation="softmax")(x))
    optimizer = optimizers.SGD(1e-3, momentum=0.99, clipnorm=5.0)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


# Signals and series


@architecture(floats(2048, 1), floats(10), 384)
def bearing_faults() -> keras.Model:
    """A wide first kernel over raw vibrations, then narrow ones."""
    model = keras.Sequential([keras.Input((2048, 1)), layers.GaussianNoise(0.05)])
    for filters, size, strides in ((32, 64, 4), (32, 3, 1), (64, 3, 1), (64, 3, 1), (64, 3, 1)):
        model.add(layers.Conv1D(filters, size, strides=strides, padding="same"))
        model.add(layers.BatchNormalization())
        model.add(layers.ReLU())
        model.add(layers.MaxPooling1D(2))
    model.add(layers.Flatten())
    model.add(layers.Dense(100, activation="relu", activity_regularizer=regularizers.L1(1e-5)))
    model.add(layers.Dense(10, activation="softmax"))
    model.compile(optimizers.Adagrad(0.05), losses.KLDivergence(), metrics=[metrics.CategoricalAccuracy()])
    return model


@architecture(floats(3072, 3), {"detection": floats(3072, 1), "p_wave": floats(3072, 1), "s_wave": floats(3072, 1)}, 48)
def earthquakes() -> keras.Model:
    """A seismogram goes down to 48 steps, through recurrent layers, and up again three times."""
    inputs = keras.Input((3072, 3))
    x = inputs
    for filters, size in ((8, 11), (16, 9), (16, 7), (32, 7), (32, 5), (64, 3)):
        x = layers.Conv1D(filters, size, padding="same", activation="relu")(x)
        x = layers.MaxPooling1D(2, padding="same")(x)
    for _ in range(2):
        x = layers.Bidirectional(layers.LSTM(16, return_sequences=True, dropout=0.1))(x)
        x = layers.BatchNormalization()(layers.Conv1D(16, 1, padding="same")(x))
    x = layers.LSTM(16, return_sequences=True)(x)
    outputs = {}
    for name in ("detection", "p_wave", "s_wave"):
        y = x if name == "detection" else layers.LSTM(16, return_sequences=True, name=f"{name}_picker")(x)
        for filters, size in ((64, 3), (32, 5), (32, 5), (16, 7), (16, 9), (8, 11)):
            y = layers.Conv1D(filters, size, padding="same", activation="relu")(layers.UpSampling1D(2)(y))
        outputs[name] = layers.Conv1D(1, 11, padding="same", activation="sigmoid", name=name)(y)
    model = keras.Model(inputs, outputs)
    model.compile(
        optimizers.Adam(1e-3),
        dict.fromkeys(outputs, "binary_crossentropy"),
        loss_weights={"detection": 0.05, "p_wave": 0.4, "s_wave": 0.55},
        metrics={"detection": ["mae"]},
    )
    return model


@architecture(floats(18, 96, 4), floats(18, 96, 1), 24)
def lane_traffic() -> keras.Model:
    """Speeds along a motorway: convolutional recurrence in one dimension, and the same head for each step."""
    inputs = keras.Input((18, 96, 4))
    x = layers.ConvLSTM1D(32, 5, padding="same", return_sequences=True)(inputs)
    x = layers.LayerNormalization()(x)
    x = layers.ConvLSTM1D(24, 3, padding="same", return_sequences=True, recurrent_dropout=0.1)(x)
    x = layers.TimeDistributed(layers.Conv1D(32, 3, padding="same", activation="swish"))(x)
    x = layers.TimeDistributed(layers.Conv1D(1, 1))(x)
    model = keras.Model(inputs, x)
    model.compile(optimizers.RMSprop(1e-3), losses.Huber(0.5), metrics=["mape"])
    return model


class MinimalGatedCell(layers.Layer):
    """One gate only, with the candidate normalized."""

    def __init__(self, units: int) -> None:
        super().__init__()
        self.units = units
        self.state_size = units
        self.output_size = units
        self.norm = layers.LayerNormalization()

    def build(self, shape: Any) -> None:
        size = (shape[-1] + self.units, self.units)
        self.gate = self.add_weight(shape=size, initializer="glorot_uniform", name="gate")
        self.gate_bias = self.add_weight(shape=(self.units,), initializer="ones", name="gate_bias")
        self.candidate = self.add_weight(shape=size, initializer="orthogonal", name="candidate")
        self.norm.build((None, self.units))

    def call(self, inputs: Any, states: Any, training: bool | None = None) -> Any:
        state = states[0]
        forget = ops.sigmoid(ops.matmul(ops.concatenate([inputs, state], axis=-1), self.gate) + self.gate_bias)
        mixed = ops.concatenate([inputs, forget * state], axis=-1)
        candidate = ops.tanh(self.norm(ops.matmul(mixed, self.candidate)))
        state = (1.0 - forget) * state + forget * candidate
        return state, [state]


@architecture(floats(64, 48), whole(20), 128)
def minimal_gated() -> keras.Model:
    """Gestures from the joints of a hand."""
    inputs = keras.Input((64, 48))
    x = layers.Dense(96, activation="relu")(inputs)
    x = layers.RNN([MinimalGatedCell(192), MinimalGatedCell(192)], return_sequences=True)(x)
    x = layers.Dropout(0.2)(x)
    x = layers.RNN(MinimalGatedCell(128))(x)
    model = keras.Model(inputs, layers.Dense(20, activation="softmax")(x))
    optimizer = optimizers.Adam(3e-4, global_clipnorm=0.5)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(
    floats(40, 12, dtype="float64"), floats(20, 12, dtype="float64"), variant("float64", 192, policy="float64")
)
def orbits() -> keras.Model:
    """Where two bodies go next; single precision was not enough for the author."""
    inputs = keras.Input((40, 12), dtype="float64")
    x = layers.GRU(128, return_sequences=True)(inputs)
    x, state = layers.GRU(128, return_sequences=True, return_state=True)(x)
    x = layers.RepeatVector(20)(layers.GlobalAveragePooling1D()(x))
    x = layers.GRU(128, return_sequences=True)(x, initial_state=state)
    outputs = layers.TimeDistributed(layers.Dense(12))(x)
    model = keras.Model(inputs, outputs)
    schedule = optimizers.schedules.PiecewiseConstantDecay([2000, 4000], [1e-3, 5e-4, 1e-4])
    model.compile(optimizers.Adam(schedule, use_ema=True, ema_momentum=0.99), losses.LogCosh(), metrics=["mae"])
    return model


# Language


class AttentionPooling(layers.Layer):
    """A weighted mean over the words that are there."""

    def __init__(self) -> None:
        super().__init__()
        self.supports_masking = True
        self.score = layers.Dense(1)

    def build(self, shape: Any) -> None:
        self.score.build(shape)

    def call(self, x: Any, mask: Any = None) -> Any:
        scores = ops.squeeze(self.score(ops.tanh(x)), -1)
        if mask is not None:
            scores = ops.where(mask, scores, -1e9)
        return ops.einsum("bt,btd->bd", ops.softmax(scores), x)

    def compute_mask(self, _x: Any, _mask: Any = None) -> Any:
        return None

    def compute_output_shape(self, shape: Any) -> Any:
        return (shape[0], shape[2])


@architecture(whole(30_000, 120), floats(6), 48)
def toxic_comments() -> keras.Model:
    """Frozen word vectors and padding masks, six labels that do not exclude each other."""
    inputs = keras.Input((120,), dtype="int32")
    vectors = initializers.RandomNormal(stddev=0.3, seed=1)
    x = layers.Embedding(30_000, 200, mask_zero=True, embeddings_initializer=vectors, trainable=False)(inputs)
    x = layers.SpatialDropout1D(0.2)(x)
    x = layers.Bidirectional(layers.LSTM(80, return_sequences=True))(x)
    x = layers.Bidirectional(layers.GRU(80, return_sequences=True), merge_mode="ave")(x)
    pooled = layers.Concatenate()([AttentionPooling()(x), layers.GlobalAveragePooling1D()(x)])
    x = layers.Dense(64, activation="relu")(pooled)
    model = keras.Model(inputs, layers.Dense(6, activation="sigmoid")(x))
    optimizer = optimizers.Adam(1e-3, gradient_accumulation_steps=2)
    model.compile(optimizer, "binary_crossentropy", metrics=[metrics.AUC(multi_label=True, num_labels=6)])
    return model


class SharedEmbedding(layers.Layer):
    """Words in, and with the same matrix words out."""

    def __init__(self, words: int, size: int) -> None:
        super().__init__()
        self.words, self.size = words, size

    def build(self, _shape: Any = None) -> None:
        self.table = self.add_weight(shape=(self.words, self.size), initializer="glorot_normal", name="table")

    def call(self, x: Any, reverse: bool = False) -> Any:
        if reverse:
            return ops.matmul(x, ops.transpose(self.table)) * self.size**-0.5
        return ops.take(self.table, x, axis=0)


class RelativeAttention(layers.Layer):
    """T5's: no scaling, and a learned bias for each head and distance."""

    def __init__(self, heads: int, size: int, causal: bool = False, reach: int = 32) -> None:
        super().__init__()
        self.heads, self.size, self.causal, self.reach = heads, size, causal, reach

    def build(self, shape: Any) -> None:
        inner = (shape[-1], self.heads, self.size)
        self.query, self.key, self.value = (
            self.add_weight(shape=inner, initializer="glorot_uniform", name=name) for name in ("q", "k", "v")
        )
        self.output_kernel = self.add_weight(shape=(self.heads, self.size, shape[-1]), name="o")
        self.bias = self.add_weight(shape=(2 * self.reach + 1, self.heads), initializer="zeros", name="bias")

    def call(self, x: Any, memory: Any = None, padding: Any = None) -> Any:
        memory = x if memory is None else memory
        query = ops.einsum("btd,dhk->bthk", x, self.query)
        key = ops.einsum("bsd,dhk->bshk", memory, self.key)
        value = ops.einsum("bsd,dhk->bshk", memory, self.value)
        scores = ops.einsum("bthk,bshk->bhts", query, key)
        distance = ops.expand_dims(ops.arange(memory.shape[1]), 0) - ops.expand_dims(ops.arange(x.shape[1]), 1)
        places = ops.clip(distance, -self.reach, self.reach) + self.reach
        scores = scores + ops.transpose(ops.take(self.bias, places, axis=0), (2, 0, 1))
        if padding is not None:
            scores = ops.where(padding[:, None, None, :], scores, -1e9)
        if self.causal:
            scores = ops.where(distance <= 0, scores, -1e9)
        return ops.einsum("bhts,bshk,hkd->btd", ops.softmax(scores), value, self.output_kernel)


def gated_gelu(x: Any, inner: int) -> Any:
    normed = layers.RMSNormalization()(x)
    gated = layers.Multiply()(
        [layers.Dense(inner, activation="gelu", use_bias=False)(normed), layers.Dense(inner, use_bias=False)(normed)]
    )
    return layers.Add()([x, layers.Dropout(0.1)(layers.Dense(x.shape[-1], use_bias=False)(gated))])


@architecture({"article": whole(8000, 160), "summary": whole(8000, 48)}, whole(8000, 48), 8)
def summarizer() -> keras.Model:
    article = keras.Input((160,), dtype="int32", name="article")
    summary = keras.Input((48,), dtype="int32", name="summary")
    shared = SharedEmbedding(8000, 256)
    present = ops.not_equal(article, 0)
    x = layers.Dropout(0.1)(shared(article))
    for _ in range(3):
        x = layers.Add()([x, RelativeAttention(4, 64)(layers.RMSNormalization()(x), padding=present)])
        x = gated_gelu(x, 512)
    memory = layers.RMSNormalization()(x)
    y = layers.Dropout(0.1)(shared(summary))
    for _ in range(3):
        y = layers.Add()([y, RelativeAttention(4, 64, causal=True)(layers.RMSNormalization()(y))])
        y = layers.Add()([y, RelativeAttention(4, 64)(layers.RMSNormalization()(y), memory, present)])
        y = gated_gelu(y, 512)
    logits = shared(layers.RMSNormalization()(y), reverse=True)
    model = keras.Model([article, summary], logits)
    loss = losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0)
    model.compile(optimizers.Adafactor(1e-3), loss, metrics=["accuracy"])
    return model


class LowRankAttention(layers.Layer):
    """Linformer's: the keys and values are first projected onto a few places of the sequence."""

    def __init__(self, heads: int, places: int) -> None:
        super().__init__()
        self.heads, self.places = heads, places

    def build(self, shape: Any) -> None:
        _, length, size = shape
        self.along_keys = self.add_weight(shape=(length, self.places), name="along_keys")
        self.along_values = self.add_weight(shape=(length, self.places), name="along_values")
        self.inwards = layers.Dense(3 * size, use_bias=False)
        self.outwards = layers.Dense(size)
        self.inwards.build(shape)
        self.outwards.build(shape)

    def call(self, x: Any) -> Any:
        length, size = x.shape[1:]
        query, key, value = ops.split(self.inwards(x), 3, axis=-1)
        key = ops.einsum("bld,lp->bpd", key, self.along_keys)
        value = ops.einsum("bld,lp->bpd", value, self.along_values)
        query, key, value = (
            ops.reshape(each, (-1, steps, self.heads, size // self.heads))
            for each, steps in ((query, length), (key, self.places), (value, self.places))
        )
        weights = ops.softmax(ops.einsum("blhk,bphk->bhlp", query, key) * (size // self.heads) ** -0.5)
        mixed = ops.einsum("bhlp,bphk->blhk", weights, value)
        return self.outwards(ops.reshape(mixed, (-1, length, size)))


@architecture(whole(5000, 768), floats(1), 12)
def linformer() -> keras.Model:
    """Long reviews, compiled with XLA."""
    inputs = keras.Input((768,), dtype="int32")
    x = layers.Embedding(5000, 128)(inputs)
    for _ in range(3):
        x = layers.Add()([x, LowRankAttention(4, 96)(layers.LayerNormalization()(x))])
        y = layers.Dense(384, activation="gelu")(layers.LayerNormalization()(x))
        x = layers.Add()([x, layers.Dense(128)(y)])
    x = layers.GlobalMaxPooling1D()(x)
    model = keras.Model(inputs, layers.Dense(1)(x))
    loss = losses.BinaryCrossentropy(from_logits=True)
    model.compile(optimizers.AdamW(3e-4), loss, metrics=[metrics.BinaryAccuracy(threshold=0.0)], jit_compile=True)
    return model


class Positions(layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.supports_masking = True

    def build(self, shape: Any) -> None:
        self.table = self.add_weight(shape=shape[1:], initializer="random_normal", name="table")

    def call(self, x: Any) -> Any:
        return x + self.table


@architecture(whole(24_000, 96), whole(24_000, 96), 8)
def masked_words() -> keras.Model:
    """Guesses hidden words among 24000, with the padding masked throughout."""
    tokens = keras.Input((96,), dtype="int32")
    x = Positions()(layers.Embedding(24_000, 192, mask_zero=True)(tokens))
    x = layers.Dropout(0.1)(layers.LayerNormalization(epsilon=1e-12)(x))
    for _ in range(4):
        attended = layers.MultiHeadAttention(6, 32, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        y = layers.Dense(192)(layers.Dense(768, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(y)]))
    x = layers.LayerNormalization()(layers.Dense(192, activation="gelu")(x))
    model = keras.Model(tokens, layers.Dense(24_000, activation="softmax")(x))
    loss = losses.SparseCategoricalCrossentropy(ignore_class=0)
    model.compile(optimizers.Lamb(1e-3, weight_decay=0.01), loss, metrics=["accuracy"])
    return model


# Attention over other things


class WindowAttention(layers.Layer):
    """Attention inside square windows, shifted by half a window in every second block."""

    def __init__(self, heads: int, window: int, shift: int) -> None:
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift

    def build(self, shape: Any) -> None:
        _, rows, columns, size = shape
        self.inwards = layers.Dense(3 * size)
        self.outwards = layers.Dense(size)
        self.inwards.build((None, None, size))
        self.outwards.build((None, None, size))
        span = 2 * self.window - 1
        self.bias = self.add_weight(shape=(span * span, self.heads), initializer="zeros", name="bias")
        grid = np.stack(np.meshgrid(np.arange(self.window), np.arange(self.window), indexing="ij")).reshape(2, -1)
        apart = grid[:, :, None] - grid[:, None, :] + self.window - 1
        self.places = (apart[0] * span + apart[1]).reshape(-1)
        region = np.zeros((rows, columns), "int32")
        edges = (slice(0, -self.window), slice(-self.window, -self.shift or None), slice(-self.shift or rows, None))
        for index, (down, across) in enumerate((down, across) for down in edges for across in edges):
            region[down, across] = index
        region = region.reshape(rows // self.window, self.window, columns // self.window, self.window)
        region = region.transpose(0, 2, 1, 3).reshape(-1, self.window**2)
        apart = region[:, :, None] != region[:, None, :]
        self.hidden = np.where(apart, -100.0, 0.0).astype("float32")[None, :, None]

    def call(self, x: Any) -> Any:
        _, rows, columns, size = x.shape
        down, across, area = rows // self.window, columns // self.window, self.window**2
        if self.shift:
            x = ops.roll(x, (-self.shift, -self.shift), axis=(1, 2))
        x = ops.reshape(x, (-1, down, self.window, across, self.window, size))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, area, size))
        mixed = ops.reshape(self.inwards(x), (-1, area, 3, self.heads, size // self.heads))
        query, key, value = ops.unstack(ops.transpose(mixed, (2, 0, 3, 1, 4)), axis=0)
        scores = ops.matmul(query * (size // self.heads) ** -0.5, ops.transpose(key, (0, 1, 3, 2)))
        bias = ops.reshape(ops.take(self.bias, self.places, axis=0), (area, area, self.heads))
        scores = scores + ops.transpose(bias, (2, 0, 1))
        if self.shift:
            scores = ops.reshape(scores, (-1, down * across, self.heads, area, area)) + self.hidden
            scores = ops.reshape(scores, (-1, self.heads, area, area))
        x = ops.transpose(ops.matmul(ops.softmax(scores), value), (0, 2, 1, 3))
        x = self.outwards(ops.reshape(x, (-1, area, size)))
        x = ops.reshape(x, (-1, down, across, self.window, self.window, size))
        x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, rows, columns, size))
        return ops.roll(x, (self.shift, self.shift), axis=(1, 2)) if self.shift else x


@architecture(floats(64, 64, 3), floats(100), 8)
def swin() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = layers.LayerNormalization()(layers.Conv2D(64, 2, strides=2)(inputs))
    for stage, heads in enumerate((2, 4)):
        if stage:
            parts = [x[:, row::2, column::2] for row in (0, 1) for column in (0, 1)]
            x = layers.LayerNormalization()(layers.Concatenate()(parts))
            x = layers.Dense(128, use_bias=False)(x)
        for shift in (0, 4):
            x = layers.Add()([x, WindowAttention(heads, 8, shift)(layers.LayerNormalization()(x))])
            y = layers.Dense(4 * x.shape[-1], activation="gelu")(layers.LayerNormalization()(x))
            x = layers.Add()([x, layers.Dense(x.shape[-1])(y)])
    x = layers.GlobalAveragePooling2D()(layers.LayerNormalization()(x))
    model = keras.Model(inputs, layers.Dense(100)(x))
    schedule = optimizers.schedules.CosineDecay(0.0, 10_000, warmup_target=1e-3, warmup_steps=500)
    loss = losses.CategoricalCrossentropy(from_logits=True, label_smoothing=0.1)
    model.compile(optimizers.Muon(schedule), loss, metrics=[metrics.TopKCategoricalAccuracy(5)])
    return model


@architecture(floats(240, 80), whole(32, 24), 16)
def conformer() -> keras.Model:
    """Letters from spectrograms: attention and depthwise convolutions in turn, aligned by CTC."""
    inputs = keras.Input((240, 80))
    x = layers.Reshape((240, 80, 1))(inputs)
    for _ in range(2):
        x = layers.Conv2D(48, 3, strides=2, padding="same", activation="relu")(x)
    x = layers.Dropout(0.1)(layers.Dense(144)(layers.Reshape((60, 20 * 48))(x)))

    def half_step(x: Any) -> Any:
        y = layers.Dense(576, activation="silu")(layers.LayerNormalization()(x))
        y = layers.Dropout(0.1)(layers.Dense(144)(layers.Dropout(0.1)(y)))
        return layers.Add()([x, layers.Rescaling(0.5)(y)])

    for _ in range(4):
        x = half_step(x)
        normed = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.Dropout(0.1)(layers.MultiHeadAttention(4, 36)(normed, normed))])
        value, gate = ops.split(layers.Conv1D(288, 1)(layers.LayerNormalization()(x)), 2, axis=-1)
        y = layers.Multiply()([value, layers.Activation("sigmoid")(gate)])
        y = layers.BatchNormalization()(layers.DepthwiseConv1D(15, padding="same")(y))
        y = layers.Conv1D(144, 1)(layers.Activation("silu")(y))
        x = half_step(layers.Add()([x, layers.Dropout(0.1)(y)]))
        x = layers.LayerNormalization()(x)
    model = keras.Model(inputs, layers.Dense(33)(x))
    schedule = optimizers.schedules.InverseTimeDecay(1e-3, 1000, 0.5)
    model.compile(optimizers.Nadam(schedule, beta_2=0.98, epsilon=1e-9), losses.CTC())
    return model


# Tables and large heads


@architecture({"numbers": floats(13), "codes": whole(20_000, 26)}, floats(1), 6144)
def dlrm() -> keras.Model:
    """Facebook's click model: a table for each feature, and the products of all pairs."""
    dense = keras.Input((13,), name="numbers")
    sparse = keras.Input((26,), dtype="int32", name="codes")
    bottom = dense
    for units in (256, 128, 32):
        bottom = layers.Dense(units, activation="relu")(bottom)
    rows = [layers.Embedding(20_000, 32, name=f"table_{index}")(sparse[:, index]) for index in range(26)]
    stacked = ops.stack([bottom, *rows], axis=1)
    products = ops.einsum("bnd,bmd->bnm", stacked, stacked)
    lower = np.flatnonzero(np.tril(np.ones((27, 27)), -1))
    pairs = ops.take(ops.reshape(products, (-1, 27 * 27)), lower, axis=1)
    x = layers.Concatenate()([bottom, pairs])
    for units in (512, 256):
        x = layers.Dense(units, activation="relu")(x)
    model = keras.Model([dense, sparse], layers.Dense(1, activation="sigmoid")(x))
    model.compile(optimizers.Adagrad(0.01), "binary_crossentropy", metrics=[metrics.AUC(num_thresholds=100)])
    return model


@architecture(floats(5000), floats(14_000), 64)
def extreme_labels() -> keras.Model:
    """Fourteen thousand tags for a bag of words."""
    inputs = keras.Input((5000,))
    x = layers.UnitNormalization()(inputs)
    x = layers.Dense(1536, kernel_constraint=keras.constraints.MaxNorm(3.0))(x)
    x = layers.Dropout(0.4)(layers.Activation("mish")(layers.BatchNormalization()(x)))
    model = keras.Model(inputs, layers.Dense(14_000)(x))
    model.compile(
        optimizers.Adadelta(0.5, weight_decay=1e-5),
        losses.BinaryCrossentropy(from_logits=True),
        metrics=[metrics.TopKCategoricalAccuracy(10)],
    )
    return model


@architecture(
    {"age": floats(1), "power": floats(1), "region": whole(22), "brand": whole(11), "density": floats(4)},
    floats(1),
    24_576,
)
def insurance_claims() -> keras.Model:
    """How many claims a driver makes, by a network on bins, crossings and embeddings."""
    age, power = keras.Input((1,), name="age"), keras.Input((1,), name="power")
    density = keras.Input((4,), name="density")
    region = keras.Input((), dtype="int32", name="region")
    brand = keras.Input((), dtype="int32", name="brand")
    binned = layers.Discretization(bin_boundaries=np.linspace(0.05, 0.95, 19).tolist(), output_mode="one_hot")(age)
    parts = [
        binned,
        power,
        layers.Normalization(mean=[0.5] * 4, variance=[0.08] * 4)(density),
        layers.CategoryEncoding(22, output_mode="one_hot")(layers.Reshape((1,))(region)),
        layers.Flatten()(layers.Embedding(11, 8, embeddings_regularizer="l2")(brand)),
        layers.Embedding(242, 16)(region * 11 + brand),
    ]
    x = layers.Concatenate()(parts)
    for units in (384, 256, 128):
        x = layers.Dense(units, activation="softplus", kernel_regularizer=regularizers.L1(1e-6))(x)
    model = keras.Model([age, power, density, region, brand], layers.Dense(1, activation="exponential")(x))
    optimizer = optimizers.Ftrl(0.01, l1_regularization_strength=1e-4)
    model.compile(optimizer, losses.Poisson(), metrics=["mae", "mse"], steps_per_execution=8)
    return model


# Steps of their own


class MomentumContrast(keras.Model):
    """A queue of keys from an encoder that follows the trained one slowly."""

    def __init__(self, encoder: keras.Model, follower: keras.Model, size: int = 128, length: int = 8192) -> None:
        super().__init__()
        self.encoder, self.follower = encoder, follower
        self.follower.trainable = False
        self.view = keras.Sequential(
            [layers.RandomFlip("horizontal"), layers.RandomTranslation(0.15, 0.15), layers.RandomContrast(0.4)]
        )
        start = initializers.RandomNormal(stddev=size**-0.5)
        self.queue = self.add_weight(shape=(length, size), initializer=start, trainable=False, name="queue")

    def call(self, x: Any, training: bool | None = None) -> Any:
        return self.encoder(x, training=training)

    def train_step(self, data: Any) -> dict[str, Any]:
        images, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        keys = ops.stop_gradient(ops.normalize(self.follower(self.view(images, training=True), training=True)))
        with tf.GradientTape() as tape:
            queries = ops.normalize(self.encoder(self.view(images, training=True), training=True))
            positive = ops.sum(queries * keys, axis=-1, keepdims=True)
            negative = ops.matmul(queries, ops.transpose(self.queue))
            logits = ops.concatenate([positive, negative], axis=-1) / 0.07
            labels = ops.zeros((ops.shape(logits)[0],), "int32")
            loss = ops.mean(losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
        weights = self.encoder.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        for slow, fast in zip(self.follower.weights, self.encoder.weights, strict=True):
            if "seed" not in slow.path:
                slow.assign(0.999 * slow + 0.001 * ops.cast(fast, slow.dtype))
        self.queue.assign(ops.concatenate([keys, self.queue], axis=0)[: self.queue.shape[0]])
        return {"loss": loss}


def small_encoder(size: int) -> keras.Model:
    inputs = keras.Input((48, 48, 3))
    x = layers.Conv2D(48, 3, padding="same", use_bias=False)(inputs)
    x = layers.ReLU()(layers.BatchNormalization()(x))
    for filters in (64, 128, 256):
        x = residual_pair(x, filters, 2)
    x = layers.Dense(256, activation="relu")(layers.GlobalAveragePooling2D()(x))
    return keras.Model(inputs, layers.Dense(size)(x))


@architecture(floats(48, 48, 3), None, 32, needs_x=True)
def momentum_contrast() -> keras.Model:
    model = MomentumContrast(small_encoder(128), small_encoder(128))
    model.compile(optimizers.SGD(0.03, momentum=0.9))
    return model


class RobustClassifier(keras.Model):
    """Trains on the pictures and on the same pictures pushed against it."""

    def train_step(self, data: Any) -> dict[str, Any]:
        images, labels, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as attack:
            attack.watch(images)
            harm = self.compute_loss(x=images, y=labels, y_pred=self(images, training=False))
        pushed = ops.clip(images + 8 / 255 * ops.sign(attack.gradient(harm, images)), 0.0, 1.0)
        pushed = ops.stop_gradient(pushed)
        with tf.GradientTape() as tape:
            clean, attacked = self(images, training=True), self(pushed, training=True)
            loss = self.compute_loss(x=images, y=labels, y_pred=clean)
            loss += self.compute_loss(x=pushed, y=labels, y_pred=attacked)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply(gradients, self.trainable_variables)
        return {**self.compute_metrics(images, labels, attacked), "loss": loss}


@architecture(floats(32, 32, 3), whole(10), 24)
def robust_cifar() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="swish")(inputs)
    for filters in (64, 128, 192):
        for strides in (1, 2):
            x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
            x = layers.Activation("swish")(layers.BatchNormalization(epsilon=1e-5)(x))
    x = layers.Dense(256, activation="swish")(layers.Flatten()(x))
    model = RobustClassifier(inputs, layers.Dense(10)(x))
    optimizer = optimizers.SGD(0.05, momentum=0.9, weight_decay=2e-4)
    model.compile(optimizer, losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy"])
    return model


class PenalizedGan(keras.Model):
    """The non-saturating loss, with the slope of the critic at real pictures held down (R1)."""

    def __init__(self, generator: keras.Model, critic: keras.Model, latent: int) -> None:
        super().__init__()
        self.generator, self.critic, self.latent = generator, critic, latent
        self.seed = keras.random.SeedGenerator(7)

    def compile(self, generator_optimizer: Any, critic_optimizer: Any) -> None:
        super().compile()
        self.generator_optimizer, self.critic_optimizer = generator_optimizer, critic_optimizer

    def call(self, x: Any, training: bool | None = None) -> Any:
        return self.critic(x, training=training)

    def train_step(self, data: Any) -> dict[str, Any]:
        real, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        noise = keras.random.normal((ops.shape(real)[0], self.latent), seed=self.seed)
        with tf.GradientTape() as tape:
            with tf.GradientTape() as inner:
                inner.watch(real)
                scores = self.critic(real, training=True)
            slope = inner.gradient(scores, real)
            penalty = ops.mean(ops.sum(ops.square(slope), axis=(1, 2, 3)))
            fake_scores = self.critic(self.generator(noise, training=True), training=True)
            critic_loss = ops.mean(ops.softplus(-scores)) + ops.mean(ops.softplus(fake_scores)) + 5.0 * penalty
        weights = self.critic.trainable_variables
        self.critic_optimizer.apply_gradients(zip(tape.gradient(critic_loss, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            loss = ops.mean(ops.softplus(-self.critic(self.generator(noise, training=True), training=True)))
        weights = self.generator.trainable_variables
        self.generator_optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss, "critic_loss": critic_loss, "penalty": penalty}


@architecture(floats(64, 64, 3), None, 32, needs_x=True)
def faces_gan() -> keras.Model:
    generator = keras.Sequential([keras.Input((100,)), layers.Dense(4 * 4 * 256), layers.Reshape((4, 4, 256))])
    for filters in (160, 96, 48):
        generator.add(layers.Conv2DTranspose(filters, 4, strides=2, padding="same", use_bias=False))
        generator.add(layers.BatchNormalization())
        generator.add(layers.ReLU())
    generator.add(layers.Conv2DTranspose(3, 4, strides=2, padding="same", activation="sigmoid"))
    critic = keras.Sequential([keras.Input((64, 64, 3))])
    for filters in (48, 96, 160):
        critic.add(layers.Conv2D(filters, 5, strides=2, padding="same"))
        critic.add(layers.LeakyReLU(negative_slope=0.2))
    critic.add(layers.Flatten())
    critic.add(layers.Dense(1))
    model = PenalizedGan(generator, critic, 100)
    model.compile(optimizers.Adam(2e-4, beta_1=0.5), optimizers.Adam(2e-4, beta_1=0.5))
    return model


class OwnTeacher(keras.Model):
    """Every exit learns from the labels, and the early ones also from the last."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            exits = self(x, training=True)
            soft = ops.stop_gradient(ops.softmax(exits[-1] / 3.0))
            loss = sum(ops.mean(losses.sparse_categorical_crossentropy(y, each, from_logits=True)) for each in exits)
            for early in exits[:-1]:
                loss += 0.3 * 9.0 * ops.mean(losses.kl_divergence(soft, ops.softmax(early / 3.0)))
            loss += ops.sum(self.losses)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture(floats(72, 72, 3), whole(120), 20)
def own_teacher() -> keras.Model:
    inputs = keras.Input((72, 72, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    exits = []
    for filters in (64, 96, 160):
        x = residual_pair(residual_pair(x, filters, 2), filters, 1)
        y = layers.Conv2D(128, 1, activation="relu", kernel_regularizer="l2")(x)
        exits.append(layers.Dense(120)(layers.GlobalAveragePooling2D()(y)))
    model = OwnTeacher(inputs, exits)
    model.compile(optimizers.AdamW(1e-3, global_clipnorm=1.0, use_ema=True))
    return model


class ActorCritic(keras.Model):
    """Proximal policy optimization on stacked frames of a game."""

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            logits, values = self(ops.cast(x["frames"], "float32") / 255.0, training=True)
            likely = ops.log_softmax(logits)
            chosen = ops.squeeze(ops.take_along_axis(likely, x["actions"][:, None], axis=1), 1)
            ratio = ops.exp(chosen - x["old"])
            advantages = (x["advantages"] - ops.mean(x["advantages"])) / (ops.std(x["advantages"]) + 1e-8)
            clipped = ops.clip(ratio, 0.8, 1.2) * advantages
            policy_loss = -ops.mean(ops.minimum(ratio * advantages, clipped))
            value_loss = ops.mean(ops.square(x["returns"] - ops.squeeze(values, 1)))
            entropy = -ops.mean(ops.sum(ops.exp(likely) * likely, axis=-1))
            loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss, "entropy": entropy, "value_loss": value_loss}


@architecture(
    {
        "frames": whole(256, 84, 84, 4),
        "actions": whole(6),
        "old": floats(),
        "advantages": floats(),
        "returns": floats(),
    },
    None,
    320,
    needs_x=True,
)
def actor_critic() -> keras.Model:
    orthogonal = initializers.Orthogonal(2**0.5, seed=3)
    frames = keras.Input((84, 84, 4))
    x = layers.Conv2D(32, 8, strides=4, activation="relu", kernel_initializer=orthogonal)(frames)
    x = layers.Conv2D(64, 4, strides=2, activation="relu", kernel_initializer=orthogonal)(x)
    x = layers.Conv2D(64, 3, activation="relu", kernel_initializer=orthogonal)(x)
    x = layers.Dense(512, activation="relu")(layers.Flatten()(x))
    model = ActorCritic(frames, [layers.Dense(6, name="policy")(x), layers.Dense(1, name="value")(x)])
    model.compile(optimizers.Adam(2.5e-4, epsilon=1e-5, global_clipnorm=0.5))
    return model


class SparseCode(layers.Layer):
    """Charges for every feature that is used, and for features that are used by everything."""

    def call(self, code: Any) -> Any:
        wide = ops.cast(code, "float32")
        self.add_loss(1e-3 * ops.mean(ops.sum(ops.abs(wide), axis=-1)))
        usage = ops.clip(ops.mean(ops.tanh(wide), axis=0), 1e-4, 1.0 - 1e-4)
        self.add_loss(1e-2 * ops.mean(0.05 * ops.log(0.05 / usage) + 0.95 * ops.log(0.95 / (1.0 - usage))))
        return code


@architecture(floats(384), floats(384), variant("bfloat16", 1024, policy="mixed_bfloat16"))
def sparse_autoencoder() -> keras.Model:
    """Takes apart what a language model's layer says, into thousands of features."""
    inputs = keras.Input((384,))
    code = SparseCode()(layers.Dense(6144, activation="relu")(inputs))
    unit = keras.constraints.UnitNorm(axis=1)
    outputs = layers.Dense(384, kernel_constraint=unit, dtype="float32")(code)
    model = keras.Model(inputs, outputs)
    model.compile(optimizers.LossScaleOptimizer(optimizers.Adam(1e-4)), "mse", metrics=["cosine_similarity"])
    return model
