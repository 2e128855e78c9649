"""Stands before `fit`, `train_on_batch`, functions that train, and arrays on their way into TensorFlow."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from memfit.engines import Watcher
from memfit.engines.tensorflow.watch import datasets, steps

LARGE = 2**20  # bytes; smaller arrays go in as they are


def watch_keras(watcher: Watcher) -> None:
    """From now on `watcher` is asked instead of the trainer."""
    import keras

    for method in ("fit", "train_on_batch"):
        plain = getattr(keras.Model, method)
        setattr(keras.Model, method, _asked_first(plain, getattr(watcher, method), lambda: True))
    steps.watch_eager_updates(watcher)
    keras.Model.evaluate = _asked_first(keras.Model.evaluate, watcher.evaluate, lambda: watcher.leads_on)


def watch_tensorflow(watcher: Watcher) -> None:
    import tensorflow as tf
    from tensorflow.python.framework import constant_op

    sources: Any = tf.data.Dataset
    for name, rows in (("from_tensor_slices", True), ("from_tensors", False)):
        setattr(sources, name, staticmethod(_lazy(getattr(sources, name), rows)))
    constant_op.convert_to_eager_tensor = _noting(constant_op.convert_to_eager_tensor, watcher)
    steps.watch_functions(watcher)


def _asked_first(plain: Callable[..., Any], ask: Callable[..., Any], when: Callable[[], bool]) -> Callable[..., Any]:
    signature = inspect.signature(plain)

    @functools.wraps(plain)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not when():
            return plain(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        return ask(self, {name: value for name, value in bound.arguments.items() if name != "self"})

    return asked


def _lazy(plain: Callable[..., Any], rows: bool) -> Callable[..., Any]:
    @functools.wraps(plain)
    def lazy(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        size = datasets.array_bytes(tensors)
        return datasets.stand_in(tensors, rows) if size >= LARGE else plain(tensors, *args, **kwargs)

    return lazy


def _noting(plain: Callable[..., Any], watcher: Watcher) -> Callable[..., Any]:
    @functools.wraps(plain)
    def noting(value: Any, *args: Any, **kwargs: Any) -> Any:
        size = int(getattr(value, "nbytes", 0) or 0) if hasattr(value, "__array_interface__") else 0
        if size < LARGE:
            return plain(value, *args, **kwargs)
        watcher.before_tensor(value)
        tensor = plain(value, *args, **kwargs)
        watcher.after_tensor(tensor, size)
        return tensor

    return noting
