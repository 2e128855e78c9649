"""What the benchmark of training does in a fresh process.

`python -m benchmarks.training JOB ARGUMENTS` (a JSON object) prints its answer as one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import keras
import numpy as np
import tensorflow as tf
from keras import layers

import memfit

Answer = dict[str, Any]
EPOCHS = 2


def mlp(**compiled: Any) -> tuple[Any, tuple[int, ...]]:
    return small([layers.Dense(256, "relu"), layers.Dense(256, "relu"), layers.Dense(10)], (64,), compiled)


def cnn(**compiled: Any) -> tuple[Any, tuple[int, ...]]:
    blocks = [layers.Conv2D(32, 3, activation="relu"), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D()]
    return small([*blocks, layers.Conv2D(64, 3, activation="relu"), pooled(), layers.Dense(10)], (32, 32, 3), compiled)


def lstm(**compiled: Any) -> tuple[Any, tuple[int, ...]]:
    return small([layers.LSTM(64), layers.Dense(10)], (20, 32), compiled)


def pooled() -> Any:
    return layers.GlobalAveragePooling2D()


def small(stack: list[Any], shape: tuple[int, ...], compiled: Answer) -> tuple[Any, tuple[int, ...]]:
    model = keras.Sequential([keras.Input(shape), *stack])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.01, momentum=0.9, **compiled), loss)
    return model, shape


MODELS: dict[str, Callable[..., tuple[Any, tuple[int, ...]]]] = {"mlp": mlp, "cnn": cnn, "lstm": lstm}


def data(shape: tuple[int, ...], samples: int) -> tuple[Any, Any]:
    chance = np.random.default_rng(0)
    return chance.random((samples, *shape), "float32"), chance.integers(0, 10, samples)


def overhead(model: str, batch: int, steps: int, rounds: int) -> Answer:
    """Guarded and plain `fit` in turns: seconds a step."""
    (plain, shape), (guarded, _) = MODELS[model](), MODELS[model]()
    x, y = data(shape, batch * steps)
    sides = {"plain": partial(plain.fit, x, y), "memfit": partial(memfit.fit, guarded, x, y)}
    return in_turns(
        {side: partial(pace, partial(fit, batch_size=batch), steps - 1) for side, fit in sides.items()}, rounds
    )


def trained(model: str, batch: int, samples: int, how: str, accumulate: int = 0, budget: int = 0) -> Answer:
    """Two epochs; `how` is "plain" or "memfit"."""
    keras.utils.set_random_seed(1)
    built, shape = MODELS[model](**({"gradient_accumulation_steps": accumulate} if accumulate else {}))
    x, y = data(shape, samples)
    clock = Clock()
    options: Answer = {"batch_size": batch, "epochs": EPOCHS, "verbose": 0, "shuffle": False, "callbacks": [clock]}
    slices = Slices(x, y, batch)
    if how == "plain":
        history = built.fit(slices, **{name: options[name] for name in ("epochs", "verbose", "shuffle", "callbacks")})
        parts = 1
    else:
        history = memfit.fit(built, x, y, budget=budget, **options)
        parts = history.memfit.micro_batches
    peak = tf.config.experimental.get_memory_info("CPU:0")["peak"]
    weights = np.concatenate([w.reshape(-1) for w in built.get_weights()]).tolist()
    return {"seconds": clock.epochs[-1], "peak": peak, "parts": parts, "weights": weights}


def race(budget: int, batch: int, by_hand: int, accumulate: int, rounds: int) -> Answer:
    """`memfit.fit` of two batches and plain `fit` of as many samples in smaller ones, in turns: seconds a sample."""
    (guarded, shape), (plain, _) = cnn(), cnn(**({"gradient_accumulation_steps": accumulate} if accumulate else {}))
    x, y = data(shape, 2 * batch)
    ours = partial(memfit.fit, guarded, x, y, batch_size=batch, budget=budget)
    theirs = partial(plain.fit, Slices(x, y, by_hand))
    return in_turns({"memfit": partial(pace, ours, batch), "plain": partial(pace, theirs, 2 * batch - by_hand)}, rounds)


def pace(fit: Callable[..., Any], counted: int) -> float:
    """The time of a `fit`, by what is `counted` after its first step, with which it gets ready."""
    clock = Clock()
    fit(verbose=0, shuffle=False, callbacks=[clock])
    return (clock.steps[-1] - clock.steps[0]) / counted


def in_turns(sides: dict[str, Callable[[], float]], rounds: int) -> Answer:
    """What each side took, in every round after the first, which traces.

    In one process, and in rounds so short that the machine's speed seldom changes within one.
    """
    took: dict[str, list[float]] = {side: [] for side in sides}
    for turn in range(rounds + 1):
        for side in sorted(sides, reverse=bool(turn % 2)):
            took[side].append(sides[side]())
    return {side: times[1:] for side, times in took.items()}


class Slices(keras.utils.PyDataset):
    """Batches without a copy of the whole array on the device: what a careful user writes by hand."""

    def __init__(self, x: Any, y: Any, batch: int) -> None:
        super().__init__()
        self.x, self.y, self.batch = x, y, batch

    def __len__(self) -> int:
        return -(-len(self.x) // self.batch)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        part = slice(index * self.batch, (index + 1) * self.batch)
        return self.x[part], self.y[part]


class Clock(keras.callbacks.Callback):
    def __init__(self) -> None:
        super().__init__()
        self.epochs: list[float] = []
        self.steps: list[float] = []

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.started = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epochs.append(time.perf_counter() - self.started)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self.steps.append(time.perf_counter())


class Faulty(layers.Layer):
    """Runs out of memory whenever a fault is due.

    TensorFlow's allocator waits ten seconds before it gives up, so the error is raised without asking the allocator.
    """

    due: ClassVar[list[int]] = []
    failed_at: ClassVar[list[float]] = []

    def call(self, x: Any) -> Any:
        nothing = tf.numpy_function(self._nothing, [], tf.float32)
        nothing.set_shape(())
        return x + nothing

    @classmethod
    def _nothing(cls) -> Any:
        if cls.due:
            cls.due.pop()
            cls.failed_at.append(time.perf_counter())
            raise MemoryError("OOM when allocating tensor")
        return np.float32(0)


class Faults(keras.callbacks.Callback):
    """A fault in each of the given steps."""

    def __init__(self, steps: set[int]) -> None:
        super().__init__()
        self.steps = steps

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if batch in self.steps:
            Faulty.due.append(batch)


def recovery(batch: int) -> Answer:
    """From a failed allocation to the end of the step, beside the time that tracing and one step take."""
    stack = [layers.Conv2D(32, 3, activation="relu"), layers.Conv2D(64, 3, activation="relu"), Faulty(), pooled()]
    model, shape = small([*stack, layers.Dense(10)], (64, 64, 3), {})
    x, y = data(shape, batch * 8)
    clock = Clock()
    started = time.perf_counter()
    history = memfit.fit(model, Slices(x, y, batch), verbose=0, callbacks=[clock, Faults({4})])
    ended = next(moment for moment in clock.steps if moment > Faulty.failed_at[0])
    step = clock.steps[2] - clock.steps[1]
    return {
        "recovery": ended - Faulty.failed_at[0],
        "first_step": clock.steps[0] - started,
        "step": step,
        "recoveries": len(history.memfit.recoveries),
    }


def many_failures(count: int, large: int, small_batch: int) -> Answer:
    """So many failed steps in one run: does live memory grow, does the largest batch still train?"""
    model, shape = small([layers.Dense(2048, "relu"), Faulty(), layers.Dense(10)], (1024,), {})
    x, y = data(shape, max(large, small_batch * count))
    model.train_on_batch(x[:large], y[:large])
    live: list[int] = []
    look = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: live.append(tf.config.experimental.get_memory_info("CPU:0")["current"])
    )
    slices = Slices(x[: small_batch * count], y[: small_batch * count], small_batch)
    history = memfit.fit(model, slices, verbose=0, callbacks=[Faults(set(range(count))), look])
    model.train_on_batch(x[:large], y[:large])
    return {"live": live, "failures": len(Faulty.failed_at), "recoveries": len(history.memfit.recoveries)}


JOBS: dict[str, Callable[..., Answer]] = {
    "overhead": overhead,
    "trained": trained,
    "race": race,
    "recovery": recovery,
    "many_failures": many_failures,
}


def main() -> None:
    job, arguments = sys.argv[1:]
    print("\n" + json.dumps(JOBS[job](**json.loads(arguments))), flush=True)


if __name__ == "__main__":
    main()
