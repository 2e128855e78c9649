"""Trainings for children that the tests start: one TensorFlow serves many of them."""

import contextlib
import gc
import io
import os
from unittest import mock

STEPS, BATCH, SHORT = 5, 8, 3


def _start(floatx="float32"):
    """The same numbers every time: one thread, and kernels that raise when memory runs out."""
    os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
    import keras
    import tensorflow as tf

    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.config.set_floatx(floatx)
    return keras, tf


def exactness(names, reporter):
    """For each awkward training: how far are its weights, state and logs from plain `fit`?

    Whole, in thirds, and in thirds with the gradients summed on the host.
    """
    _start("float64")
    import awkward

    return {name: _distances(getattr(awkward, name), micro_batch=6) for name in names}


def _distances(case, micro_batch):
    plain = _train(case, lambda model, **arguments: model.fit(**arguments))
    ways = [_fit_in(None), _fit_in(micro_batch), _fit_in(micro_batch, frugally=True)]
    return [_distance(plain, _train(case, fit)) for fit in ways]


def _distance(plain, guarded):
    differences = [_relative(a, b) for a, b in zip(plain["variables"], guarded["variables"], strict=True)]
    assert plain["history"].keys() == guarded["history"].keys()
    logs = [_relative(plain["history"][key], guarded["history"][key]) for key in plain["history"]]
    return max(differences), max(logs), guarded["record"]


def _fit_in(micro_batch, frugally=False):
    import memfit

    def plan(step, budget):
        if frugally:
            step.be_frugal()
        return micro_batch

    def fit(model, **arguments):
        with mock.patch("memfit.training.guard.largest_micro_batch", plan):
            return memfit.fit(model, **arguments)

    return fit


def _train(case, fit):
    import keras
    import numpy as np

    import awkward

    keras.backend.clear_session()
    keras.utils.set_random_seed(3)
    awkward.random = np.random.default_rng(7)
    model, arguments = case()
    sized = {} if "steps_per_epoch" in arguments or hasattr(arguments["x"], "element_spec") else {"batch_size": 16}
    history = fit(model, **({"epochs": 2, "shuffle": False, "verbose": 0} | sized | arguments))
    record = getattr(history, "memfit", None)
    values = [np.asarray(variable.numpy()) for variable in variables_of(model)]
    return {"variables": values, "history": history.history, "record": record and record.to_dict()}


def variables_of(model):
    import keras

    optimizers = [part for part in vars(model).values() if isinstance(part, keras.optimizers.Optimizer)]
    return [*model.variables, *model.metrics_variables, *(v for o in optimizers for v in o.variables)]


def _relative(a, b):
    import numpy as np

    a, b = np.asarray(a, float), np.asarray(b, float)
    return float(np.abs(a - b).max() / (np.abs(a).max() + 1e-300)) if a.size else 0.0


class Fault:
    """Where memory runs out: while `armed` and for more than `largest` samples."""

    def __init__(self):
        self.armed, self.largest, self.hits, self.once = False, 0, 0, False

    def __call__(self, samples):
        if self.armed and samples > self.largest:
            self.hits += 1
            self.armed = not self.once
            raise MemoryError("OOM when allocating tensor with shape[64,32] and type float on /CPU:0 by allocator cpu")
        return samples


FAULT = Fault()


def _faulty_model(optimizer=None, where="forward", **compiled):
    import keras
    import tensorflow as tf
    from keras import layers

    class Faulty(layers.Layer):
        def call(self, x, training=False):
            if where == "inference" and training:
                return x
            count = tf.py_function(lambda n: FAULT(int(n)), [tf.shape(x)[0]], tf.int32)
            with tf.control_dependencies([count]):
                return tf.identity(x)

    keras.backend.clear_session()
    keras.utils.set_random_seed(5)
    inputs = keras.Input((6,))
    hidden = layers.BatchNormalization()(layers.Dense(8, activation="relu")(inputs))
    hidden = layers.Dropout(0.2)(hidden)
    model = keras.Model(inputs, layers.Dense(3)(hidden if where == "optimizer" else Faulty()(hidden)))
    optimizer = optimizer or keras.optimizers.Adam(0.01, use_ema=True, clipnorm=1.0)
    model.compile(optimizer, "mse", metrics=["mae"], **compiled)
    return model


