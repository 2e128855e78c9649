"""Models by a fifth stranger, who had not seen the estimate.

They were unseen when they were first scored; since then they are known.
"""

from __future__ import annotations

import math
from typing import Any

import keras
import tensorflow as tf
from keras import applications, layers, losses, metrics, ops, optimizers, random, regularizers

from benchmarks.registry import architecture, floats, variant, whole

# Pictures


@architecture(floats(28, 28, 1), whole(10), 256)
def kannada_digits() -> keras.Model:
    model = keras.Sequential([keras.Input((28, 28, 1))])
    for filters in (32, 64, 128):
        for _ in range(2):
            model.add(layers.Conv2D(filters, 3, padding="same"))
            model.add(layers.BatchNormalization(momentum=0.9))
            model.add(layers.LeakyReLU(negative_slope=0.1))
        model.add(layers.MaxPooling2D(2))
        model.add(layers.Dropout(0.2))
    model.add(layers.Flatten())
    model.add(layers.Dense(256))
    model.add(layers.LeakyReLU(negative_slope=0.1))
    model.add(layers.BatchNormalization())
    model.add(layers.Dense(10, activation="softmax"))
    model.compile(optimizers.RMSprop(2e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(180, 180, 3), whole(5), 32, variant("steps_together", 32, steps=5))
def flower_photos(steps: int = 1) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((180, 180, 3)),
            layers.RandomFlip("horizontal"),
            layers.RandomRotation(0.1),
            layers.RandomZoom(0.1),
            layers.Rescaling(1 / 255),
            layers.Conv2D(16, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(32, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Conv2D(64, 3, padding="same", activation="relu"),
            layers.MaxPooling2D(),
            layers.Dropout(0.2),
            layers.Flatten(),
            layers.Dense(128, activation="relu"),
            layers.Dense(5),
        ]
    )
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("adam", loss, metrics=["accuracy"], steps_per_execution=steps)
    return model


@architecture(floats(96, 96, 3), whole(120), 14)
def dog_breeds() -> keras.Model:
    model = applications.ResNet50V2(weights=None, input_shape=(96, 96, 3), classes=120)
    optimizer = optimizers.SGD(0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    top_five = metrics.SparseTopKCategoricalAccuracy(5)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy", top_five])
    return model


@architecture({"picture": floats(128, 128, 3), "patient": floats(9)}, floats(1), 12)
def melanoma() -> keras.Model:
    picture = keras.Input((128, 128, 3), name="picture")
    patient = keras.Input((9,), name="patient")
    base = applications.Xception(include_top=False, weights=None, input_shape=(128, 128, 3), pooling="avg")
    for layer in base.layers[:86]:
        layer.trainable = False
    known = layers.Dense(64, activation="swish")(patient)
    known = layers.Dense(32, activation="swish")(layers.Dropout(0.3)(known))
    x = layers.Concatenate()([base(picture), known])
    x = layers.Dense(128, activation="relu")(layers.Dropout(0.4)(x))
    model = keras.Model({"picture": picture, "patient": patient}, layers.Dense(1, activation="sigmoid")(x))
    model.compile(
        optimizers.AdamW(3e-4, weight_decay=1e-5, global_clipnorm=1.0, gradient_accumulation_steps=4),
        losses.BinaryFocalCrossentropy(gamma=2.0, label_smoothing=0.05),
        metrics=[metrics.AUC(name="auc")],
    )
    return model


@architecture(floats(128, 128, 3), whole(3, 128, 128), 20)
def mobile_unet() -> keras.Model:
    base = applications.MobileNetV2(include_top=False, weights=None, input_shape=(128, 128, 3))
    skipped = ["block_1_expand_relu", "block_3_expand_relu", "block_6_expand_relu", "block_13_expand_relu"]
    down = keras.Model(base.input, [base.get_layer(name).output for name in [*skipped, "block_16_project"]])
    down.trainable = False
    inputs = keras.Input((128, 128, 3))
    *skips, x = down(inputs)
    for filters, skip in zip((512, 256, 128, 64), reversed(skips), strict=True):
        x = layers.Conv2DTranspose(filters, 3, strides=2, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
        x = layers.Concatenate()([x, skip])
    model = keras.Model(inputs, layers.Conv2DTranspose(3, 3, strides=2, padding="same")(x))
    overlap = metrics.MeanIoU(3, sparse_y_pred=False)
    model.compile("adam", losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["accuracy", overlap])
    return model


def twice_convolved_elu(x: Any, filters: int, dropout: float) -> Any:
    x = layers.Conv2D(filters, 3, padding="same", activation="elu", kernel_initializer="he_normal")(x)
    x = layers.Dropout(dropout)(x)
    return layers.Conv2D(filters, 3, padding="same", activation="elu", kernel_initializer="he_normal")(x)


@architecture(floats(128, 128, 3), whole(2, 128, 128, 1), 16)
def nuclei() -> keras.Model:
    inputs = keras.Input((128, 128, 3))
    x = layers.Lambda(lambda pixels: pixels / 255)(inputs)
    skips = []
    for filters, dropout in ((16, 0.1), (32, 0.1), (64, 0.2), (128, 0.2)):
        skips.append(twice_convolved_elu(x, filters, dropout))
        x = layers.MaxPooling2D(2)(skips[-1])
    x = twice_convolved_elu(x, 256, 0.3)
    for filters, dropout in ((128, 0.2), (64, 0.2), (32, 0.1), (16, 0.1)):
        x = layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)
        x = twice_convolved_elu(layers.concatenate([x, skips.pop()]), filters, dropout)
    model = keras.Model(inputs, layers.Conv2D(1, 1, activation="sigmoid")(x))
    model.compile(optimizers.Nadam(), "binary_crossentropy", metrics=[metrics.BinaryIoU(target_class_ids=[1])])
    return model


def dilated_residual(x: Any, filters: int, strides: int = 1, dilation: int = 1) -> Any:
    y = layers.Conv2D(filters // 4, 1, strides=strides, use_bias=False)(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.Conv2D(filters // 4, 3, padding="same", dilation_rate=dilation, use_bias=False)(y)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(y))
    if x.shape[-1] != filters or strides > 1:
        x = layers.BatchNormalization()(layers.Conv2D(filters, 1, strides=strides, use_bias=False)(x))
    return layers.ReLU()(layers.Add()([x, y]))


def pyramid_level(x: Any, pool: int) -> Any:
    y = layers.AveragePooling2D(pool)(x)
    y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(64, 1, use_bias=False)(y)))
    return layers.UpSampling2D(pool, interpolation="bilinear")(y)


@architecture(floats(256, 512, 3), whole(19, 256, 512), 1)
def road_scenes() -> keras.Model:
    inputs = keras.Input((256, 512, 3))
    x = inputs
    for filters, strides in ((32, 2), (32, 1), (64, 1)):
        x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
    for filters, strides, dilation in ((128, 1, 1), (256, 2, 1), (256, 1, 1), (512, 1, 2), (512, 1, 2), (512, 1, 4)):
        x = dilated_residual(x, filters, strides, dilation)
    x = layers.Concatenate()([x, *(pyramid_level(x, pool) for pool in (32, 16, 8, 4))])
    x = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(128, 3, padding="same", use_bias=False)(x)))
    x = layers.Conv2D(19, 1)(layers.SpatialDropout2D(0.1)(x))
    model = keras.Model(inputs, layers.UpSampling2D(8, interpolation="bilinear")(x))
    rate = optimizers.schedules.PolynomialDecay(1e-2, 90_000, power=0.9)
    loss = losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=18)
    model.compile(optimizers.SGD(rate, momentum=0.9, clipnorm=5.0), loss, metrics=["accuracy"])
    return model


