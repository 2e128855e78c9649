"""A model object reaches the child whole, or the error names what cannot travel."""

import keras
import numpy as np
import pytest
from keras import layers

import memfit
from memfit.models.carry import pack, unpack
from zoo import Autoencoder, Subclassed, many_inputs_and_outputs

pytestmark = pytest.mark.real


class Scale(layers.Layer):
    """The user's own layer, in a module that only the tests can import."""

    def __init__(self, factor=2.0, **options):
        super().__init__(**options)
        self.factor = factor

    def call(self, x):
        return x * self.factor

    def get_config(self):
        return super().get_config() | {"factor": self.factor}


class Offset(layers.Layer):
    """The user's own `build`, which Keras wraps and keeps on the object."""

    def build(self, shape):
        self.offset = self.add_weight((shape[-1],))

    def call(self, x):
        return x + self.offset


class Secretive(layers.Layer):
    """Its argument cannot be put into a configuration."""

    def __init__(self, helper, **options):
        super().__init__(**options)
        self.helper = helper

    def call(self, x):
        return x


def squared(y, prediction):
    return keras.ops.mean(keras.ops.square(y - prediction), axis=-1)


def dense(*between, loss="mse", optimizer="adam", **compile_options):
    model = keras.Sequential([keras.Input((16,)), layers.Dense(256), *between, layers.Dense(16)])
    model.compile(optimizer, loss, **compile_options)
    return model


def test_custom_layers_and_losses_are_measured():
    measured = memfit.measure(dense(Scale(3.0, name="scale"), loss=squared), 64)
    layers_seen = dict(measured.by_layer)
    assert measured.batch_size == 64
    assert "dense" in {name.rstrip("_0123456789") for name in layers_seen}
    assert measured.by_kind["optimizer"] >= 2 * 4 * (16 * 256 + 256 + 256 * 16 + 16)


@pytest.mark.parametrize(
    "make",
    [
        lambda: dense(Scale(3.0)),
        lambda: dense(Offset()),
        lambda: dense(optimizer=keras.optimizers.AdamW(1e-4, clipnorm=1.0, use_ema=True)),
        lambda: dense(optimizer=keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.1, 100), momentum=0.9)),
        lambda: dense(loss=keras.losses.Huber(delta=0.3), metrics=[keras.metrics.MeanAbsoluteError(name="mine")]),
        lambda: dense(layers.Dense(8, kernel_regularizer="l2", dtype="float64")),
        lambda: dense(layers.Dense(8, dtype="mixed_bfloat16")),
        lambda: dense(steps_per_execution=2, run_eagerly=True),
        many_inputs_and_outputs,
    ],
)
def test_what_is_unpacked_is_what_was_packed(make):
    model = make()
    again = unpack(pack(model))
    assert type(again) is type(model)
    assert [(v.shape, v.dtype) for v in again.variables] == [(v.shape, v.dtype) for v in model.variables]
    assert [layer.dtype_policy.name for layer in again.layers] == [layer.dtype_policy.name for layer in model.layers]
    assert type(again.optimizer) is type(model.optimizer)
    assert again.optimizer.get_config() == model.optimizer.get_config()
    assert again.get_compile_config() == model.get_compile_config()
    assert (again.run_eagerly, again.steps_per_execution) == (model.run_eagerly, model.steps_per_execution)


def test_lambdas_travel_with_what_they_refer_to():
    factor = 3.0
    model = dense(layers.Lambda(lambda x: keras.ops.tanh(x) * factor), loss=lambda y, p: keras.ops.mean((y - p) ** 2))
    assert memfit.measure(model, 8, steps=1).peak > 0
    assert model.layers[1].function.__name__ == "<lambda>"


def test_the_precision_that_keras_was_set_to_travels():
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    try:
        parcel = pack(dense())
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")
        model = unpack(parcel)
        assert keras.config.floatx() == keras.config.dtype_policy().name == "float64"
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")
    model.optimizer.build(model.trainable_variables)
    assert {variable.dtype for variable in model.trainable_variables} == {"float64"}
    assert "float64" in {variable.dtype for variable in model.optimizer.variables}


def test_subclassed_models_and_custom_steps_are_measured_on_the_users_data():
    model = Subclassed(depth=2)
    model.compile("adam", "sparse_categorical_crossentropy")
    x, y = np.zeros((100, 128), "float32"), np.zeros(100, "int64")
    measured = memfit.measure(model, 16, x=x, y=y)
    assert any(name.startswith("block") and "/" in name for name, _ in measured.by_layer)
    assert not model.built, "the user's model must stay as it was"

    autoencoder = Autoencoder()
    autoencoder.compile("sgd")
    assert memfit.measure(autoencoder, 16, x=keras.KerasTensor((None, 784)), steps=1).peak > 0


def test_what_cannot_travel_is_named():
    with pytest.raises(memfit.BadInput, match="Secretive"):
        memfit.measure(dense(Secretive(open)))

    replaced = dense()
    object.__setattr__(replaced, "train_step", lambda data: {})
    with pytest.raises(memfit.BadInput, match="train_step was replaced"):
        memfit.measure(replaced)


def test_a_model_that_is_not_ready_is_refused_with_what_is_missing():
    model = keras.Sequential([layers.Dense(3)])
    with pytest.raises(memfit.BadInput, match="not compiled"):
        memfit.measure(model)
    model.compile("sgd", "mse")
    with pytest.raises(memfit.BadInput, match="not been built"):
        memfit.measure(model)


def test_unknown_lengths_ask_for_x():
    model = keras.Sequential([keras.Input((None, 8)), layers.LSTM(4)])
    model.compile("sgd", "mse")
    with pytest.raises(memfit.BadInput, match="pass x"):
        memfit.measure(model, 4)
    assert memfit.measure(model, 4, x=np.zeros((4, 12, 8), "float32"), steps=1).peak > 0


def test_a_budget_cannot_be_changed_once_tensorflow_has_started():
    from memfit import device

    keras.ops.zeros(1)
    with pytest.raises(memfit.CannotEnforce, match=r"already started.*child process"):
        device.enforce("1GiB")


def test_a_notebook_shows_a_measurement_as_a_chart():
    assert memfit.measure(dense(), 4, steps=1)._repr_html_().startswith("<div")