def _faulty_optimizer():
    import keras
    import tensorflow as tf

    class Faulty(keras.optimizers.Adam):
        def update_step(self, gradient, variable, learning_rate):
            super().update_step(gradient, variable, learning_rate)
            if variable.shape == (8,):  # after some of the weights have been changed
                tf.py_function(lambda: FAULT(99), [], tf.int32)

    return Faulty(0.01)


def _arming(steps, largest=BATCH // 2):
    """A callback that makes memory run out in these steps."""
    import keras

    class Arming(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            FAULT.armed, FAULT.largest = batch in steps, largest

        def on_train_batch_end(self, batch, logs=None):
            FAULT.armed = False

    return Arming()


def _data():
    import numpy as np

    random = np.random.default_rng(2)
    total = (STEPS - 1) * BATCH + SHORT
    return random.random((total, 6), np.float32), random.random((total, 3), np.float32)


def _observed(model, script=None, **arguments):
    """Train, and tell what came of it and in how many parts each batch was run; or run them as `script` says."""
    import memfit
    from memfit.training.keeper import Keeper
    from memfit.training.schedule import Schedule

    done = []
    succeeded = Keeper._succeeded

    def note(self, step, schedule, parts):
        done.append(parts)
        succeeded(self, step, schedule, parts)

    planned = iter(script or [])
    parts = Schedule.parts if script is None else lambda self, samples: next(planned)
    x, y = _data()
    arguments = {"x": x, "y": y, "batch_size": BATCH, "epochs": 2, "verbose": 0, "shuffle": True} | arguments
    said = io.StringIO()
    with (
        mock.patch.object(Keeper, "_succeeded", note),
        mock.patch.object(Schedule, "parts", parts),
        mock.patch("memfit.training.guard.largest_micro_batch", return_value=None),
        contextlib.redirect_stderr(said),
    ):
        history = memfit.fit(model, **arguments)
    FAULT.armed = FAULT.once = False
    values = [variable.numpy() for variable in variables_of(model)]
    return values, history.history, done, history.memfit.to_dict(), said.getvalue()


def _compared(build, callbacks, arguments=dict):
    """A training with faults, and the same with the same micro-batches and without faults."""
    import numpy as np

    FAULT.hits = 0
    values, history, parts, record, said = _observed(build(), callbacks=callbacks(), **arguments())
    hits = FAULT.hits
    expected, expected_history, same, _, _ = _observed(build(), script=parts, **arguments())
    assert same == parts
    identical = all(np.array_equal(a, b) for a, b in zip(values, expected, strict=True))
    return {
        "identical": identical and history == expected_history,
        "hits": hits,
        "parts": parts,
        "record": record,
        "said": said,
    }


def faults(payload, reporter):
    """Memory runs out at every kind of place."""
    _start()

    def case(steps, largest=BATCH // 2, **compiled):
        return _compared(lambda: _faulty_model(**compiled), lambda: [_arming(steps, largest)])

    results = {
        "first": case({0}),
        "middle": case({2}),
        "last, short": case({STEPS - 1}, SHORT // 2),
        "twice in a row": case({1, 2}, BATCH // 4),
        "several steps at once": case({0, 4}, steps_per_execution=4),
        "eager": case({2}, run_eagerly=True),
    }
    results["optimizer"] = _compared(
        lambda: _faulty_model(_faulty_optimizer(), "optimizer"), lambda: [_once_in_the_optimizer(2)]
    )
    results["validation"] = _compared(
        lambda: _faulty_model(where="inference"), lambda: [_always(2)], lambda: {"validation_data": _data()}
    )
    results["generator"] = _generated()
    results["callback"] = _in_a_callback()
    return results


def _once_in_the_optimizer(step):
    import keras

    class Once(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            FAULT.armed, FAULT.largest, FAULT.once = batch == step, 0, True

    return Once()


def _always(largest):
    import keras

    class Always(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            FAULT.armed, FAULT.largest = True, largest

    return Always()


def _generated():
    x, y = _data()
    taken = []

    def batches():
        for low in [*range(0, len(x), BATCH)] * 2:
            taken.append(low)
            yield x[low : low + BATCH], y[low : low + BATCH]

    def arguments():
        return {"x": batches(), "y": None, "batch_size": None, "steps_per_epoch": STEPS, "epochs": 1}

    return _compared(_faulty_model, lambda: [_arming({1, 3})], arguments) | {"taken": taken}


def _in_a_callback():
    import keras
    import numpy as np

    x, _ = _data()
    shapes = []

    class Predicts(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            FAULT.armed, FAULT.largest = True, 2
            shapes.append(self.model.predict(x, batch_size=BATCH, verbose=0).shape)
            FAULT.armed = False

    values, history, _, record, _ = _observed(_faulty_model(), callbacks=[Predicts()])
    expected, expected_history, *_ = _observed(_faulty_model())
    identical = all(np.array_equal(a, b) for a, b in zip(values, expected, strict=True))
    return {"identical": identical and history == expected_history, "record": record, "shapes": shapes}


def passing(payload, reporter):
    """What is not about memory passes through, and the model can be used afterwards."""
    keras, _ = _start()
    import numpy as np

    import memfit

    x, y = _data()
    found = {}

    def raising(error):
        class Raising(keras.callbacks.Callback):
            def on_train_batch_end(self, batch, logs=None):
                if batch == 1:
                    raise error

        return Raising()

    for error in (ValueError("mine"), KeyboardInterrupt(), MemoryError("mine")):
        model = _faulty_model()
        before = model.train_function
        try:
            memfit.fit(model, x, y, verbose=0, callbacks=[raising(error)])
        except BaseException as caught:
            found[type(error).__name__] = (
                type(caught).__name__,
                caught is error,
                caught.__cause__ is error,
                str(caught),
                type(model.train_function) is type(before) or callable(model.train_function),
                bool(np.isfinite(model.fit(x, y, verbose=0).history["loss"][0])),
            )
    model = _faulty_model()
    history = memfit.fit(model, np.full_like(x, np.nan), y, verbose=0)
    found["nan"] = bool(np.isnan(history.history["loss"][0]))
    with memfit.guard() as outer, memfit.guard() as inner:
        _faulty_model().fit(x, y, verbose=0, epochs=2)
        _faulty_model().fit(x, y, verbose=0)
    found["records"] = ([r.updates for r in outer], [r.updates for r in inner])
    trainer = keras.src.backend.tensorflow.trainer.TensorFlowTrainer
    found["given back"] = trainer.fit.__module__ != "memfit" and "memfit" not in repr(trainer.make_train_function)
    return found


def endurance(payload, reporter):
    """200 times out of memory: what is live before and after, and what can still be had at once."""
    keras, tf = _start()
    import memfit

    model = _faulty_model(steps_per_execution=1)
    x, y = _data()

    class Every(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            vars(self.model)["_memfit"].schedules.clear()
            FAULT.armed, FAULT.largest = True, BATCH // 2

    def live():
        gc.collect()
        return tf.config.experimental.get_memory_info("CPU:0")["current"]

    def train(epochs):
        with contextlib.redirect_stderr(io.StringIO()):
            memfit.fit(model, x, y, batch_size=BATCH, epochs=epochs, verbose=0, callbacks=[Every()])

    FAULT.hits = 0
    train(5)
    before = live()
    train(46)
    after = live()
    block = tf.zeros((int(0.9 * (payload - after)) // 4,))
    return {"hits": FAULT.hits, "growth": after - before, "block": int(tf.size(block))}


def _cnn(side):
    import keras
    from keras import layers

    keras.utils.set_random_seed(1)
    stack = [layers.Conv2D(32, 3, padding="same", activation="relu") for _ in range(4)]
    model = keras.Sequential([keras.Input((side, side, 3)), *stack, layers.GlobalAveragePooling2D(), layers.Dense(4)])
    model.compile(keras.optimizers.SGD(0.05), "mse", metrics=["mae"])
    return model


def _images(count, side):
    import numpy as np

    random = np.random.default_rng(0)
    return random.random((count, side, side, 3), np.float32), random.random((count, 4), np.float32)


def _mlp():
    import keras
    from keras import layers

    model = keras.Sequential([keras.Input((128,)), *(layers.Dense(512, "relu") for _ in range(8)), layers.Dense(4)])
    model.compile("sgd", "mse")
    return model


def _rows(count):
    import numpy as np

    return np.ones((count, 128), np.float32), np.ones((count, 4), np.float32)


def under_budget(payload, reporter):
    """A real training under a real limit: planned, squeezed by something else, and impossible."""
    keras, tf = _start()
    import memfit

    ballast = []

    class Ballast(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 1:
                room = payload - tf.config.experimental.get_memory_info("CPU:0")["current"]
                ballast.extend(tf.zeros((2**18,)) for _ in range(int(0.75 * room) >> 20))

        def on_train_batch_end(self, batch, logs=None):
            ballast.clear()

    x, y = _images(80, 32)
    found = {}
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        model = _cnn(32)
        history = memfit.fit(model, x, y, batch_size=64, epochs=2, verbose=0, shuffle=False)
        found["planned"] = (history.history, model.get_weights(), history.memfit.to_dict())
        history = memfit.fit(_mlp(), *_rows(8000), batch_size=2000, verbose=0, callbacks=[Ballast()])
        found["squeezed"] = history.memfit.to_dict()
        found["handwritten"] = _handwritten_steps(x, y)
        found["evaluated"] = model.predict(x, batch_size=80, verbose=0).shape
        found["live beside batches"] = _live_while_fed(payload)
        try:
            memfit.fit(_cnn(512), *_images(2, 512), batch_size=2, verbose=0)
        except memfit.DoesNotFit as error:
            found["impossible"] = str(error)
    found["said"] = said.getvalue()
    return found


def _live_while_fed(budget):
    """The most that the device holds between steps, while the next batch of 32 MiB is waiting."""
    import keras
    import numpy as np
    import tensorflow as tf
    from keras import layers

    import memfit

    model = keras.Sequential([keras.Input((1024, 1024)), layers.GlobalAveragePooling1D(), layers.Dense(1)])
    model.compile("sgd", "mse")
    live = []
    look = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: live.append(tf.config.experimental.get_memory_info("CPU:0")["current"])
    )
    x, y = np.ones((24, 1024, 1024), np.float32), np.ones((24, 1), np.float32)
    memfit.fit(model, x, y, batch_size=8, epochs=2, verbose=0, budget=budget, callbacks=[look])
    return max(live)


def _handwritten_steps(x, y):
    """The causes of what changed, in three steps on a batch that does not fit."""
    import tensorflow as tf

    import memfit

    model, optimizer = _cnn(32), tf.keras.optimizers.SGD()

    @memfit.microbatch
    @tf.function
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x, training=True) - y) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
        return loss

    for _ in range(3):
        step(x[:64], y[:64])
    return [change.cause for change in step.memfit.recoveries]


def plain_weights(payload, reporter):
    """The training of `under_budget` without a budget, by Keras alone."""
    _start()
    model = _cnn(32)
    history = model.fit(*_images(80, 32), batch_size=64, epochs=2, verbose=0, shuffle=False)
    return history.history, model.get_weights()


def coupled(payload, reporter):
    """What is said of a loss that sees one sample at a time, and of one that compares samples, with random layers."""
    keras, _ = _start()
    from keras import layers, ops

    def contrast(y, z):
        z = z / ops.norm(z, axis=1, keepdims=True)
        alike = 5 * ops.matmul(z, ops.transpose(z))
        return ops.mean(ops.logsumexp(alike, axis=1) - ops.diagonal(alike))

    found = {}
    for name, loss in {"alone": "mse", "compared": contrast}.items():
        stack = [layers.RandomFlip(), layers.GaussianNoise(0.1), layers.Conv2D(8, 3), layers.SpatialDropout2D(0.2)]
        stack += [layers.Flatten(), layers.Dropout(0.3), layers.Dense(4)]
        model = keras.Sequential([keras.Input((8, 8, 3)), *stack])
        model.compile("sgd", loss)
        x, y = _images(24, 8)
        with contextlib.redirect_stderr(io.StringIO()):
            found[name] = _fit_in(4)(model, x=x, y=y, batch_size=12, verbose=0).memfit.notes
    return found


def summed(payload, reporter):
    """How far apart are weights whose gradients were summed on the device and on the host?

    In a model whose gradients come from shared ops, from loops, and are looked at by a step that acts on its own.
    """
    keras, tf = _start("float64")
    from keras import layers

    class Watched(keras.Model):
        def train_step(self, data):
            x, y = data
            with tf.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            gradients = tape.gradient(loss, self.trainable_variables)
            tf.debugging.Assert(tf.linalg.global_norm(gradients) < 1e9, gradients)
            self.optimizer.apply(gradients, self.trainable_variables)
            return {"loss": loss}

    def trained(model, frugally):
        keras.utils.set_random_seed(1)
        inputs = keras.Input((8, 8, 3))
        x = layers.BatchNormalization()(layers.Conv2D(4, 3)(inputs))
        x = layers.LSTM(4)(layers.Reshape((6, 24))(x))
        built = model(inputs, layers.Dense(4)(layers.BatchNormalization()(x)))
        built.compile(keras.optimizers.Adam(0.01, weight_decay=0.1), "mse")
        images, targets = _images(24, 8)
        _fit_in(4, frugally)(built, x=images, y=targets, batch_size=12, epochs=2, verbose=0, shuffle=False)
        return built.get_weights()

    with contextlib.redirect_stderr(io.StringIO()):
        pairs = [(trained(model, False), trained(model, True)) for model in (keras.Model, Watched)]
    return [max(_relative(a, b) for a, b in zip(*pair, strict=True)) for pair in pairs]


def heavy(payload, reporter):
    """A model whose gradients take a good part of the memory: by plain `fit`, or by memfit's."""
    keras, tf = _start()
    import numpy as np
    from keras import layers

    import memfit

    how, optimizer, batch = payload
    keras.utils.set_random_seed(1)
    stack = [layers.Dense(1024, "relu") for _ in range(6)]
    model = keras.Sequential([keras.Input((64,)), *stack, layers.Dense(4)])
    model.compile(optimizer, "mse")
    random = np.random.default_rng(0)
    x, y = random.random((3 * batch, 64), np.float32), random.random((3 * batch, 4), np.float32)
    fit = model.fit if how == "plain" else lambda *a, **k: memfit.fit(model, *a, **k)
    history = fit(x, y, batch_size=batch, epochs=2, verbose=0, shuffle=False)
    record = history.memfit.to_dict() if how == "memfit" else None
    return model.get_weights(), tf.config.experimental.get_memory_info("CPU:0")["peak"], record


def handwritten(payload, reporter):
    """Hand-written steps under the decorator: whole, and in parts from the third step on, against plain ones."""
    keras, tf = _start("float64")
    import numpy as np

    import memfit

    def steps(decorate, traced):
        keras.backend.clear_session()
        keras.utils.set_random_seed(4)
        inputs = keras.Input((6,))
        hidden = keras.layers.Dense(8, activation="tanh")(inputs)
        model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
        optimizer = keras.optimizers.SGD(0.01, momentum=0.9)
        seen = keras.metrics.Mean()

        def step(x, y, scale=1.0):
            tf.py_function(lambda n: FAULT(int(n)), [tf.shape(x)[0]], tf.int32)
            with tf.GradientTape() as tape:
                predicted = model(x, training=True)
                errors = (predicted - y) ** 2
                loss = scale * (tf.reduce_mean(errors) if payload == "mean" else tf.reduce_sum(errors) / 8)
            gradients = tape.gradient(loss, model.trainable_variables)
            optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
            seen.update_state(loss)
            return loss, {"predicted": predicted, "mean": seen.result()}

        return decorate(tf.function(step) if traced else step), model, optimizer

    def train(decorate, traced):
        step, model, optimizer = steps(decorate, traced)
        random = np.random.default_rng(2)
        results = []
        for number in range(5):
            x, y = random.random((8, 6)), random.random((8, 3))
            FAULT.armed, FAULT.largest = decorate is memfit.microbatch and number == 2, 3
            results += [np.asarray(r) for r in tf.nest.flatten(step(x, y, scale=2.0))]
        FAULT.armed = False
        return results + [v.numpy() for v in [*model.variables, *optimizer.variables]], getattr(step, "memfit", None)

    found = {}
    with contextlib.redirect_stderr(io.StringIO()) as said:
        for traced in (True, False):
            plain, _ = train(lambda step: step, traced)
            ours, record = train(memfit.microbatch, traced)
            worst = max(_relative(a, b) for a, b in zip(plain, ours, strict=True))
            found["traced" if traced else "eager"] = (worst, record.to_dict())
    return found | {"said": said.getvalue()}


def mirrored(names, reporter):
    """The same as `exactness` on two replicas."""
    _, tf = _start("float64")
    import awkward

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])

    def on_both(case):
        def build():
            with strategy.scope():
                return case()

        return build

    return {name: _distances(on_both(getattr(awkward, name)), micro_batch=8) for name in names}
