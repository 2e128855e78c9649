"""Names that tell, in every op of a trace, which layer and which part of the step it belongs to.

The name scopes that Keras opens for a layer or an optimizer get a mark (seen in the names of graph ops and of their
gradients), and each call a profiler annotation (seen on the thread, for ops that run eagerly). The mark follows the
scope's own name, so that names sort as they did: Grappler orders operands by name, and another order is another graph.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

PREFIX = "memfit."
BACKWARD = f"{PREFIX}backward."
OPTIMIZER = f"{PREFIX}optimizer."
_MARKER = re.compile(r"\.memfit\.(\w+)\.|(?<!\.)memfit\.(\w+)\.(?:_\d+)?/?")  # after a scope's name, or a scope itself
_LAYER_SCOPE = re.compile(r"([^/]+)\.memfit\.\d+\.")

_marked: list[Any] = []
_output_shapes: dict[int, tuple[int | None, ...]] = {}


def mark(index: int) -> str:
    return f"{PREFIX}{index}."


def layer_index(name: str) -> int | None:
    """The innermost layer that `name` was marked with."""
    indices = [mark for marks in _MARKER.findall(name) for mark in marks if mark.isdigit()]
    return int(indices[-1]) if indices else None


def marked_names(names: Callable[[Any], str | None]) -> list[str | None]:
    """The name of each marked layer, at the number of its mark."""
    return [names(layer) for layer in _marked]


def forget() -> None:
    """Let go of the marked layers, and with them of their model."""
    _marked.clear()
    _output_shapes.clear()


def output_shapes(names: Callable[[Any], str | None]) -> dict[str, tuple[int | None, ...]]:
    """The shape of what each marked layer gave last, by the layer's name."""
    shapes = [(names(layer), _output_shapes.get(id(layer))) for layer in _marked]
    return {name: shape for name, shape in shapes if name is not None and shape is not None}


def plain_name(op: str) -> str:
    """The op's name as it is without memfit."""
    return _MARKER.sub("", op)


def layer_of_failure(error: BaseException | None, op: str, names: Callable[[Any], str | None]) -> str | None:
    """The layer whose op could not be allocated: by the op's name, or by the call that raised."""
    index = layer_index(op)
    layer = _marked[index] if index is not None else getattr(error, "_memfit_layer", None)
    return None if layer is None else names(layer)


def layer_in_name(op: str) -> str | None:
    """The layer that a marked op's name tells, where the process that marked it is gone: below the model, as a path."""
    scopes = _LAYER_SCOPE.findall(op)
    return "/".join(scopes[1:] or scopes) or None


@contextmanager
def marking(*, taken_off: bool = False) -> Iterator[None]:
    """Mark every layer call, backward pass and optimizer update in this block.

    Where the marks will be `taken_off` before the graph is optimized, there are more of them: also where Keras opens no
    scope.
    """
    import keras
    import tensorflow as tf

    forget()
    indices: dict[int, int] = {}

    def layer_mark(layer: Any) -> str:
        if id(layer) not in indices:
            indices[id(layer)] = len(_marked)
            _marked.append(layer)
        return mark(indices[id(layer)])

    def operation_mark(operation: Any) -> str | None:
        return None if isinstance(operation, keras.Layer) else layer_mark(operation)

    def scope_mark(caller: Any) -> str | None:
        if isinstance(caller, keras.Layer):
            return layer_mark(caller)
        return OPTIMIZER if isinstance(caller, keras.optimizers.Optimizer) else None

    with (
        _numbered_as_unmarked() if taken_off else nullcontext(),
        _marked_scopes(scope_mark),
        _marks(keras.Layer, "__call__", layer_mark),
        _marks(keras.Operation, "__call__", operation_mark, scoped=taken_off),
        _marks(tf.GradientTape, "gradient", lambda _: BACKWARD, scoped=taken_off),
        _marks(keras.optimizers.Optimizer, "apply", lambda _: OPTIMIZER),
        _marks(keras.optimizers.Optimizer, "build", lambda _: OPTIMIZER),
    ):
        yield


def _numbered_as_unmarked() -> Any:
    """TensorFlow tells equal names apart by numbers: let it compare them without their marks."""
    import tensorflow as tf

    plain_unique_name = tf.Graph.unique_name

    def unique_name(self: Any, name: str, mark_as_used: bool = True) -> str:
        outer = self._name_stack
        whole = f"{outer}/{name}" if outer else name
        plain = plain_name(whole)
        if plain_name(name) == "":  # a scope of ours alone
            return whole
        try:
            self._name_stack = ""
            numbered: str = plain_unique_name(self, plain, mark_as_used)
            return whole + numbered[len(plain) :]
        finally:
            self._name_stack = outer

    return mock.patch.object(tf.Graph, "unique_name", unique_name)


def _marked_scopes(mark_of: Callable[[Any], str | None]) -> Any:
    import tensorflow as tf
    from keras.src.backend.tensorflow.core import name_scope

    plain = name_scope.__init__

    def initialize(self: Any, name: str, **kwargs: Any) -> None:
        plain(self, name, **kwargs)
        mark = mark_of(kwargs.get("caller"))
        if mark is not None:
            self._tf_name_scope = tf.name_scope(f"{name}.{mark}")

    return mock.patch.object(name_scope, "__init__", initialize)


def _marks(owner: type, method: str, mark_of: Callable[[Any], str | None], *, scoped: bool = False) -> Any:
    import tensorflow as tf

    plain = getattr(owner, method)

    @functools.wraps(plain)
    def marked(self: Any, *args: Any, **kwargs: Any) -> Any:
        name = mark_of(self)
        if name is None:
            return plain(self, *args, **kwargs)
        with tf.name_scope(name) if scoped else nullcontext(), tf.profiler.experimental.Trace(name):
            try:
                result = plain(self, *args, **kwargs)
                if hasattr(result, "shape"):
                    _output_shapes[id(self)] = tuple(result.shape)
                return result
            except Exception as error:
                if not hasattr(error, "_memfit_layer") and name not in (BACKWARD, OPTIMIZER):
                    error._memfit_layer = self  # type: ignore[attr-defined]
                raise

    return mock.patch.object(owner, method, marked)
