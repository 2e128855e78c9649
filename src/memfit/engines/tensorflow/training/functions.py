"""What Keras's loop calls for each batch: the step, on the whole batch or in parts, as the keeper says."""

from __future__ import annotations

import gc
import traceback
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from keras.src import tree
from keras.src.backend.tensorflow.trainer import reduce_per_replica
from keras.src.optimizers.base_optimizer import BaseOptimizer

from memfit.engines.tensorflow.training import parts, room
from memfit.engines.tensorflow.training.bound import bound
from memfit.engines.tensorflow.training.room import Room
from memfit.engines.tensorflow.training.setting import Setting
from memfit.engines.tensorflow.training.split import CannotSplit, Split
from memfit.engines.tensorflow.training.sums import OnHost, add_in_turn
from memfit.engines.tensorflow.training.undo import size
from memfit.engines.tensorflow.training.unrolled import Unrolled
from memfit.engines.tensorflow.training.whole import PartlyWritten, Whole
from memfit.engines.tensorflow.training.withheld import withheld


@dataclass
class Batch:
    """One batch of a model's, for the keeper to run in as many parts as it takes."""

    kind: str
    model: Any
    data: Any
    samples: int | None
    spec: Any
    whole: Any
    split: Any

    def run(self, count: int) -> Any:
        step = self.whole if count == 1 else self.split
        try:
            return self._try(count)
        except Exception as error:
            if self.kind != "train" or not ran_out(error) or not step.can_save():
                raise
            traceback.clear_frames(error.__traceback__)
        step.be_frugal()
        gc.collect()
        return self._try(count)

    def _try(self, count: int) -> Any:
        return self.whole(self.data, self.spec) if count == 1 else self.split(self.data, count, self.spec)

    def room(self) -> Room | None:
        return room.now()

    def caveats(self) -> list[str]:
        return self.split.caveats(_layers(self.model)) if hasattr(self.split, "caveats") else []

    def be_frugal(self) -> None:
        self.whole.be_frugal()
        self.split.be_frugal()

    def specs(self) -> Any:
        data = self.data
        while isinstance(data, tuple) and data and data[-1] is None:
            data = data[:-1]
        return data

    def traced(self) -> Any:
        """A step that is not the model's own, traced for all batch sizes: there is none."""
        return None

    def part(self, data: Any) -> Any:
        """The step on a part of a batch, whose gradients leave the device as they are made: to be traced, not run."""
        with withheld() as held:
            outputs = self.model.train_step(data)
        dense = [g for update in held.updates for g in update.gradients if tf.is_tensor(g)]
        add_in_turn([(g, OnHost(tuple(g.shape), g.dtype)) for g in dense], tf.constant(1.0), tf.constant(True))
        return outputs

    def nbytes(self) -> int:
        return sum(_nbytes(leaf) for leaf in tree.flatten(self.data))

    def next_batch(self) -> int:
        """What a batch that is made while this one trains will take of the device: none where they are the host's."""
        beside = room.beside(self._held())
        return self.nbytes() if beside is None else min(self.nbytes(), beside)

    def gradients(self) -> int:
        return size(self.model.trainable_variables)

    def available(self, budget: int | None, free: int) -> int:
        """What there is for this training, the model's own variables included."""
        return room.for_training(self._held(), budget, free)

    def _held(self) -> int:
        return size(_variables(self.model))

    def has_limit(self) -> bool:
        return room.limit() is not None

    def at_most(self) -> int | None:
        return bound(self.model, self.samples or 1, self.nbytes())

    def why_not(self, error: BaseException) -> str | None:
        if isinstance(error, CannotSplit):
            return str(error)
        if isinstance(error, PartlyWritten):
            return "memory ran out while the optimizer was writing, so the weights are those of half a step"
        return None


