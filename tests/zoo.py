"""Small models of every kind that the recorder must see through. Each function returns a compiled model."""

import keras
from keras import layers


def cnn():
    return _compiled(
        keras.Sequential(
            [
                keras.Input((48, 48, 3)),
                layers.Conv2D(32, 3, activation="relu"),
                layers.MaxPooling2D(),
                layers.Conv2D(64, 3, activation="relu"),
                layers.Flatten(),
                layers.Dropout(0.2),
                layers.Dense(10, activation="softmax"),
            ]
        )
    )


def residual():
    x = inputs = keras.Input((32, 32, 3))
    x = layers.Conv2D(32, 3, padding="same")(x)
    for _ in range(3):
        y = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same", use_bias=False)(x)))
        y = layers.BatchNormalization()(layers.Conv2D(32, 3, padding="same", use_bias=False)(y))
        x = layers.ReLU()(layers.Add()([x, y]))
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling2D()(x))
    return _compiled(keras.Model(inputs, outputs))


def lstm():
    return _compiled(
        keras.Sequential(
            [
                keras.Input((40, 32)),
                layers.LSTM(64, return_sequences=True),
                layers.Bidirectional(layers.LSTM(32)),
                layers.Dense(10, activation="softmax"),
            ]
        )
    )


def transformer():
    tokens = keras.Input((64,), dtype="int32")
    x = layers.Embedding(500, 64)(tokens)
    for _ in range(2):
        attended = layers.MultiHeadAttention(4, 16, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, attended]))
        hidden = layers.Dense(64)(layers.Dense(256, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, hidden]))
    outputs = layers.Dense(10, activation="softmax")(layers.GlobalAveragePooling1D()(x))
    return _compiled(keras.Model(tokens, outputs))


def embedding():
    return _compiled(
        keras.Sequential(
            [
                keras.Input((30,), dtype="int64"),
                layers.Embedding(50_000, 64),
                layers.GlobalAveragePooling1D(),
                layers.Dense(10, activation="softmax"),
            ]
        )
    )


def many_inputs_and_outputs():
    image, facts = keras.Input((32, 32, 3), name="image"), keras.Input((16,), name="facts")
    x = layers.Flatten()(layers.Conv2D(16, 3, activation="relu")(image))
    x = layers.Concatenate()([layers.Dense(64)(x), layers.Dense(64)(facts)])
    outputs = {
        "label": layers.Dense(5, activation="softmax", name="label")(x),
        "score": layers.Dense(1, name="score")(x),
    }
    model = keras.Model({"image": image, "facts": facts}, outputs)
    model.compile("rmsprop", {"label": "categorical_crossentropy", "score": "mse"}, metrics={"label": ["accuracy"]})
    return model


class Block(layers.Layer):
    def __init__(self, units, **options):
        super().__init__(**options)
        self.units = units
        self.wide, self.narrow = layers.Dense(units * 4, activation="relu"), layers.Dense(units)

    def call(self, x):
        return x + self.narrow(self.wide(x))

    def get_config(self):
        return super().get_config() | {"units": self.units}


class Subclassed(keras.Model):
    def __init__(self, depth=3, **options):
        super().__init__(**options)
        self.blocks = [Block(128) for _ in range(depth)]
        self.head = layers.Dense(10, activation="softmax")

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def subclassed():
    model = _compiled(Subclassed())
    model.build((None, 128))
    return model


class Autoencoder(keras.Model):
    """A custom step without labels, as `fit(x)` calls it."""

    def __init__(self, **options):
        super().__init__(**options)
        self.encoder, self.decoder = layers.Dense(64, activation="relu"), layers.Dense(784)
        self.error = keras.metrics.Mean(name="error")

    def call(self, x):
        return self.decoder(self.encoder(x))

    def train_step(self, data):
        import tensorflow as tf

        with tf.GradientTape() as tape:
            loss = keras.ops.mean((self(data, training=True) - data) ** 2)
        self.optimizer.apply(tape.gradient(loss, self.trainable_variables), self.trainable_variables)
        self.error.update_state(loss)
        return {"error": self.error.result()}


def custom_step():
    model = Autoencoder()
    model.compile("adam")
    model.build((None, 784))
    return model


class Adversaries(keras.Model):
    """Two optimizers, a `compile` of its own, and no `call`."""

    def __init__(self):
        super().__init__()
        self.forger = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(256)])
        self.judge = keras.Sequential([layers.Dense(128, activation="relu"), layers.Dense(1)])

    def compile(self, forging, judging):
        super().compile()
        self.forging, self.judging = forging, judging

    def train_step(self, real):
        import tensorflow as tf

        noise = tf.random.normal((tf.shape(real)[0], 32))
        with tf.GradientTape() as tape:
            judged = tf.reduce_mean(self.judge(self.forger(noise))) - tf.reduce_mean(self.judge(real))
        weights = self.judge.trainable_variables
        self.judging.apply(tape.gradient(judged, weights), weights)
        with tf.GradientTape() as tape:
            forged = -tf.reduce_mean(self.judge(self.forger(noise)))
        weights = self.forger.trainable_variables
        self.forging.apply(tape.gradient(forged, weights), weights)
        return {"judged": judged, "forged": forged}


def two_optimizers():
    import numpy as np

    model = Adversaries()
    model.compile(keras.optimizers.Adam(), keras.optimizers.RMSprop())
    return model, np.zeros((64, 256), "float32")


def eager():
    model = residual()
    model.compile("sgd", "sparse_categorical_crossentropy", run_eagerly=True)
    return model


def words_and_numbers():
    words, numbers = keras.Input((1,), dtype="string"), keras.Input((300,))
    known = layers.StringLookup(vocabulary=["0", "1", "2"], output_mode="one_hot")(words)
    hidden = keras.ops.sin(layers.Dense(256)(layers.Concatenate()([known, numbers]))) * 2
    model = keras.Model([words, numbers], layers.Dense(1, activation="sigmoid")(hidden))
    model.compile("lion", "binary_crossentropy")
    return model


def bfloat16():
    policy = keras.DTypePolicy("mixed_bfloat16")
    return _compiled(
        keras.Sequential(
            [
                keras.Input((64,)),
                layers.Dense(512, activation="relu", dtype=policy),
                layers.Dense(512, activation="relu", dtype=policy),
                layers.Dense(10, activation="softmax", dtype="float32"),
            ]
        )
    )


def compiled_by_xla():
    model = cnn()
    model.compile("adam", "sparse_categorical_crossentropy", jit_compile=True)
    return model


def _compiled(model):
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model
