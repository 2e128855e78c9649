"""A hand-written training step: the first call of a `tf.function` that applies gradients."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

from memfit.engines import Watcher


def watch_functions(watcher: Watcher) -> None:
    from tensorflow.python.eager.polymorphic_function.polymorphic_function import Function

    from memfit.engines.tensorflow.step.function import traced_function

    plain = Function.__call__
    known: set[int] = set()

    @functools.wraps(plain)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if id(self) not in known and _called_eagerly() and watcher.of_the_user(_written(self.python_function)):
            known.add(id(self))
            if _applies_gradients(self, args, kwargs):
                watcher.step(self.python_function.__name__, *traced_function(self, args, kwargs))
        return plain(self, *args, **kwargs)

    Function.__call__ = asked


def _written(function: Any) -> Any:
    """The function as its author wrote it, below what binds it to an object."""
    from tensorflow.python.util import tf_decorator

    return tf_decorator.unwrap(function)[1]


def watch_eager_updates(watcher: Watcher) -> None:
    """Updates outside of any `tf.function`: a training loop that no graph foretells."""
    import keras

    plain = keras.optimizers.Optimizer.apply

    @functools.wraps(plain)
    def asked(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _called_eagerly():
            watcher.eager_update()
        return plain(self, *args, **kwargs)

    keras.optimizers.Optimizer.apply = asked


def _called_eagerly() -> bool:
    import tensorflow as tf

    return bool(tf.executing_eagerly())


def _applies_gradients(function: Any, args: Any, kwargs: Any) -> bool:
    with _applications() as found, suppress(Exception):  # what is wrong with it shows when the script itself calls it
        function.get_concrete_function(*args, **kwargs)
    return bool(found)


@contextmanager
def _applications() -> Iterator[list[Any]]:
    import keras

    found: list[Any] = []
    plain = keras.optimizers.Optimizer.apply

    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        found.append(self)
        return plain(self, *args, **kwargs)

    with mock.patch.object(keras.optimizers.Optimizer, "apply", noted):
        yield found
