"""The step on a whole batch, as Keras runs it, except that a step which runs out of memory has written nothing."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.training import room
from memfit.engines.tensorflow.training.commit import commit
from memfit.engines.tensorflow.training.dependence import Dependence, arguments
from memfit.engines.tensorflow.training.setting import Setting
from memfit.engines.tensorflow.training.undo import Undo, size
from memfit.engines.tensorflow.training.withheld import Update, withheld

TEMPORARIES = 6  # times the weights: more than an optimizer's update, its gradients included, takes beside its state


class PartlyWritten(Exception):
    """Memory ran out while the optimizer was writing, and what it had written cannot be taken back."""


class Whole:
    """Traced once like Keras's own function.

    Everything that is to be written is computed first; then all of it is written. What the optimizer itself allocates
    while it writes may still fail: where memory is short, or the optimizer is the user's own, its variables are copied
    beforehand. A step whose parts depend on an update of its own (a GAN) is run as it is, with all that it writes
    copied beforehand; so is one in which there is no room for all gradients at once.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._function: Any = setting.compiled(setting.step) if setting.eager else None
        self._atomic = False
        self._written: list[Any] | None = None
        self._updated: list[Any] = []
        self._own_optimizers = True
        self._frugal = False
        with tf.init_scope():
            self._begun = tf.Variable(0, dtype=tf.int64, trainable=False)
        self._steps = 0

    def __call__(self, data: Any, spec: Any = None) -> Any:
        if self._function is None:
            self._trace(data if spec is None else spec)
        undo = self._undo()
        try:
            outputs = self._function(data)
        except BaseException as error:
            begun = self._atomic and int(self._begun) != self._steps * self._setting.replicas
            self._steps = int(self._begun) // self._setting.replicas
            if self._setting.ran_out(error) and undo is not None:
                undo.restore()
            elif self._setting.ran_out(error) and begun:
                raise PartlyWritten from error
            raise
        self._steps += self._atomic
        return outputs

    def _trace(self, data: Any) -> None:
        """Tracing makes the variables that are still missing, as Keras's own first step does."""
        self._atomic, function = False, None
        if not self._frugal:
            function = self._setting.traced(self._committing, data)
        if not self._atomic:
            function = self._setting.traced(self._setting.step, data)
            self._written = _captured(function.get_concrete_function(data))
        self._function = function

    def can_save(self) -> bool:
        """Would it take notably less memory to use up the gradients as they are made?"""
        return self._atomic and room.is_much(self._weights())

    def be_frugal(self) -> None:
        """What is written is then copied out of the device beforehand."""
        if not self._setting.eager:
            self._frugal, self._function = True, None

    def _undo(self) -> Undo | None:
        if self._atomic:
            if self._own_optimizers and not room.short_of(TEMPORARIES * self._weights()):
                return None
            return Undo(self._updated, on_host=True)
        if self._written is not None:
            return Undo(self._written, on_host=self._frugal or room.short_of(TEMPORARIES * size(self._written)))
        return Undo(self._setting.variables())

    def _weights(self) -> int:
        if self._weights_size is None:
            self._weights_size = size(v for v in self._updated if getattr(v, "trainable", False))
        return self._weights_size

    _weights_size: int | None = None

    def _committing(self, data: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        with withheld() as held:
            outputs = self._setting.step(data)
        found = Dependence(graph, arguments(graph), held)
        rounds = {found.round_of(k) for k in range(len(held.updates))}
        rounds |= {found.of(value).round for _, value in held.writes.values()}
        rounds |= {found.of(value).round for value in tf.nest.flatten(outputs)}
        self._atomic = not found.writes_elsewhere and rounds <= {0}
        gradients = [update.gradients for update in held.updates]
        commit(held, gradients, outputs, since=held.start, begun=self._begun)
        self._updated = [v for update in held.updates for v in [*update.variables, *update.optimizer.variables]]
        self._updated += [variable for variable, _ in held.writes.values()]
        self._own_optimizers = all(own_optimizer(update) for update in held.updates)
        self._weights_size = None
        return outputs


def own_optimizer(update: Update) -> bool:
    """An optimizer whose update is the user's code may fail at any place."""
    kind = type(update.optimizer)
    methods = [getattr(kind, name) for name in ("apply", "update_step", "_backend_update_step", "assign_sub")]
    patched = {"apply", "update_step", "assign", "assign_add", "assign_sub"} & vars(update.optimizer).keys()
    return not patched and all(method.__module__.startswith(("keras.", "memfit.")) for method in methods)


def _captured(concrete: Any) -> list[Any]:
    """Variables that a traced function may write to: those it does more with than read."""
    handles = {id(outer): inner for outer, inner in concrete.graph.captures}
    found = []
    for variable in concrete.graph.variables:
        inner = handles.get(id(variable.handle))
        if inner is None or any(op.type != "ReadVariableOp" for op in inner.consumers()):
            found.append(variable)
    return found