class Stepping:
    """Stands in for a model's `train_function` or `test_function`."""

    def __init__(self, model: Any, kind: str, original: Any, keepers: list[Any]) -> None:
        setting = _setting(model, kind)
        self._model, self._kind, self._original, self._keepers = model, kind, original, keepers
        self._whole = Whole(setting)
        self._split = Split(setting) if setting.replicas == 1 else Unrolled(setting)
        self._described: tuple[Any, Any] = (None, None)

    def __call__(self, iterator: Any) -> Any:
        outputs = None
        spec = self._spec(iterator)
        for executed in range(self._model.steps_per_execution):
            try:
                data = iterator.get_next() if spec is not None else next(iterator)
            except (StopIteration, tf.errors.OutOfRangeError):
                if executed == 0:
                    raise
                break
            outputs = self._run(data, spec)
        return outputs

    def _spec(self, iterator: Any) -> Any:
        """Without what Keras packs as optional. Asked for before each step, so remembered."""
        if not isinstance(iterator, tf.data.Iterator | tf.distribute.DistributedIterator):
            return None
        given = iterator.element_spec
        if given is not self._described[0]:
            plain = parts.without_optionals(given)
            self._described = (given, given if plain == given else plain)
        return self._described[1]

    def _run(self, data: Any, spec: Any) -> Any:
        if spec is None:
            data = parts.without_optionals(parts.as_tensors(data))
        elif spec is not self._described[0]:
            data = parts.without_optionals(data)
        batch = Batch(self._kind, self._model, data, parts.samples(data), spec, self._whole, self._split)
        return self._keepers[-1].run(batch)


class Predicting:
    """Stands in for a model's `predict_function`, which takes a list of batches."""

    def __init__(self, model: Any, kind: str, original: Any, keepers: list[Any]) -> None:
        self._model, self._kind, self._original, self._keepers = model, kind, original, keepers

    def __call__(self, batches: Any) -> Any:
        return parts.join([self._run(data) for data in batches]) if len(batches) > 1 else self._run(batches[0])

    def _run(self, data: Any) -> Any:
        batch = Batch(self._kind, self._model, data, parts.samples(data), None, self._whole, self._split)
        return self._keepers[-1].run(batch)

    def _whole(self, data: Any, spec: Any) -> Any:
        return self._original([data])

    def _split(self, data: Any, count: int, spec: Any) -> Any:
        if self._model.distribute_strategy.num_replicas_in_sync > 1:
            raise CannotSplit("it is spread over several replicas")
        total = parts.samples(data)
        assert total is not None
        ranges = parts.bounds(total, count)
        return parts.join([self._original([parts.piece(data, low, high)]) for low, high in ranges])


def _setting(model: Any, kind: str) -> Setting:
    strategy = model.distribute_strategy
    step = model.train_step if kind == "train" else model.test_step
    traced = hasattr(step, "python_function")
    return Setting(
        step=step.python_function if traced else step,
        variables=lambda: _variables(model),
        metrics=lambda: model.metrics_variables,
        ran_out=ran_out,
        eager=model.run_eagerly,
        jit=model.jit_compile,
        autograph=traced,
        strategy=strategy,
        reduce=lambda outputs: reduce_per_replica(outputs, strategy, reduction="auto"),
    )


def ran_out(error: BaseException) -> bool:
    return isinstance(error, MemoryError | tf.errors.ResourceExhaustedError | tf.errors.InternalError)


def _variables(model: Any) -> list[Any]:
    optimizers = [value for value in vars(model).values() if isinstance(value, BaseOptimizer)]
    found = [*model.variables, *model.metrics_variables, *(v for o in optimizers for v in o.variables)]
    return list({id(variable): variable for variable in found}.values())


def _layers(model: Any) -> list[Any]:
    models = model if isinstance(model, list) else [model]
    return [layer for one in models for layer in one._flatten_layers()]


def _nbytes(leaf: Any) -> int:
    if isinstance(leaf, tf.RaggedTensor | tf.SparseTensor):
        leaf = leaf.values
    return int(tf.size(leaf)) * leaf.dtype.size if tf.is_tensor(leaf) else int(getattr(leaf, "nbytes", 0))