@architecture(floats(25, 25, 30, 1), floats(16), 20)
def hyperspectral_pixels() -> keras.Model:
    inputs = keras.Input((25, 25, 30, 1))
    x = layers.Conv3D(8, (3, 3, 7), activation="relu")(inputs)
    x = layers.Conv3D(16, (3, 3, 5), activation="relu")(x)
    x = layers.Conv3D(32, (3, 3, 3), activation="relu")(x)
    x = layers.Reshape((x.shape[1], x.shape[2], x.shape[3] * x.shape[4]))(x)
    x = layers.Flatten()(layers.Conv2D(64, 3, activation="relu")(x))
    for units in (256, 128):
        x = layers.Dropout(0.4)(layers.Dense(units, activation="relu")(x))
    model = keras.Model(inputs, layers.Dense(16, activation="softmax")(x))
    rate = optimizers.schedules.InverseTimeDecay(1e-3, 1, 1e-6)
    model.compile(optimizers.Adam(rate), "categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(128, 128, 1), floats(128, 128, 2), 10)
def colourised() -> keras.Model:
    inputs = keras.Input((128, 128, 1))
    x = inputs
    for filters, strides in ((64, 2), (128, 1), (128, 2), (256, 1), (256, 2), (256, 1)):
        x = layers.Conv2D(filters, 3, strides=strides, padding="same", activation="relu")(x)
    scene = x
    for strides in (2, 1, 2):
        scene = layers.Conv2D(256, 3, strides=strides, padding="same", activation="relu")(scene)
    scene = layers.Flatten()(scene)
    for units in (512, 256, 128):
        scene = layers.Dense(units, activation="relu")(scene)
    scene = layers.Reshape((16, 16, 128))(layers.RepeatVector(16 * 16)(scene))
    x = layers.Conv2D(128, 1, activation="relu")(layers.Concatenate()([x, scene]))
    for filters in (128, 64, 32):
        x = layers.Conv2D(filters, 3, padding="same", activation="relu")(x)
        x = layers.UpSampling2D(2)(x)
    model = keras.Model(inputs, layers.Conv2D(2, 3, padding="same", activation="tanh")(x))
    model.compile(optimizers.Adadelta(1.0), "mse")
    return model


def inverted(x: Any, expanded: int, filters: int, strides: int = 1) -> Any:
    y = layers.Conv2D(expanded, 1, use_bias=False)(x)
    y = ops.silu(layers.BatchNormalization()(y))
    y = layers.DepthwiseConv2D(3, strides=strides, padding="same", use_bias=False)(y)
    y = ops.silu(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 1, use_bias=False)(y))
    return layers.Add()([x, y]) if strides == 1 and x.shape[-1] == filters else y


