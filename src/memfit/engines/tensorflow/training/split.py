"""The step on a batch in parts: the same update, in less memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf
from keras.src import tree

from memfit.engines.tensorflow.training import merging, parts, room
from memfit.engines.tensorflow.training.coupling import COUPLED, COUPLING, SUMS, UNKNOWN, check
from memfit.engines.tensorflow.training.dependence import Dependence, Origin, arguments
from memfit.engines.tensorflow.training.evenly import drawn_evenly
from memfit.engines.tensorflow.training.setting import Setting
from memfit.engines.tensorflow.training.sums import OnDevice, OnHost, Sum, add_in_turn, apply_in_turn
from memfit.engines.tensorflow.training.undo import Undo, size
from memfit.engines.tensorflow.training.weighting import Measured, Share, counted
from memfit.engines.tensorflow.training.whole import TEMPORARIES, PartlyWritten, own_optimizer
from memfit.engines.tensorflow.training.withheld import Update, Withheld, withheld

SEED = "seed_generator_state"
DATA = Origin(data=True)


class CannotSplit(Exception):
    """The step cannot be run in parts; the text says why."""


@dataclass
class Applied:
    """An optimizer's call, to be made with the sums of the parts' gradients (None: sparse ones, or none at all)."""

    update: Update
    round: int
    sums: list[Sum | None]


class Split:
    """Gradients of the parts are summed, then handed to the optimizer once.

    State that the step carries on, such as metrics and random seeds, goes from part to part; what does not depend on
    the data is written once. A step that uses weights it has itself updated is run in rounds, one for each update.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._functions: dict[int, Any] = {}
        self._signature: tuple[Any, ...] = ()
        self._measure = setting.compiled(self._denominators)
        self._apply: dict[int, Any] = {}
        self._applied: dict[int, Applied] = {}
        self._state: dict[int, tuple[Any, int]] = {}
        self._averaged: list[tuple[bool, int]] = []
        self._rounds = 1
        self._losses = 0
        self._update_needs: int | None = None
        self._obstacle: str | None = None
        self._updates = 0
        self._learnt = False
        self._sums_up = False
        self._checked: str | None = None
        self._random = self._draws_freely = False
        self._frugal = False
        self._trained = 0

    def __call__(self, data: Any, count: int, spec: Any = None) -> Any:
        """The step on `data`, in `count` parts. Whatever happens, a step that fails has changed nothing."""
        total = parts.samples(data)
        if total is None:
            raise CannotSplit("its arrays differ in length")
        ranges = parts.bounds(total, count)
        self._prepare(parts.piece(data, *ranges[0]), spec)
        if self._checked is None:
            self._checked = self._check(data) if self._can_check(total) else ""
            self._sums_up = self._checked == SUMS
        undo = self._undo_state()
        updated: Undo | None = None
        writing = False
        try:
            whole = self._measured(data, ranges)
            outputs: Any = None
            kept: list[tuple[Any, Any]] = []
            for current in range(self._rounds):
                if current:
                    undo.restore()
                found, sparse = self._run_round(current, data, ranges, total, whole)
                outputs = found if outputs is None else merging.chosen(current, found, outputs, self._averaged)
                kept += [(v, v.value()) for v in self._raw_state(current)] if self._rounds > 1 else []
                updated = updated or self._copied(current)
                writing = True
                self._update(current, sparse)
                writing = False
            for variable, value in kept:
                variable.assign(value)
        except BaseException as error:
            undo.restore()
            if updated is not None:
                updated.restore()
            elif writing and self._setting.ran_out(error):
                raise PartlyWritten from error
            raise
        return outputs

    def can_save(self) -> bool:
        """Do the gradients' sums take a notable part of the device, so that it would help to have them elsewhere?"""
        return not self._frugal and not self._setting.jit and room.is_much(self._trained)

    def be_frugal(self) -> None:
        """Gradients are then summed in the host's memory."""
        if self._frugal or self._setting.jit:
            return
        self._frugal, self._learnt = True, False
        self._functions, self._apply, self._applied = {}, {}, {}

    # what a part does

    def _part(self, current: int, piece: Any, fraction: Any, weight: Any, first: Any, last: Any, whole: Any) -> Any:
        share = Share(fraction, whole, weight)
        with counted(share), withheld() as held:
            outputs = self._setting.step(piece)
        found = self._dependence(held)
        if found is not None:
            self._learn(held, found, share, outputs)
        sparse = self._sum(held, found, current, weight, first)
        self._carry_on(held, found, last)
        return outputs, sparse

    def _dependence(self, held: Withheld) -> Dependence | None:
        if self._setting.eager:
            if len(held.updates) > 1:
                raise CannotSplit("it updates weights more than once and runs eagerly")
            return None
        return Dependence(held.graph, arguments(held.graph), held)

    def _learn(self, held: Withheld, found: Dependence | None, share: Share, outputs: Any) -> None:
        origin = _unknown if found is None else found.of
        self._losses = len(share.own)
        self._updates = len(held.updates)
        self._state = {id(v): (v, origin(value).round) for v, value in held.writes.values()}
        leaves = [origin(leaf) for leaf in tree.flatten(outputs)]
        self._averaged = [(not leaf.state, leaf.round) for leaf in leaves]
        updates = [0 if found is None else found.round_of(k) for k in range(len(held.updates))]
        rounds = [*updates, *(r for _, r in self._state.values()), *(leaf.round for leaf in leaves)]
        self._rounds = 1 + max(rounds, default=0)
        self._obstacle = None
        self._random = any(variable.name == SEED for variable, _ in self._state.values())
        if found is not None:
            self._draws_freely = found.draws_freely
            self._random |= found.random
            if found.writes_elsewhere:
                self._obstacle = "it writes to variables that are not Keras's"
        trained = {id(v) for update in held.updates for v in update.variables}
        self._trained = size(v for update in held.updates for v in update.variables)
        if any(id(v) in trained and origin(value).data for v, value in held.writes.values()):
            self._obstacle = "it changes weights by itself, beside its optimizer"

    def _sum(self, held: Withheld, found: Dependence | None, current: int, weight: Any, first: Any) -> list[Any]:
        """Add the gradients of this round to the sums. Sparse ones are handed back, to be joined."""
        sparse: list[Any] = []
        dense: list[tuple[Any, Sum]] = []
        for k, update in enumerate(held.updates):
            turn = 0 if found is None else found.round_of(k)
            if k not in self._applied:
                with tf.init_scope():
                    pairs = zip(update.gradients, update.variables, strict=True)
                    self._applied[k] = Applied(update, turn, [self._sum_for(g, v) for g, v in pairs])
            if turn != current:
                continue
            rows: list[Any] = []
            for gradient, total in zip(update.gradients, self._applied[k].sums, strict=True):
                if isinstance(gradient, tf.IndexedSlices):
                    values = gradient.values * tf.cast(weight, gradient.values.dtype)
                    rows.append((values, gradient.indices))
                elif total is not None:
                    dense.append((gradient, total))
            sparse.append(rows)
        if self._frugal and held.graph is not None:
            add_in_turn(dense, weight, first)
        else:
            for gradient, total in dense:
                total.add(gradient, weight, first)
        return sparse

    def _sum_for(self, gradient: Any, variable: Any) -> Sum | None:
        if gradient is None or isinstance(gradient, tf.IndexedSlices):
            return None
        place = OnHost if self._frugal else OnDevice
        return place(tuple(variable.shape), gradient.dtype)

    def _carry_on(self, held: Withheld, found: Dependence | None, last: Any) -> None:
        metrics = {id(v) for v in self._setting.metrics()}
        once = []
        for variable, value in held.writes.values():
            carried = found is None or found.of(value).data or id(variable) in metrics or variable.name == SEED
            if carried:
                variable.assign(value)
            else:
                once.append((variable, value))
        if once:
            tf.cond(last, lambda: [v.assign(value) for v, value in once], lambda: [value for _, value in once])

    # the whole of it

    def _prepare(self, piece: Any, spec: Any) -> None:
        if self._setting.eager:
            self._try_out(piece)
        elif not self._functions:
            one, yes = tf.TensorSpec([], tf.float64), tf.TensorSpec([], tf.bool)
            described = parts.open_spec(piece if spec is None else spec)
            self._signature = (described, one, one, yes, yes, tf.TensorSpec([None], tf.float64))
            self._functions[0] = self._setting.traced(partial(self._part, 0), *self._signature)
        if self._obstacle is not None:
            raise CannotSplit(self._obstacle)

    def _try_out(self, piece: Any) -> None:
        """Without a graph, what a step does is known only once it has been run; here nothing of it is kept.

        Run again with other metrics, it shows which of its results read them.
        """
        if self._learnt:
            return
        one = tf.constant(1.0, tf.float64)
        results = []
        for offset in (0, 1):
            share = Share(one, tf.ones((100,), tf.float64), one)
            with counted(share), withheld() as held:
                for variable in self._setting.metrics():
                    held.write(variable, variable._value + tf.cast(offset, variable._value.dtype))
                outputs = self._setting.step(piece)
            results.append(tree.flatten(outputs))
        self._learn(held, self._dependence(held), share, outputs)
        self._averaged = [(_same(a, b), 0) for a, b in zip(*results, strict=True)]
        self._learnt = True

    def _function(self, current: int) -> Any:
        if current not in self._functions:
            self._functions[current] = self._setting.compiled(partial(self._part, current))
        return self._functions[current]

    def _run_round(
        self, current: int, data: Any, ranges: list[tuple[int, int]], total: int, whole: Any
    ) -> tuple[Any, list[Any]]:
        outputs, sparse = [], []
        for low, high in ranges:
            fraction = tf.constant((high - low) / total, tf.float64)
            first, last = tf.constant(low == 0), tf.constant(high == total)
            weight = tf.ones_like(fraction) if self._sums_up else fraction
            found, rows = self._function(current)(parts.piece(data, low, high), fraction, weight, first, last, whole)
            outputs.append(found)
            sparse.append(rows)
        weights = [1.0 if self._sums_up else (high - low) / total for low, high in ranges]
        return merging.merged(outputs, self._averaged, weights, ranges), tree.map_structure(
            lambda *rows: tf.concat(rows, 0), *sparse
        )

    def _measured(self, data: Any, ranges: list[tuple[int, int]]) -> Any:
        whole = tf.zeros((self._losses,), tf.float64)
        if self._losses:
            for low, high in ranges:
                whole += self._measure(parts.piece(data, low, high))
        return whole

    def _denominators(self, piece: Any) -> Any:
        one = tf.constant(1.0, tf.float64)
        share = Share(one, None, one, wanted=self._losses)
        try:
            with counted(share), withheld():
                self._setting.step(piece)
        except Measured:
            pass
        return tf.stack(share.own)

    def _update(self, current: int, sparse: list[Any]) -> None:
        if not any(applied.round == current for applied in self._applied.values()):
            return
        if current not in self._apply:
            self._apply[current] = self._setting.compiled(partial(self._hand_over, current))
        before = room.now()
        self._apply[current](sparse)
        after = room.now()
        if before is not None and after is not None and after.peak > before.peak:
            self._update_needs = after.peak - before.live

    def _hand_over(self, current: int, sparse: list[Any]) -> None:
        rows = iter(sparse)
        for applied in self._applied.values():
            if applied.round == current:
                gradients = _gradients(applied, iter(next(rows)))
                if self._frugal and not self._setting.eager:
                    apply_in_turn(applied.update.apply, gradients, applied.update.variables)
                else:
                    applied.update.apply(gradients)

    def _copied(self, current: int) -> Undo | None:
        """The weights and the optimizer's variables, where its update might fail."""
        updates = [applied.update for applied in self._applied.values() if applied.round >= current]
        variables = [v for update in updates for v in [*update.variables, *update.optimizer.variables]]
        short = room.short_of(self._update_needs or TEMPORARIES * size(v for u in updates for v in u.variables))
        risky = self._rounds > 1 or short or not all(map(own_optimizer, updates))
        return Undo(variables, on_host=short) if risky or self._setting.eager else None

    # what cannot be reproduced in parts

    def caveats(self, layers: list[Any]) -> list[str]:
        """What is said once of a training whose batches are split."""
        found = []
        normalized = [layer.name for layer in layers if isinstance(layer, COUPLING)]
        if self._applied and normalized:
            found.append(f"{normalized[0]!r} normalizes by the statistics of each micro-batch, not of the whole batch")
        elif self._checked == COUPLED:
            found.append("this step couples the samples of a batch, so its micro-batches do not sum to the same update")
        elif self._checked == UNKNOWN:
            found.append(
                "there was no room to try out whether this step is the mean over its samples: it is taken for it"
            )
        if self._random:
            found.append("random layers draw for each micro-batch: other numbers than for the whole batch, as random")
        return found

    def _can_check(self, total: int) -> bool:
        return total >= 3 and not self._draws_freely and bool(self._updates)

    def _check(self, data: Any) -> str:
        try:
            part = self._function(0) if not self._random else self._evenly_drawing()
            return check(partial(self._gradients_of, part), data, self._undo_state)
        except tf.errors.ResourceExhaustedError:
            if self.can_save():
                raise
            return UNKNOWN

    def _evenly_drawing(self) -> Any:
        """The first round's part, for the comparison alone: with the numbers it draws, parts never sum to the whole."""
        part = partial(self._part, 0)
        if not self._setting.eager:
            with drawn_evenly():
                return self._setting.traced(part, *self._signature)

        def run(*args: Any) -> Any:
            with drawn_evenly():
                return part(*args)

        return run

    def _gradients_of(
        self, part: Any, data: Any, ranges: list[tuple[int, int]], weights: list[float], *, add: bool
    ) -> list[float]:
        """The norms of the gradients' sums after the parts of `data`, with these weights, in the first round."""
        low, high = ranges[0][0], ranges[-1][1]
        whole = self._measured(data, ranges)
        undo = self._undo_state()
        for (start, end), weight in zip(ranges, weights, strict=True):
            fraction = tf.constant((end - start) / (high - low), tf.float64)
            first = tf.constant(start == 0 and not add)
            piece = parts.piece(data, start, end)
            part(piece, fraction, tf.constant(weight, tf.float64), first, tf.constant(True), whole)
            undo.restore()
        return [total.norm() for total in self._sums()]

    def _undo_state(self) -> Undo:
        return Undo(self._variables())

    def _sums(self) -> list[Sum]:
        return [total for applied in self._applied.values() for total in applied.sums if total is not None]

    def _variables(self) -> list[Any]:
        if self._setting.eager:
            return self._setting.variables()
        return [variable for variable, _ in self._state.values()]

    def _raw_state(self, current: int) -> list[Any]:
        return [variable._value for variable, turn in self._state.values() if turn == current]


def _same(a: Any, b: Any) -> bool:
    return bool(tf.reduce_all(a == b)) if tf.is_tensor(a) else True


def _unknown(value: Any) -> Origin:
    return DATA


def _gradients(applied: Applied, rows: Any) -> list[Any]:
    gradients = []
    for gradient, total, variable in zip(applied.update.gradients, applied.sums, applied.update.variables, strict=True):
        if isinstance(gradient, tf.IndexedSlices):
            values, indices = next(rows)
            gradients.append(tf.IndexedSlices(values, indices, tf.constant(tuple(variable.shape), indices.dtype)))
        else:
            gradients.append(None if total is None else total.value())
    return gradients
