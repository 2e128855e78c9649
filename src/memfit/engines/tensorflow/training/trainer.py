"""Keras's own training loop, with its step, evaluation and prediction functions replaced while a guard is in force."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol
from unittest import mock
from weakref import WeakSet

from keras.src.backend.tensorflow.trainer import TensorFlowTrainer
from keras.src.callbacks.callback_list import CallbackList

from memfit.engines.tensorflow.training import room
from memfit.engines.tensorflow.training.functions import Predicting, Stepping

FUNCTIONS = {"train": "train_function", "test": "test_function", "predict": "predict_function"}
CALLS = ("fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch")
STORE = "_memfit"


class Guarding(Protocol):
    """What decides, outside of the engine."""

    def keeper(self, schedules: dict[str, Any]) -> Any: ...
    def explained(self, error: Exception, model: Any) -> Exception | None: ...
    def finished(self, keeper: Any) -> None: ...


class Watched:
    """What is kept with a model: its functions until it is compiled anew, and what was learnt about its batches."""

    def __init__(self, model: Any) -> None:
        self.compiled_as = getattr(model, "_compile_config", None)
        self.step_as = model.train_step
        self.functions: dict[str, Any] = {}
        self.replaced: dict[str, Any] = {}
        self.schedules: dict[str, Any] = {}
        self.keepers: list[Any] = []

    def fresh(self, model: Any) -> bool:
        return self.compiled_as is getattr(model, "_compile_config", None) and self.step_as == model.train_step


_guards: list[Guarding] = []
_watched: WeakSet[Any] = WeakSet()


@contextmanager
def guarding(guard: Guarding) -> Iterator[None]:
    """Guards may be nested: the innermost decides, all of them get the records."""
    with ExitStack() as patches:
        if not _guards:
            for owner, name, replacement in _replacements():
                patches.enter_context(mock.patch.object(owner, name, replacement))
            patches.callback(_give_back)
        _guards.append(guard)
        patches.callback(_guards.pop)
        yield


def _replacements() -> list[tuple[Any, str, Any]]:
    trainer: Any = TensorFlowTrainer
    calls = [(trainer, name, _called(name, getattr(trainer, name))) for name in CALLS]
    makers = [
        (trainer, f"make_{kind}_function", _made(kind, getattr(trainer, f"make_{kind}_function"))) for kind in FUNCTIONS
    ]
    notes = [
        (CallbackList, "on_epoch_begin", _noting("epoch", CallbackList.on_epoch_begin)),
        (CallbackList, "on_train_batch_begin", _noting("step", CallbackList.on_train_batch_begin)),
    ]
    return calls + makers + notes


def _give_back() -> None:
    for model in list(_watched):
        watched = _watching(model)
        for kind, name in FUNCTIONS.items():
            if vars(model).get(name) is watched.functions.get(kind) is not None:
                setattr(model, name, watched.replaced.get(kind))
    _watched.clear()


def _watching(model: Any) -> Watched:
    watched: Watched | None = vars(model).get(STORE)
    if watched is None or not watched.fresh(model):
        keepers = [] if watched is None else watched.keepers
        watched = Watched(model)
        watched.keepers = keepers
        object.__setattr__(model, STORE, watched)
    _watched.add(model)
    return watched


def _called(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        guard = _guards[-1]
        watched = _watching(self)
        if watched.keepers and name != "fit":  # the validation inside a `fit`
            return original(self, *args, **kwargs)
        keeper = guard.keeper(watched.schedules)
        watched.keepers.append(keeper)
        if name == "fit":
            room.forget_peak()
        try:
            result = original(self, *args, **kwargs)
        except Exception as error:
            explained = guard.explained(error, self)
            if explained is None or explained is error:
                raise
            raise explained from error
        finally:
            watched.keepers.remove(keeper)
            keeper.measured(room.peak())
            if name == "fit":
                for interested in _guards:
                    interested.finished(keeper)
        if name == "fit":
            result.memfit = keeper.record
        return result

    return call


def _made(kind: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def make(self: Any, force: bool = False) -> Any:
        watched = _watching(self)
        name = FUNCTIONS[kind]
        present = vars(self).get(name)
        if present is not None and present is watched.functions.get(kind) and not force:
            return present
        if isinstance(present, Stepping | Predicting):  # of a step that is no longer the model's
            setattr(self, name, None)
        original(self, force)
        watched.replaced[kind] = vars(self).get(name)
        if force or kind not in watched.functions:
            make_function = Predicting if kind == "predict" else Stepping
            watched.functions[kind] = make_function(self, kind, watched.replaced[kind], watched.keepers)
        setattr(self, name, watched.functions[kind])
        return None

    return make


def _noting(what: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def begin(self: Any, number: int, logs: Any = None) -> Any:
        watched = vars(self.model).get(STORE) if self.model is not None else None
        if watched is not None and watched.keepers:
            setattr(watched.keepers[-1], what, number + 1)
        return original(self, number, logs)

    return begin