def mobile_vit_block(x: Any, width: int, depth: int) -> Any:
    height, breadth, channels = x.shape[1:]
    local = layers.Conv2D(width, 3, padding="same", activation="swish")(x)
    local = layers.Conv2D(width, 1, activation="swish")(local)
    y = layers.Reshape((4, height * breadth // 4, width))(local)
    for _ in range(depth):
        attended = layers.LayerNormalization(epsilon=1e-6)(y)
        attended = layers.MultiHeadAttention(2, width, dropout=0.1, attention_axes=2)(attended, attended)
        y = layers.Add()([y, attended])
        mixed = layers.LayerNormalization(epsilon=1e-6)(y)
        for units in (2 * width, width):
            mixed = layers.Dropout(0.1)(layers.Dense(units, activation="swish")(mixed))
        y = layers.Add()([y, mixed])
    y = layers.Conv2D(channels, 1, activation="swish")(layers.Reshape((height, breadth, width))(y))
    return layers.Conv2D(width, 3, padding="same", activation="swish")(layers.Concatenate()([x, y]))


@architecture(floats(160, 160, 3), whole(5), 16)
def mobile_vit() -> keras.Model:
    inputs = keras.Input((160, 160, 3))
    x = layers.Rescaling(1 / 127.5, offset=-1)(inputs)
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    x = inverted(x, 32, 16)
    x = inverted(x, 32, 24, strides=2)
    x = inverted(inverted(x, 48, 24), 48, 24)
    x = mobile_vit_block(inverted(x, 48, 48, strides=2), 64, depth=2)
    x = mobile_vit_block(inverted(x, 128, 64, strides=2), 80, depth=4)
    x = layers.Conv2D(320, 1, activation="swish")(x)
    outputs = layers.Dense(5)(layers.GlobalAveragePooling2D()(x))
    model = keras.Model(inputs, outputs)
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Lamb(2e-3, weight_decay=1e-2), loss, metrics=["accuracy"])
    return model


def external_attention(x: Any, heads: int, memory: int) -> Any:
    tokens, width = x.shape[1:]
    y = layers.Reshape((tokens, heads, 4 * width // heads))(layers.Dense(4 * width)(x))
    y = layers.Permute((2, 1, 3))(y)
    y = layers.Softmax(axis=2)(layers.Dense(memory)(y))
    y = y / (1e-6 + ops.sum(y, axis=-1, keepdims=True))
    y = layers.Dense(4 * width // heads)(layers.Dropout(0.2)(y))
    y = layers.Reshape((tokens, 4 * width))(layers.Permute((2, 1, 3))(y))
    return layers.Dropout(0.2)(layers.Dense(width)(y))


@architecture(floats(32, 32, 3), floats(100), 32, variant("bfloat16", 48, policy="mixed_bfloat16"))
def external_memory() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    x = layers.RandomContrast(0.1)(layers.RandomFlip("horizontal")(inputs))
    x = layers.Reshape((256, 12))(ops.image.extract_patches(x, 2))
    x = layers.Dense(64)(x) + layers.Embedding(256, 64)(ops.arange(256))
    for _ in range(6):
        x = x + external_attention(layers.LayerNormalization(epsilon=1e-6)(x), heads=4, memory=64)
        y = layers.Dense(64, activation="gelu")(layers.LayerNormalization(epsilon=1e-6)(x))
        x = x + layers.Dense(64)(layers.Dropout(0.2)(y))
    x = layers.GlobalAveragePooling1D()(x)
    model = keras.Model(inputs, layers.Dense(100, activation="softmax", dtype="float32")(x))
    model.compile(
        optimizers.AdamW(1e-3, weight_decay=1e-4),
        losses.CategoricalCrossentropy(label_smoothing=0.1),
        metrics=[metrics.CategoricalAccuracy(), metrics.TopKCategoricalAccuracy(5)],
    )
    return model


class MixedUp(keras.Model):
    def train_step(self, data: Any) -> dict[str, Any]:
        pictures, labels, _ = keras.utils.unpack_x_y_sample_weight(data)
        share = tf.random.uniform([tf.shape(pictures)[0], 1])
        order = tf.random.shuffle(tf.range(tf.shape(pictures)[0]))
        picture_share = share[:, :, None, None]
        mixed = pictures * picture_share + tf.gather(pictures, order) * (1 - picture_share)
        mixed_labels = labels * share + tf.gather(labels, order) * (1 - share)
        return super().train_step((mixed, mixed_labels))


@architecture(floats(64, 64, 3), floats(43), 64)
def blended_pictures() -> keras.Model:
    inputs = keras.Input((64, 64, 3))
    x = layers.Conv2D(32, 3, padding="same", activation="relu")(inputs)
    for filters in (64, 128, 256):
        shortcut = layers.Conv2D(filters, 1, strides=2)(x)
        for _ in range(2):
            x = layers.SeparableConv2D(filters, 3, padding="same", use_bias=False)(x)
            x = layers.Activation("relu")(layers.BatchNormalization()(x))
        x = layers.Add()([layers.MaxPooling2D(3, strides=2, padding="same")(x), shortcut])
    x = layers.Dropout(0.5)(layers.GlobalAveragePooling2D()(x))
    model = MixedUp(inputs, layers.Dense(43, activation="softmax")(x))
    model.compile(optimizers.Lion(3e-4), "categorical_crossentropy", metrics=["categorical_accuracy"])
    return model


class SharpnessAware(keras.Model):
    def gradients(self, x: Any, y: Any) -> tuple[Any, Any, list[Any]]:
        with tf.GradientTape() as tape:
            predicted = self(x, training=True)
            loss = self.compute_loss(x, y, predicted)
        return loss, predicted, tape.gradient(loss, self.trainable_weights)

    def train_step(self, data: Any) -> dict[str, Any]:
        x, y, _ = keras.utils.unpack_x_y_sample_weight(data)
        loss, predicted, gradients = self.gradients(x, y)
        scale = 0.05 / (tf.linalg.global_norm(gradients) + 1e-12)
        steps = [gradient * scale for gradient in gradients]
        for weight, step in zip(self.trainable_weights, steps, strict=True):
            weight.assign_add(step)
        _, _, sharp_gradients = self.gradients(x, y)
        for weight, step in zip(self.trainable_weights, steps, strict=True):
            weight.assign_sub(step)
        self.optimizer.apply(sharp_gradients, self.trainable_weights)
        for metric in self.metrics:
            if metric.name == "loss":
                metric.update_state(loss)
            else:
                metric.update_state(y, predicted)
        return self.get_metrics_result()


def basic_block(x: Any, filters: int, strides: int) -> Any:
    weighed = regularizers.L2(1e-4)
    y = layers.Conv2D(filters, 3, strides=strides, padding="same", kernel_regularizer=weighed)(x)
    y = layers.Activation("relu")(layers.BatchNormalization()(y))
    y = layers.BatchNormalization()(layers.Conv2D(filters, 3, padding="same", kernel_regularizer=weighed)(y))
    if strides > 1:
        x = layers.Conv2D(filters, 1, strides=strides, kernel_regularizer=weighed)(x)
    return layers.Activation("relu")(layers.Add()([x, y]))


def resnet20_features(inputs: Any) -> Any:
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same")(inputs)))
    for filters, strides in ((16, 1), (16, 1), (16, 1), (32, 2), (32, 1), (32, 1), (64, 2), (64, 1), (64, 1)):
        x = basic_block(x, filters, strides)
    return layers.GlobalAveragePooling2D()(x)


@architecture(floats(32, 32, 3), floats(10), 96)
def flat_minima() -> keras.Model:
    inputs = keras.Input((32, 32, 3))
    model = SharpnessAware(inputs, layers.Dense(10, activation="softmax")(resnet20_features(inputs)))
    model.compile(optimizers.SGD(0.1, momentum=0.9), "categorical_crossentropy", metrics=["categorical_accuracy"])
    return model


class SimSiam(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        inputs = keras.Input((32, 32, 3))
        x = layers.BatchNormalization()(layers.Dense(2048, use_bias=False)(resnet20_features(inputs)))
        x = layers.BatchNormalization()(layers.Dense(2048, use_bias=False)(layers.ReLU()(x)))
        self.encoder = keras.Model(inputs, x)
        self.predictor = keras.Sequential(
            [
                keras.Input((2048,)),
                layers.Dense(512, use_bias=False, kernel_regularizer=regularizers.L2(5e-4)),
                layers.ReLU(),
                layers.BatchNormalization(),
                layers.Dense(2048),
            ]
        )
        self.augmenter = keras.Sequential(
            [
                layers.RandomFlip("horizontal"),
                layers.RandomTranslation(0.2, 0.2),
                layers.RandomBrightness(0.3, value_range=(0, 1)),
                layers.GaussianNoise(0.05),
            ]
        )

    def train_step(self, data: Any) -> dict[str, Any]:
        pictures, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        one, other = (self.augmenter(pictures, training=True) for _ in range(2))
        with tf.GradientTape() as tape:
            first, second = self.encoder(one, training=True), self.encoder(other, training=True)
            loss = (
                self.distance(self.predictor(first, training=True), second)
                + self.distance(self.predictor(second, training=True), first)
            ) / 2
        weights = self.encoder.trainable_variables + self.predictor.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
        return {"loss": loss}

    def distance(self, predicted: Any, target: Any) -> Any:
        predicted = tf.math.l2_normalize(predicted, axis=1)
        target = tf.math.l2_normalize(tf.stop_gradient(target), axis=1)
        return -tf.reduce_mean(tf.reduce_sum(predicted * target, axis=1))


@architecture(floats(32, 32, 3), None, 64, needs_x=True)
def simple_siamese() -> keras.Model:
    model = SimSiam()
    model.compile(optimizers.SGD(optimizers.schedules.CosineDecay(0.03, 2000), momentum=0.6))
    return model


class ConditionalGan(keras.Model):
    def __init__(self, latent: int = 128, classes: int = 10) -> None:
        super().__init__()
        self.latent, self.classes = latent, classes
        self.discriminator = keras.Sequential(
            [
                keras.Input((28, 28, 1 + classes)),
                layers.Conv2D(64, 3, strides=2, padding="same"),
                layers.LeakyReLU(negative_slope=0.2),
                layers.Conv2D(128, 3, strides=2, padding="same"),
                layers.LeakyReLU(negative_slope=0.2),
                layers.GlobalMaxPooling2D(),
                layers.Dense(1),
            ]
        )
        self.generator = keras.Sequential(
            [
                keras.Input((latent + classes,)),
                layers.Dense(7 * 7 * (latent + classes)),
                layers.LeakyReLU(negative_slope=0.2),
                layers.Reshape((7, 7, latent + classes)),
                layers.Conv2DTranspose(128, 4, strides=2, padding="same"),
                layers.LeakyReLU(negative_slope=0.2),
                layers.Conv2DTranspose(128, 4, strides=2, padding="same"),
                layers.LeakyReLU(negative_slope=0.2),
                layers.Conv2D(1, 7, padding="same", activation="sigmoid"),
            ]
        )

    def compile(self, d_optimizer: Any, g_optimizer: Any) -> None:
        super().compile()
        self.d_optimizer, self.g_optimizer = d_optimizer, g_optimizer
        self.loss_fn = losses.BinaryCrossentropy(from_logits=True)

    def generated(self, labels: Any, training: bool) -> Any:
        noise = tf.random.normal((tf.shape(labels)[0], self.latent))
        return self.generator(tf.concat([noise, labels], axis=1), training=training)

    def labelled(self, pictures: Any, labels: Any) -> Any:
        planes = tf.tile(labels[:, None, None, :], [1, 28, 28, 1])
        return tf.concat([pictures, planes], axis=-1)

    def train_step(self, data: Any) -> dict[str, Any]:
        real, classes, _ = keras.utils.unpack_x_y_sample_weight(data)
        labels = tf.one_hot(classes, self.classes)
        fake = self.labelled(self.generated(labels, training=False), labels)
        both = tf.concat([fake, self.labelled(real, labels)], axis=0)
        count = tf.shape(real)[0]
        truth = tf.concat([tf.ones((count, 1)), tf.zeros((count, 1))], axis=0)
        with tf.GradientTape() as tape:
            d_loss = self.loss_fn(truth, self.discriminator(both, training=True))
        weights = self.discriminator.trainable_weights
        self.d_optimizer.apply_gradients(zip(tape.gradient(d_loss, weights), weights, strict=True))
        with tf.GradientTape() as tape:
            fake = self.labelled(self.generated(labels, training=True), labels)
            g_loss = self.loss_fn(tf.zeros((count, 1)), self.discriminator(fake))
        weights = self.generator.trainable_weights
        self.g_optimizer.apply_gradients(zip(tape.gradient(g_loss, weights), weights, strict=True))
        return {"d_loss": d_loss, "g_loss": g_loss}


@architecture(floats(28, 28, 1), whole(10), 64, needs_x=True)
def digits_on_demand() -> keras.Model:
    model = ConditionalGan()
    model.compile(optimizers.Adam(3e-4), optimizers.Adam(3e-4))
    return model


def narrow_residual(x: Any, filters: int) -> Any:
    y = layers.Conv2D(filters // 2, 1, activation="relu")(layers.BatchNormalization()(x))
    y = layers.Conv2D(filters, 3, padding="same", activation="relu")(y)
    return layers.add([x if x.shape[-1] == filters else layers.Conv2D(filters, 1)(x), y])


def hourglass(x: Any, filters: int, depth: int) -> Any:
    upper = narrow_residual(x, filters)
    lower = narrow_residual(layers.MaxPooling2D(2)(x), filters)
    lower = hourglass(lower, filters, depth - 1) if depth > 1 else narrow_residual(lower, filters)
    return layers.add([upper, layers.UpSampling2D(2)(narrow_residual(lower, filters))])


@architecture(floats(128, 128, 3), [floats(32, 32, 16), floats(32, 32, 16)], 12)
def human_poses() -> keras.Model:
    inputs = keras.Input((128, 128, 3))
    x = layers.BatchNormalization()(layers.Conv2D(32, 7, strides=2, padding="same", activation="relu")(inputs))
    x = narrow_residual(layers.MaxPooling2D(2)(narrow_residual(x, 64)), 128)
    heatmaps = []
    for stack in range(2):
        y = narrow_residual(hourglass(x, 128, depth=3), 128)
        y = layers.BatchNormalization()(layers.Conv2D(128, 1, activation="relu")(y))
        heatmaps.append(layers.Conv2D(16, 1, name=f"joints_{stack}")(y))
        x = layers.add([x, layers.Conv2D(128, 1)(y), layers.Conv2D(128, 1)(heatmaps[-1])])
    model = keras.Model(inputs, heatmaps)
    model.compile(optimizers.RMSprop(2.5e-4, momentum=0.9, centered=True), ["mse", "mse"])
    return model


# Sequences


def sleep_branch(x: Any, kernel: int, strides: int, pool: int) -> Any:
    y = layers.Conv1D(64, kernel, strides=strides, padding="same", kernel_regularizer=regularizers.L2(1e-3))(x)
    y = layers.ReLU()(layers.BatchNormalization()(y))
    y = layers.Dropout(0.5)(layers.MaxPooling1D(pool)(y))
    for _ in range(3):
        y = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(128, 7, padding="same")(y)))
    return layers.Flatten()(layers.MaxPooling1D(4)(y))


@architecture(floats(3000, 1), whole(5), 128)
def sleep_stages() -> keras.Model:
    inputs = keras.Input((3000, 1))
    x = layers.concatenate([sleep_branch(inputs, 50, 6, 8), sleep_branch(inputs, 400, 50, 4)])
    x = layers.Dense(512, activation="relu")(layers.Dropout(0.5)(x))
    model = keras.Model(inputs, layers.Dense(5, activation="softmax")(x))
    model.compile(optimizers.Adam(1e-4, amsgrad=True), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


@architecture(floats(80, 17), floats(1), 256)
def engine_life() -> keras.Model:
    inputs = keras.Input((80, 17))
    x = layers.Conv1D(64, 5, padding="causal", activation="relu")(inputs)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(48, return_sequences=True))(layers.Dropout(0.2)(x))
    scores = layers.Flatten()(layers.Dense(1, activation="tanh")(x))
    weights = layers.Softmax()(scores)
    x = layers.Dot(axes=1)([weights, x])
    x = layers.Dense(64, activation="relu")(x)
    model = keras.Model(inputs, layers.Dense(1)(x))
    model.compile(optimizers.RMSprop(1e-3, clipvalue=0.5), losses.Huber(), metrics=[metrics.RootMeanSquaredError()])
    return model


@architecture(floats(168, 9), floats(24), 256)
def household_power() -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((168, 9)),
            layers.Normalization(mean=0.5, variance=0.08),
            layers.GRU(96, return_sequences=True, recurrent_dropout=0.1),
            layers.GRU(64, return_sequences=True),
            layers.GRU(32, reset_after=False),
            layers.Dense(24),
        ]
    )
    model.compile(optimizers.Adamax(2e-3), "mae")
    return model


@architecture({"english": whole(8000, 40), "shifted_french": whole(9000, 36)}, whole(9000, 36), 40)
def french_lessons() -> keras.Model:
    english = keras.Input((40,), dtype="int32", name="english")
    shifted = keras.Input((36,), dtype="int32", name="shifted_french")
    read = layers.Embedding(8000, 192, mask_zero=True)(english)
    encoded, *states = layers.LSTM(256, return_sequences=True, return_state=True)(read)
    spoken = layers.Embedding(9000, 192, mask_zero=True)(shifted)
    decoded = layers.LSTM(256, return_sequences=True)(spoken, initial_state=states)
    context = layers.Attention(use_scale=True)([decoded, encoded])
    x = layers.Dense(256, activation="tanh")(layers.Concatenate()([decoded, context]))
    outputs = layers.TimeDistributed(layers.Dense(9000, activation="softmax"))(layers.Dropout(0.3)(x))
    model = keras.Model({"english": english, "shifted_french": shifted}, outputs)
    model.compile(optimizers.Adam(1e-3, clipnorm=1.0), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class ContextPooling(layers.Layer):
    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.hidden = layers.Dense(units, activation="tanh")
        self.score = layers.Dense(1, use_bias=False)

    def call(self, steps: Any) -> Any:
        weights = ops.softmax(self.score(self.hidden(steps)), axis=1)
        return ops.sum(weights * steps, axis=1)


@architecture(whole(40_000, 10, 40), whole(5), 48)
def restaurant_reviews() -> keras.Model:
    sentence = keras.Input((40,), dtype="int32")
    words = layers.Embedding(40_000, 128)(sentence)
    words = layers.Bidirectional(layers.GRU(50, return_sequences=True))(words)
    sentence_encoder = keras.Model(sentence, ContextPooling(100)(words))
    document = keras.Input((10, 40), dtype="int32")
    sentences = layers.TimeDistributed(sentence_encoder)(document)
    sentences = layers.Bidirectional(layers.GRU(50, return_sequences=True))(sentences)
    x = layers.Dropout(0.3)(ContextPooling(100)(sentences))
    model = keras.Model(document, layers.Dense(5, activation="softmax")(x))
    model.compile(optimizers.Adagrad(0.05), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class Highway(layers.Layer):
    def build(self, shape: tuple[int | None, ...]) -> None:
        self.carry = layers.Dense(shape[-1], activation="sigmoid", bias_initializer=keras.initializers.Constant(-1))
        self.change = layers.Dense(shape[-1], activation="relu")
        self.carry.build(shape)
        self.change.build(shape)

    def call(self, x: Any) -> Any:
        gate = self.carry(x)
        return gate * self.change(x) + (1 - gate) * x


class Similarity(layers.Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.score = layers.Dense(1)

    def call(self, context: Any, question: Any) -> Any:
        context = ops.repeat(ops.expand_dims(context, 2), question.shape[1], axis=2)
        question = ops.repeat(ops.expand_dims(question, 1), context.shape[1], axis=1)
        together = ops.concatenate([context, question, context * question], axis=-1)
        return ops.squeeze(self.score(together), axis=-1)


@architecture(
    {"passage": whole(20_000, 150), "question": whole(20_000, 20)}, {"start": whole(150), "end": whole(150)}, 12
)
def passage_reader() -> keras.Model:
    passage = keras.Input((150,), dtype="int32", name="passage")
    question = keras.Input((20,), dtype="int32", name="question")
    embed, first, second = layers.Embedding(20_000, 100), Highway(), Highway()
    contextual = layers.Bidirectional(layers.LSTM(64, return_sequences=True))
    read, asked = (contextual(second(first(embed(words)))) for words in (passage, question))
    similarity = Similarity()(read, asked)
    to_question = ops.matmul(ops.softmax(similarity, axis=-1), asked)
    to_passage = ops.expand_dims(ops.softmax(ops.max(similarity, axis=2)), 1)
    to_passage = ops.repeat(ops.matmul(to_passage, read), 150, axis=1)
    merged = layers.Concatenate()([read, to_question, read * to_question, read * to_passage])
    modelled = merged
    for _ in range(2):
        modelled = layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.2))(modelled)
    start = layers.Flatten()(layers.Dense(1)(layers.Concatenate()([merged, modelled])))
    ending = layers.Bidirectional(layers.LSTM(64, return_sequences=True, dropout=0.2))(modelled)
    end = layers.Flatten()(layers.Dense(1)(layers.Concatenate()([merged, ending])))
    outputs = {"start": layers.Softmax(name="start")(start), "end": layers.Softmax(name="end")(end)}
    model = keras.Model({"passage": passage, "question": question}, outputs)
    loss = dict.fromkeys(outputs, "sparse_categorical_crossentropy")
    model.compile(optimizers.Adadelta(0.5, use_ema=True, ema_momentum=0.999), loss)
    return model


@architecture(floats(336, 7), floats(96, 7), 40, variant("compiled", 32, jit=True))
def patched_forecast(jit: bool = False) -> keras.Model:
    inputs = keras.Input((336, 7))
    mean = ops.mean(inputs, axis=1, keepdims=True)
    spread = ops.std(inputs, axis=1, keepdims=True) + 1e-5
    channels = ops.reshape(ops.transpose((inputs - mean) / spread, (0, 2, 1)), (-1, 336))
    patches = ops.stack([channels[:, begin : begin + 16] for begin in range(0, 336 - 15, 8)], axis=1)
    x = layers.Dense(128)(patches) + layers.Embedding(41, 128)(ops.arange(41))
    for _ in range(3):
        attended = layers.MultiHeadAttention(16, 8, dropout=0.2)(x, x)
        x = layers.BatchNormalization()(x + layers.Dropout(0.2)(attended))
        y = layers.Dense(128)(layers.Dropout(0.2)(layers.Dense(256, activation="gelu")(x)))
        x = layers.BatchNormalization()(x + layers.Dropout(0.2)(y))
    future = layers.Dense(96)(layers.Flatten()(x))
    future = ops.transpose(ops.reshape(future, (-1, 7, 96)), (0, 2, 1))
    model = keras.Model(inputs, future * spread + mean)
    model.compile(optimizers.AdamW(1e-4), "mse", metrics=["mae"], jit_compile=jit)
    return model


class DistanceBiasedAttention(layers.Layer):
    def __init__(self, width: int, heads: int, reach: int = 32, causal: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.width, self.heads, self.reach, self.causal = width, heads, reach, causal
        self.queries, self.keys, self.values, self.joined = (layers.Dense(width, use_bias=False) for _ in range(4))
        self.bias = layers.Embedding(2 * reach + 1, heads)

    def split(self, x: Any) -> Any:
        x = ops.reshape(x, (-1, x.shape[1], self.heads, self.width // self.heads))
        return ops.transpose(x, (0, 2, 1, 3))

    def call(self, x: Any) -> Any:
        queries, keys, values = (self.split(part(x)) for part in (self.queries, self.keys, self.values))
        places = ops.arange(x.shape[1])
        distances = places[None, :] - places[:, None]
        bias = self.bias(ops.clip(distances, -self.reach, self.reach) + self.reach)
        scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2)) + ops.transpose(bias, (2, 0, 1))
        if self.causal:
            scores = ops.where(distances > 0, ops.cast(-1e9, scores.dtype), scores)
        mixed = ops.matmul(ops.softmax(scores), values)
        return self.joined(ops.reshape(ops.transpose(mixed, (0, 2, 1, 3)), (-1, x.shape[1], self.width)))


def gated_feed_forward(x: Any, width: int) -> Any:
    y = layers.RMSNormalization()(x)
    gated = layers.Dense(2 * width, activation="gelu", use_bias=False)(y) * layers.Dense(2 * width, use_bias=False)(y)
    return x + layers.Dense(width, use_bias=False)(layers.Dropout(0.1)(gated))


@architecture(
    {"text": whole(12_000, 128), "shifted": whole(12_000, 48)},
    whole(12_000, 48),
    16,
    variant("bfloat16", 16, policy="mixed_bfloat16"),
)
def headline_writer() -> keras.Model:
    text = keras.Input((128,), dtype="int32", name="text")
    shifted = keras.Input((48,), dtype="int32", name="shifted")
    vocabulary = layers.Embedding(12_000, 256)
    encoded, x = vocabulary(text), vocabulary(shifted)
    for _ in range(3):
        encoded = encoded + DistanceBiasedAttention(256, 4)(layers.RMSNormalization()(encoded))
        encoded = gated_feed_forward(encoded, 256)
    encoded = layers.RMSNormalization()(encoded)
    for _ in range(3):
        x = x + DistanceBiasedAttention(256, 4, causal=True)(layers.RMSNormalization()(x))
        x = x + layers.MultiHeadAttention(4, 64, use_bias=False)(layers.RMSNormalization()(x), encoded)
        x = gated_feed_forward(x, 256)
    logits = layers.Dense(12_000, use_bias=False)(layers.RMSNormalization()(x))
    model = keras.Model({"text": text, "shifted": shifted}, layers.Activation("linear", dtype="float32")(logits))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.Adafactor(1e-3), loss, metrics=["sparse_categorical_accuracy"])
    return model


def noise_conditioned(x: Any, level: Any, filters: int) -> Any:
    y = layers.Conv1D(filters, 5, padding="same")(ops.silu(layers.GroupNormalization(8)(x)))
    y = y + layers.Dense(filters)(level)[:, None, :]
    y = layers.Conv1D(filters, 5, padding="same")(ops.silu(layers.GroupNormalization(8)(y)))
    return y + (x if x.shape[-1] == filters else layers.Conv1D(filters, 1)(x))


def series_denoiser(length: int, channels: int) -> keras.Model:
    noisy, level = keras.Input((length, channels)), keras.Input((1,))
    angles = level * ops.exp(ops.linspace(0.0, math.log(1000.0), 32)) * 2 * math.pi
    condition = layers.Dense(128, activation="silu")(ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=1))
    x = layers.Conv1D(64, 5, padding="same")(noisy)
    skips = []
    for filters in (64, 96, 128):
        x = noise_conditioned(x, condition, filters)
        skips.append(x)
        x = layers.Conv1D(filters, 3, strides=2, padding="same")(x)
    x = noise_conditioned(x, condition, 160)
    for filters in (128, 96, 64):
        x = layers.Conv1DTranspose(filters, 4, strides=2, padding="same")(x)
        x = noise_conditioned(layers.Concatenate()([x, skips.pop()]), condition, filters)
    return keras.Model([noisy, level], layers.Conv1D(channels, 1, kernel_initializer="zeros")(x))


class SeriesDiffusion(keras.Model):
    def __init__(self, length: int, channels: int) -> None:
        super().__init__()
        self.network = series_denoiser(length, channels)
        self.loss_tracker = metrics.Mean(name="loss")

    def train_step(self, data: Any) -> dict[str, Any]:
        series, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        count = tf.shape(series)[0]
        noise = tf.random.normal(tf.shape(series))
        level = tf.random.uniform((count, 1, 1))
        noisy = tf.cos(level * math.pi / 2) * series + tf.sin(level * math.pi / 2) * noise
        with tf.GradientTape() as tape:
            predicted = self.network([noisy, level[:, :, 0]], training=True)
            loss = tf.reduce_mean(tf.abs(noise - predicted))
        gradients = tape.gradient(loss, self.network.trainable_weights)
        self.optimizer.apply_gradients(zip(gradients, self.network.trainable_weights, strict=True))
        self.loss_tracker.update_state(loss)
        return {"loss": self.loss_tracker.result()}


@architecture(floats(512, 6), None, 48, needs_x=True)
def synthetic_signals() -> keras.Model:
    model = SeriesDiffusion(512, 6)
    model.compile(optimizers.AdamW(1e-3, weight_decay=1e-4, use_ema=True, ema_momentum=0.999))
    return model


# Tables, words and recommendations


def weighted_logarithms(counts: Any, predicted: Any) -> Any:
    counts = ops.reshape(counts, ops.shape(predicted))
    return ops.minimum(counts, 1.0) ** 0.75 * ops.square(predicted - ops.log(counts + 1e-6))


@architecture(
    [whole(80_000), whole(80_000)],
    floats(),
    variant("sgd", 4096, optimizer="sgd"),
    variant("adagrad", 4096, optimizer="adagrad"),
    variant("adam", 1024, optimizer="adam"),
)
def global_vectors(optimizer: str) -> keras.Model:
    words = [keras.Input((), dtype="int32"), keras.Input((), dtype="int32")]
    vectors = [layers.Embedding(80_000, 128)(word) for word in words]
    biases = [layers.Embedding(80_000, 1)(word) for word in words]
    outputs = layers.Add()([layers.Dot(axes=1)(vectors), *biases])
    model = keras.Model(words, outputs)
    model.compile(optimizer, weighted_logarithms)
    return model


@architecture({"fields": whole(2000, 26), "numbers": floats(13)}, whole(2), 2048)
def interacting_fields() -> keras.Model:
    fields = keras.Input((26,), dtype="int32", name="fields")
    numbers = keras.Input((13,), name="numbers")
    embedded = layers.Embedding(26 * 2000, 16, embeddings_regularizer=regularizers.L2(1e-6))(
        fields + ops.arange(26) * 2000
    )
    scaled = layers.Reshape((13, 1))(numbers) * layers.Embedding(13, 16)(ops.arange(13))
    x = layers.Concatenate(axis=1)([embedded, scaled])
    for _ in range(2):
        x = layers.ReLU()(layers.MultiHeadAttention(2, 16, output_shape=32)(x, x) + layers.Dense(32)(x))
    linear = ops.sum(layers.Embedding(26 * 2000, 1)(fields + ops.arange(26) * 2000), axis=1)
    outputs = layers.Activation("sigmoid")(layers.Dense(1)(layers.Flatten()(x)) + linear)
    model = keras.Model({"fields": fields, "numbers": numbers}, outputs)
    model.compile(optimizers.Ftrl(0.05, l1_regularization_strength=1e-4), "binary_crossentropy", metrics=["AUC"])
    return model


class SampledTaste(layers.Layer):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seeds = random.SeedGenerator(11)

    def call(self, mean: Any, log_variance: Any) -> Any:
        divergence = -0.5 * ops.sum(1 + log_variance - ops.square(mean) - ops.exp(log_variance), axis=1)
        self.add_loss(0.2 * ops.mean(divergence))
        return mean + ops.exp(log_variance / 2) * random.normal(ops.shape(mean), seed=self.seeds)


def multinomial(bought: Any, logits: Any) -> Any:
    return -ops.sum(bought * ops.log_softmax(logits), axis=-1)


@architecture(floats(10_000), floats(10_000), 300)
def basket_completion() -> keras.Model:
    inputs = keras.Input((10_000,))
    x = layers.Dropout(0.5)(layers.UnitNormalization()(inputs))
    x = layers.Dense(600, activation="tanh")(x)
    taste = SampledTaste()(layers.Dense(200)(x), layers.Dense(200)(x))
    x = layers.Dense(600, activation="tanh")(taste)
    model = keras.Model(inputs, layers.Dense(10_000)(x))
    model.compile(optimizers.Adam(1e-3), multinomial)
    return model


@architecture(floats(875), whole(2, 206), variant("muon", 2048, muon=True), variant("compiled", 4096, jit=True))
def drug_mechanisms(muon: bool = False, jit: bool = False) -> keras.Model:
    inputs = keras.Input((875,))
    x = layers.BatchNormalization()(inputs)
    for units in (768, 768, 512):
        x = layers.Dropout(0.3)(layers.Dense(units, activation="selu", kernel_initializer="lecun_normal")(x))
        x = layers.BatchNormalization()(x)
    model = keras.Model(inputs, layers.Dense(206, activation="sigmoid")(x))
    chosen = optimizers.Muon(1e-3) if muon else optimizers.AdamW(1e-3, weight_decay=1e-5, clipvalue=1.0)
    score = metrics.F1Score(average="macro", threshold=0.5)
    model.compile(chosen, losses.BinaryCrossentropy(label_smoothing=1e-3), metrics=[score], jit_compile=jit)
    return model


@architecture(
    {"title": whole(10_000, 16), "body": whole(10_000, 100), "tags": floats(12)},
    {"priority": floats(1), "department": whole(4)},
    256,
)
def support_tickets() -> keras.Model:
    title = keras.Input((16,), dtype="int32", name="title")
    body = keras.Input((100,), dtype="int32", name="body")
    tags = keras.Input((12,), name="tags")
    read_title = layers.LSTM(128)(layers.Embedding(10_000, 64)(title))
    read_body = layers.LSTM(32)(layers.Embedding(10_000, 64)(body))
    x = layers.concatenate([read_title, read_body, tags])
    outputs = {
        "priority": layers.Dense(1, name="priority", activation="sigmoid")(x),
        "department": layers.Dense(4, name="department")(x),
    }
    model = keras.Model({"title": title, "body": body, "tags": tags}, outputs)
    model.compile(
        optimizers.LossScaleOptimizer(optimizers.RMSprop(1e-3), initial_scale=1024.0),
        {
            "priority": losses.BinaryCrossentropy(),
            "department": losses.SparseCategoricalCrossentropy(from_logits=True),
        },
        loss_weights={"priority": 1.0, "department": 0.2},
    )
    return model


# Graphs, points and physics


class GraphAttention(layers.Layer):
    def __init__(self, units: int, heads: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units, self.heads = units, heads
        self.project = layers.Dense(units * heads, use_bias=False)

    def build(self, nodes_shape: tuple[int | None, ...], adjacency_shape: tuple[int | None, ...]) -> None:
        self.project.build(nodes_shape)
        self.sender = self.add_weight((self.heads, self.units))
        self.receiver = self.add_weight((self.heads, self.units))

    def call(self, nodes: Any, adjacency: Any) -> Any:
        count = nodes.shape[1]
        hidden = ops.reshape(self.project(nodes), (-1, count, self.heads, self.units))
        sent = ops.einsum("bnhu,hu->bhn", hidden, self.sender)
        received = ops.einsum("bnhu,hu->bhn", hidden, self.receiver)
        scores = ops.leaky_relu(received[:, :, :, None] + sent[:, :, None, :], negative_slope=0.2)
        scores = ops.where(adjacency[:, None] > 0.5, scores, -1e9)
        mixed = ops.einsum("bhij,bjhu->bihu", ops.softmax(scores), hidden)
        return ops.elu(ops.reshape(mixed, (-1, count, self.heads * self.units)))


@architecture([floats(90, 32), floats(90, 90)], floats(1), 64)
def protein_function() -> keras.Model:
    nodes, adjacency = keras.Input((90, 32)), keras.Input((90, 90))
    x = layers.Dense(128, activation="relu")(nodes)
    for _ in range(3):
        x = layers.Add()([x, GraphAttention(16, 8)(layers.Dropout(0.2)(x), adjacency)])
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), layers.GlobalMaxPooling1D()(x)])
    model = keras.Model([nodes, adjacency], layers.Dense(1, activation="sigmoid")(layers.Dense(64, "relu")(x)))
    model.compile(optimizers.Adamax(3e-3, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
    return model


class EdgeConvolution(layers.Layer):
    def __init__(self, filters: int, neighbours: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.neighbours = neighbours
        self.convolution = layers.Conv2D(filters, 1, use_bias=False)
        self.normalization = layers.BatchNormalization()

    def call(self, points: Any, training: bool = False) -> Any:
        squares = tf.reduce_sum(points**2, axis=-1, keepdims=True)
        distances = squares - 2 * tf.matmul(points, points, transpose_b=True) + tf.transpose(squares, (0, 2, 1))
        _, nearest = tf.math.top_k(-distances, self.neighbours)
        around = tf.gather(points, nearest, batch_dims=1)
        centre = tf.repeat(points[:, :, None, :], self.neighbours, axis=2)
        edges = self.convolution(tf.concat([centre, around - centre], axis=-1))
        return tf.reduce_max(tf.nn.leaky_relu(self.normalization(edges, training=training)), axis=2)


@architecture(floats(384, 3), whole(40), 16)
def furniture_shapes() -> keras.Model:
    inputs = keras.Input((384, 3))
    x, stages = inputs, []
    for filters in (32, 32, 64):
        x = EdgeConvolution(filters, 16)(x)
        stages.append(x)
    x = layers.Conv1D(512, 1, use_bias=False)(layers.Concatenate()(stages))
    x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(x))
    x = layers.Concatenate()([layers.GlobalMaxPooling1D()(x), layers.GlobalAveragePooling1D()(x)])
    x = layers.Dropout(0.5)(layers.Dense(256, activation="leaky_relu")(x))
    model = keras.Model(inputs, layers.Dense(40)(x))
    loss = losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizers.ScheduleFreeAdamW(2.5e-3), loss, metrics=["accuracy"])
    return model


class HeatEquation(keras.Model):
    def train_step(self, data: Any) -> dict[str, Any]:
        points, measured, _ = keras.utils.unpack_x_y_sample_weight(data)
        points, measured = (tf.cast(each, self.compute_dtype) for each in (points, measured))
        with tf.GradientTape() as tape:
            with tf.GradientTape() as curvature_tape:
                curvature_tape.watch(points)
                with tf.GradientTape() as slope_tape:
                    slope_tape.watch(points)
                    temperature = self(points, training=True)
                slopes = slope_tape.gradient(temperature, points)
                along = slopes[:, :1]
            curvature = curvature_tape.gradient(along, points)[:, :1]
            residual = slopes[:, 1:] - 0.1 * curvature
            loss = tf.reduce_mean((measured - temperature) ** 2) + tf.reduce_mean(residual**2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        return {"loss": loss}


@architecture(floats(2, dtype="float64"), floats(1, dtype="float64"), variant("float64", 4096, policy="float64"))
def heated_rod() -> keras.Model:
    inputs = keras.Input((2,))
    x = inputs
    for _ in range(5):
        x = layers.Dense(64, activation="tanh", kernel_initializer="glorot_normal")(x)
    model = HeatEquation(inputs, layers.Dense(1)(x))
    rate = optimizers.schedules.ExponentialDecay(1e-3, 1000, 0.9)
    model.compile(optimizers.Adam(rate))
    return model


def coupling(width: int, hidden: int) -> keras.Model:
    inputs = keras.Input((width,))
    shift, scale = inputs, inputs
    for _ in range(3):
        shift = layers.Dense(hidden, activation="relu", kernel_regularizer=regularizers.L2(1e-2))(shift)
        scale = layers.Dense(hidden, activation="relu", kernel_regularizer=regularizers.L2(1e-2))(scale)
    return keras.Model(inputs, [layers.Dense(width, activation="tanh")(scale), layers.Dense(width)(shift)])


class RealNvp(keras.Model):
    def __init__(self, width: int, couplings: int) -> None:
        super().__init__()
        self.width = width
        self.couplings = [coupling(width, 256) for _ in range(couplings)]

    def call(self, x: Any) -> tuple[Any, Any]:
        evens = ops.cast(ops.arange(self.width) % 2, "float32")
        log_determinant = 0.0
        for turn, layer in enumerate(self.couplings):
            kept = evens if turn % 2 else 1 - evens
            scale, shift = (part * (1 - kept) for part in layer(x * kept))
            x = x * ops.exp(-scale) - shift * ops.exp(-scale)
            log_determinant = log_determinant - ops.sum(scale, axis=1)
        return x, log_determinant

    def train_step(self, data: Any) -> dict[str, Any]:
        x, _, _ = keras.utils.unpack_x_y_sample_weight(data)
        with tf.GradientTape() as tape:
            latent, log_determinant = self(x, training=True)
            log_prior = -0.5 * ops.sum(latent**2 + math.log(2 * math.pi), axis=1)
            loss = -ops.mean(log_prior + log_determinant) + sum(self.losses)
        gradients = tape.gradient(loss, self.trainable_variables)
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables, strict=True))
        return {"loss": loss}


@architecture(floats(43), None, 1024, needs_x=True)
def particle_density() -> keras.Model:
    model = RealNvp(43, couplings=8)
    model.compile(optimizers.Nadam(1e-4, clipvalue=1.0))
    return model
