"""A step's writes, withheld: variables keep their values, optimizers hand over their gradients, nothing is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import keras
import tensorflow as tf
from keras.src.backend.common import KerasVariable
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.backend.tensorflow.core import Variable
from keras.src.optimizers.base_optimizer import BaseOptimizer

_thread = threading.local()


@dataclass
class Update:
    """One call of an optimizer: `apply` does what the call would have done, with any gradients."""

    optimizer: Any
    gradients: list[Any]
    variables: list[Any]
    apply: Callable[[list[Any]], Any]
    ops_before: int


@dataclass
class Withheld:
    """What a step wanted to write. `escaped` says that something was written after all."""

    graph: Any
    writes: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    updates: list[Update] = field(default_factory=list)
    escaped: bool = False
    start: int = 0  # how many ops the graph had: earlier ones are another step's, or another replica's

    def write(self, variable: Any, value: Any) -> bool:
        """Is `value` withheld? Not where it was computed in a graph inside the step's own, such as a branch."""
        if self.graph is not None and getattr(value, "graph", self.graph) is not self.graph:
            self.escaped = True
            return False
        self.writes[id(variable)] = (variable, value)
        return True


@contextmanager
def withheld(earlier: dict[int, tuple[Any, Any]] | None = None) -> Iterator[Withheld]:
    """Nothing that Keras code writes in this block, in this thread, is written. What it reads back is what it wrote.

    It also reads what was withheld `earlier`.
    """
    held = Withheld(None if tf.executing_eagerly() else tf.compat.v1.get_default_graph(), dict(earlier or {}))
    held.start = 0 if held.graph is None else len(held.graph.get_operations())
    before = getattr(_thread, "held", None)
    with ExitStack() as patches:
        for owner, name, replacement in _replacements():
            patches.enter_context(mock.patch.object(owner, name, replacement))
        _thread.held = held
        try:
            yield held
        finally:
            _thread.held = before


def _replacements() -> list[tuple[Any, str, Any]]:
    writing = [(Variable, "_direct_assign", _assign(Variable._direct_assign))]
    reading = [(KerasVariable, "value", _value(KerasVariable.value))]
    return writing + reading + [(cls, name, _handed_over(cls, name)) for cls, name in _applies(BaseOptimizer)]


def _applies(cls: Any) -> list[tuple[Any, str]]:
    """Each place where an optimizer takes gradients. Keras's own `apply_gradients` calls `apply`."""
    own = [(cls, "apply")] if "apply" in vars(cls) else []
    if "apply_gradients" in vars(cls) and cls is not BaseOptimizer:
        own.append((cls, "apply_gradients"))
    return own + [found for child in cls.__subclasses__() for found in _applies(child)]


def _held() -> Withheld | None:
    return getattr(_thread, "held", None)


def _assign(original: Any) -> Any:
    def assign(self: Any, value: Any) -> None:
        held = _held()
        if held is None or not held.write(self, tf.cast(value, self._value.dtype)):
            original(self, value)

    return assign


def _value(original: Any) -> Any:
    def value(self: Any) -> Any:
        held = _held()
        if held is not None and id(self) in held.writes and not in_stateless_scope():
            return self._maybe_autocast(held.writes[id(self)][1])
        return original.fget(self)

    return property(value)


def _handed_over(cls: type, name: str) -> Any:
    original = vars(cls)[name]

    def apply(self: Any, grads: Any, *args: Any, **kwargs: Any) -> Any:
        held = _held()
        if held is None:
            return original(self, grads, *args, **kwargs)
        if name == "apply":
            gradients = list(grads)
            given = kwargs.get("trainable_variables", args[0] if args else None)
            variables = list(self._trainable_variables if given is None else given)
            again = lambda new: original(self, new, variables)  # noqa: E731
        else:
            gradients, variables = map(list, zip(*grads, strict=True))
            again = lambda new: original(self, list(zip(new, variables, strict=True)), *args, **kwargs)  # noqa: E731
        if held.graph is not None and any(getattr(g, "graph", held.graph) is not held.graph for g in gradients):
            held.escaped = True
            return original(self, grads, *args, **kwargs)
        _build(self, variables)
        ops = 0 if held.graph is None else len(held.graph.get_operations())
        held.updates.append(Update(self, gradients, variables, again, ops))
        return None if name == "apply" else self.iterations

    return apply


def _build(optimizer: Any, variables: list[Any]) -> None:
    """As Keras does at the first gradients."""
    if not optimizer.built:
        with tf.init_scope(), keras.name_scope(optimizer.name, caller=optimizer):
            optimizer.build(variables)
        optimizer.built = True
