"""Random layers that draw the same for every sample: so parts of a batch can be compared with the whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

import tensorflow as tf
from tensorflow.python.ops import stateless_random_ops

DRAWS = {  # the same function, as Keras's layers and as TensorFlow's own dropout know it
    "stateless_uniform": "stateless_random_uniform",
    "stateless_normal": "stateless_random_normal",
    "stateless_truncated_normal": "stateless_truncated_normal",
}


@contextmanager
def drawn_evenly() -> Iterator[None]:
    """In this block Keras's random layers are traced so: one sample's numbers, repeated."""
    with ExitStack() as patches:
        for public, inner in DRAWS.items():
            draw = _for_one_sample(getattr(stateless_random_ops, inner))
            patches.enter_context(mock.patch.object(stateless_random_ops, inner, draw))
            patches.enter_context(mock.patch.object(tf.random, public, draw))
        yield


def _for_one_sample(original: Any) -> Any:
    def draw(shape: Any, *args: Any, **kwargs: Any) -> Any:
        shape = tf.convert_to_tensor(shape, tf.int32)
        if shape.shape[0] == 0:
            return original(shape, *args, **kwargs)
        one = original(tf.concat([[1], shape[1:]], 0), *args, **kwargs)
        return tf.repeat(one, shape[0], axis=0)

    return draw
