"""Is asked instead of the trainer: foresees each call, and stops the script once it knows enough."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from memfit import engines
from memfit.checking.calls import Call, called_from, outlook_of_evaluation, outlook_of_fit
from memfit.checking.outlook import Outlook
from memfit.checking.result import Check, check_of
from memfit.device.worker import Reporter, of_the_user
from memfit.engines import TracedStep
from memfit.errors import BadInput, MemfitError
from memfit.estimation.run import estimate_step
from memfit.remedies import Data, Situation
from memfit.sizes import format_size


class Stop(BaseException):
    """Unwinds a script that has shown what it trains; no handler of the script's for errors catches it."""


class Watcher:
    """Collects the checks of a script's training calls: of the first, or with `every` of all."""

    def __init__(self, budget: int, every: bool, reporter: Reporter) -> None:
        self.checks: list[Check] = []
        self.problem: MemfitError | None = None
        self._budget = budget
        self._every = every
        self._reporter = reporter
        self._tensors: list[tuple[weakref.ref[Any], int]] = []
        self._process = os.getpid()
        self._busy = False

    def fit(self, model: Any, arguments: dict[str, Any]) -> Any:
        call = called_from("fit")
        self._reporter.progress(f"foreseeing the fit in line {call.line}")
        self._conclude(lambda: self._check_fit(model, arguments, call))
        return _untrained(model, arguments)

    def train_on_batch(self, model: Any, arguments: dict[str, Any]) -> Any:
        call = called_from("train_on_batch")
        x: Any = arguments.get("x")
        whole = arguments | {"batch_size": len(x) if hasattr(x, "shape") else None, "validation_data": None}
        self._conclude(lambda: self._check_fit(model, whole, call))
        return 0.0

    def evaluate(self, model: Any, arguments: dict[str, Any]) -> Any:
        """Only asked after the first `fit`, when the script is led on to its other calls."""
        call = called_from("evaluate")
        self._conclude(lambda: self._check_evaluation(model, arguments, call))
        names = [metric.name for metric in model.metrics]
        nothing = [float("nan")] * max(len(names), 1)
        return dict(zip(names, nothing, strict=True)) if arguments.get("return_dict") else nothing

    def step(self, name: str, step: TracedStep | None, batch: int) -> None:
        call = called_from(name)
        self._reporter.progress(f"foreseeing {name}, called in line {call.line}")
        self._conclude(lambda: self._check_step(call, step, batch))
        self._stop()  # there is no telling what the script's own step would have given back

    def eager_update(self) -> None:
        """What was held up to here is known, what later steps take is not."""
        if self._busy:
            return
        call = called_from("a step")
        peak = format_size(engines.current().state().peak)
        self.problem = BadInput(
            f"{os.path.basename(call.file)}, line {call.line}, trains without @tf.function, which cannot be foreseen: "
            f"its first step held {peak} before its update. Put @tf.function above the step and check again"
        )
        self._stop()

    def before_tensor(self, array: Any) -> None:
        """An array that is larger than the whole budget ends the training here."""
        if array.nbytes + self._held() > self._budget and not self._busy:
            call = called_from("a tensor")
            data = Data(int(array.nbytes), 1, str(array.dtype))
            self._conclude(lambda: check_of(call, _too_large(call, data, self._held(), self._budget)))
            self._stop()

    def after_tensor(self, tensor: Any, size: int) -> None:
        if not self._busy:
            self._tensors.append((weakref.ref(tensor), size))

    @property
    def leads_on(self) -> bool:
        """Has the script trained already, in its own eyes?"""
        return bool(self.checks)

    def of_the_user(self, function: Callable[..., Any]) -> bool:
        code = getattr(function, "__code__", None)
        return not self._busy and code is not None and of_the_user(code.co_filename)

    def _check_fit(self, model: Any, arguments: dict[str, Any], call: Call) -> Check:
        outlook = outlook_of_fit(model, arguments, call, self._budget, self._held_beside(arguments))
        return check_of(call, outlook, _notes(arguments))

    def _check_evaluation(self, model: Any, arguments: dict[str, Any], call: Call) -> Check:
        outlook = outlook_of_evaluation(model, arguments, call, self._budget, self._held_beside(arguments))
        return check_of(call, outlook)

    def _check_step(self, call: Call, step: TracedStep | None, batch: int) -> Check:
        estimate = estimate_step(step, call.method, batch)
        held = self._held()
        situation = Situation(
            causes=(), call=call.code, batch=batch, budget=self._budget, held=held, data=Data(held, 1, "float32"),
            estimate=estimate,
        )  # fmt: skip
        return check_of(call, Outlook(situation, at_start=held))

    def _held(self) -> int:
        return sum(size for tensor, size in self._tensors if tensor() is not None)

    def _held_beside(self, arguments: dict[str, Any]) -> int:
        """Tensors of the script's that are not themselves the data of this call, which is counted on its own."""
        fed = {id(arguments.get(name)) for name in ("x", "y")}
        return sum(size for tensor, size in self._tensors if tensor() is not None and id(tensor()) not in fed)

    def _conclude(self, check: Callable[[], Check]) -> None:
        self._busy = True
        try:
            self.checks.append(check())
        except MemfitError as error:
            self.problem = error
            self._stop()
        finally:
            self._busy = False
        if not self._every:
            self._stop()

    def _stop(self) -> None:
        if os.getpid() == self._process and threading.current_thread() is threading.main_thread():
            raise Stop
        self._reporter.answer(self.problem or self.checks)


def _too_large(call: Call, data: Data, held: int, budget: int) -> Outlook:
    situation = Situation(causes=(), call=call.code, budget=budget, held=data.bytes + held, data=data, dtype=data.dtype)
    return Outlook(situation, at_start=data.bytes + held)


def _untrained(model: Any, arguments: dict[str, Any]) -> Any:
    """What `fit` gives back, as if nothing had been learnt."""
    import keras

    history = keras.callbacks.History()
    history.set_model(model)
    epochs = int(arguments.get("epochs") or 1)
    validated = arguments.get("validation_data") is not None or arguments.get("validation_split")
    names = ["loss", *(metric.name for metric in model.metrics if metric.name != "loss")]
    names += [f"val_{name}" for name in names] if validated else []
    history.epoch = list(range(epochs))
    history.history = {name: [float("nan")] * epochs for name in names}
    model.history = history
    return history


def _notes(arguments: dict[str, Any]) -> list[str]:
    if arguments.get("sample_weight") is None:
        return []
    weights = arguments["sample_weight"]
    return [f"sample weights of {format_size(getattr(weights, 'nbytes', 0))} are not counted"]
