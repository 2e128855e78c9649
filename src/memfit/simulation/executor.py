"""TensorFlow's executor, simulated: worker threads with their queues, nodes that wait for inputs, frames of loops."""

from __future__ import annotations

import heapq
import operator
import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from memfit.simulation.allocator import OutOfMemory
from memfit.simulation.frames import Frame, Iteration
from memfit.simulation.graph import Kind
from memfit.simulation.memory import DEAD
from memfit.simulation.operations import Operations
from memfit.simulation.plan import Plan

WAKE_UP = 15e-6
BESIDE = 0.5  # an operation takes so much longer for each other one that runs beside it: kernels share the cores
QUEUED = 6e-5  # seconds: shorter kernels do their work in the operation's own thread
SLICE = 5e-3  # seconds: over several such, good luck and bad in sharing the cores even out
ROUNDS = 10  # of a loop that ends when its data says so
FAULT = 5e-11  # seconds to touch a byte that nobody has touched before


@dataclass(frozen=True)
class Unrest:
    """How irregular durations are.

    Each is up to `jitter` times as long; an operation that begins beside another takes longer by `uneven` of its time
    on average (short ones now less, now more), or, with the probability `unfair`, one of the two waits for the end of
    the other.
    """

    jitter: float
    uneven: float
    unfair: float


USUAL = Unrest(jitter=1.15, uneven=0.6, unfair=0.05)
WILD = Unrest(jitter=2.0, uneven=2.0, unfair=0.3)  # shows in few orders what real runs do seldom


@dataclass(slots=True)
class Worker:
    """A thread, with what it still has to do of the operation `running`, in seconds if it ran alone."""

    index: int
    queue: deque[Any] = field(default_factory=deque)
    inline: deque[Any] = field(default_factory=deque)
    busy: bool = False
    running: Any = None
    left: float = 0.0


_left = operator.attrgetter("left")


class Step:
    """One run of the graph. Durations are irregular, as those of real kernels are."""

    def __init__(self, plan: Plan, operations: Operations, chance: random.Random, unrest: Unrest) -> None:
        self.plan, self.operations, self.chance, self.unrest = plan, operations, chance, unrest
        self.memory = operations.memory
        self.wakes: list[tuple[float, int]] = []
        self.now = 0.0
        self.workers = [Worker(index) for index in range(plan.graph.threads)]
        self.root = Frame("", None, None, 1)
        self.top = Iteration(self.root, 0, dict(enumerate(plan.initial)))
        self.root.iterations[0] = self.top
        self.frames: dict[tuple[Any, ...], Frame] = {}
        self.executed = 0
        self.rounds_guessed = False
        self.blocked: list[tuple[int, Any]] = []
        self.too_full = 0  # bytes in use when an operation last found no room

    def run(self) -> None:
        for root in self.plan.roots:  # the caller's thread hands them to either worker
            self.chance.choice(self.workers).queue.append((root, self.top, False))
        self._wake()
        while self._advance() or self._try_again():
            pass
        if self.blocked:
            raise OutOfMemory

    @property
    def stopped_before(self) -> str:
        """An operation of which some inputs came, but not all: then the step was not understood."""
        initial, nodes = self.plan.initial, self.plan.nodes
        return next((nodes[k].name for k, left in self.top.pending.items() if 0 < left < initial[k]), "")

    def _advance(self) -> bool:
        """Go to the next moment at which an operation ends or a thread wakes up."""
        running = [worker for worker in self.workers if worker.running is not None]
        slowdown = 1.0 + BESIDE * (len(running) - 1)
        first = min(running, key=_left) if running else None
        if self.wakes and (first is None or self.wakes[0][0] < self.now + first.left * slowdown):
            when, index = heapq.heappop(self.wakes)
            self._pass(when, running, slowdown)
            if self.workers[index].running is None:
                self._start(self.workers[index])
            return True
        if first is None:
            return False
        self._pass(self.now + first.left * slowdown, running, slowdown)
        done, first.running = first.running, None
        self._finish(first, done)
        if self.blocked:
            self._retry()
        self._start(first)
        return True

    def _pass(self, when: float, running: list[Worker], slowdown: float) -> None:
        for worker in running:
            worker.left -= (when - self.now) / slowdown
        self.now = when

    def _try_again(self) -> bool:
        """Nothing runs: operations that wait for memory get another chance if some was given back meanwhile."""
        given_back = bool(self.blocked) and self.memory.allocator.in_use < self.too_full
        if given_back:
            self._retry()
        return given_back

    def _retry(self) -> None:
        waiting, self.blocked = self.blocked, []
        for index, task in waiting:
            self.workers[index].inline.appendleft(task)
            heapq.heappush(self.wakes, (self.now, index))

    def _schedule(self, ready: list[Any], worker: Worker) -> None:
        inline, expensive, dispatched = worker.inline, self.plan.expensive, []
        current = None
        for task in ready:
            if task[2] or not expensive[task[0]]:
                inline.append(task)
            else:
                if current is not None:
                    dispatched.append(current)
                current = task
        if current is not None:
            if inline:
                dispatched.append(current)
            else:
                inline.append(current)
        if dispatched:
            worker.queue.extendleft(dispatched)
            self._wake()

    def _wake(self) -> None:
        """A thread for each operation that waits in a queue, as far as there are idle ones."""
        waiting = sum(len(worker.queue) for worker in self.workers)
        idle = [index for index, worker in enumerate(self.workers) if not worker.busy]
        for index in idle[:waiting]:
            self.workers[index].busy = True
            heapq.heappush(self.wakes, (self.now + WAKE_UP * self.chance.uniform(0.5, 2.0), index))

    def _start(self, worker: Worker) -> None:
        worker.busy = True
        while True:
            task = self._next(worker)
            if task is None:
                worker.busy = False
                return
            try:
                seconds, state = self._begin(task)
            except OutOfMemory:  # TensorFlow waits for memory to be given back, and tries again
                self.blocked.append((worker.index, task))
                self.too_full = self.memory.allocator.in_use
                return
            if seconds > 0:
                worker.left, worker.running = self._beside_others(seconds), state
                return
            self._finish(worker, state)

    def _beside_others(self, seconds: float) -> float:
        """Kernels queue for the same threads: most lose a little by it, some much, and a few wait for the other one."""
        others = [worker for worker in self.workers if worker.running is not None]
        if not others or seconds <= QUEUED:
            return seconds
        if self.chance.random() >= self.unrest.unfair:
            slices = 1.0 + seconds / SLICE
            lost = self.chance.gammavariate(slices, self.unrest.uneven / slices)
            return seconds * (1.0 + lost) / (1.0 + BESIDE)
        other = self.chance.choice(others)
        if other.left >= seconds:
            return seconds + other.left
        other.left += seconds
        return seconds

    def _next(self, worker: Worker) -> Any:
        if worker.inline:
            return worker.inline.popleft()
        if worker.queue:
            return worker.queue.popleft()
        for other in self.workers:
            if other.queue:
                return other.queue.pop()
        return None

    def _begin(self, task: Any) -> tuple[float, Any]:
        index, iteration, dead = task
        inputs = iteration.inputs.get(index)
        if dead:
            iteration.inputs.pop(index, None)
            return 0.0, (task, inputs, None, ())
        touched = self.memory.allocator.touched
        outputs, temps = self.operations.run(index, inputs)
        iteration.inputs.pop(index, None)
        if index in self.plan.loop_conditions and outputs[0].value is None:
            outputs[0].value, self.rounds_guessed = iteration.index < ROUNDS, True
        seconds = self.plan.seconds[index]
        if seconds > 0:
            seconds *= self.chance.uniform(1.0, self.unrest.jitter)
            seconds += FAULT * (self.memory.allocator.touched - touched)
        return seconds, (task, inputs, outputs, temps)

    def _finish(self, worker: Worker, state: Any) -> None:
        task, inputs, outputs, temps = state
        memory = self.memory
        if temps:
            memory.drop_all(temps)
        if inputs is not None:
            memory.drop_all(inputs)
        self.executed += 1
        ready: list[Any] = []
        self._propagate(task, outputs, ready)
        if outputs is not None:
            memory.drop_all(outputs)
        if ready:
            self._schedule(ready, worker)

    def _propagate(self, task: Any, outputs: Any, ready: list[Any]) -> None:
        """Hand the outputs on: within the iteration, into a loop, out of it, or to its next time round."""
        index, iteration, dead = task
        kind = self.plan.crossings.get(index)
        if kind is None:
            self._activate(index, iteration, outputs, dead, ready)
        elif kind == Kind.ENTER:
            self._enter(index, iteration, outputs, dead, ready)
        elif kind == Kind.NEXT:
            if not dead:
                self._next_iteration(index, iteration, outputs, ready)
        elif not dead:
            self._activate(index, iteration.frame.parent_iteration, outputs, dead, ready)
        if iteration is not self.top:
            self._check(iteration, ready)

    def _enter(self, index: int, iteration: Iteration, outputs: Any, dead: bool, ready: list[Any]) -> None:
        frame = self._child(index, iteration)
        frame.awaited -= 1
        if dead or not self.plan.nodes[index].constant_frame:
            self._activate(index, frame.iterations[0], outputs, dead, ready)
            return
        if outputs[0] is not None:
            outputs[0].refs += 1
        frame.constants.append((index, outputs[0]))
        for number in sorted(frame.iterations):
            self._activate(index, frame.iterations[number], outputs, False, ready)

    def _check(self, iteration: Iteration, ready: list[Any]) -> None:
        """An iteration that is over gives its place to a deferred one."""
        iteration.outstanding -= 1
        frame = iteration.frame
        while not iteration.outstanding:
            oldest = min(frame.iterations, default=-1)
            if oldest < 0 or frame.awaited > 0 or frame.iterations[oldest].outstanding > 0:
                return
            if oldest == frame.count and not frame.deferred:
                return
            del frame.iterations[oldest]
            if frame.deferred:
                self._open(frame, ready)

    def _child(self, index: int, iteration: Iteration) -> Frame:
        node = self.plan.nodes[index]
        key = (node.frame, id(iteration.frame), iteration.index)
        frame = self.frames.get(key)
        if frame is None:
            frame = self.frames[key] = Frame(node.frame, iteration.frame, iteration, node.parallel)
            frame.awaited = self.plan.enters[node.frame]
            self._iteration(frame, 0)
        return frame

    def _iteration(self, frame: Frame, number: int) -> Iteration:
        state = Iteration(frame, number, {})
        frame.iterations[number] = state
        return state

    def _next_iteration(self, index: int, iteration: Iteration, outputs: Any, ready: list[Any]) -> None:
        frame = iteration.frame
        number = iteration.index + 1
        if number not in frame.iterations:
            if number > frame.count and len(frame.iterations) >= frame.parallel:
                if outputs[0] is not None:
                    outputs[0].refs += 1
                frame.deferred.append((index, outputs[0]))
                return
            frame.count = max(frame.count, number)
            self._open(frame, ready)
        self._activate(index, frame.iterations[number], outputs, False, ready)

    def _open(self, frame: Frame, ready: list[Any]) -> None:
        number = max(frame.iterations, default=frame.count) + 1 if frame.deferred else frame.count
        frame.count = number
        target = self._iteration(frame, number)
        for index, buffer in frame.constants:
            self._activate(index, target, [buffer], False, ready)
        deferred, frame.deferred = frame.deferred, []
        for index, buffer in deferred:
            self._activate(index, target, [buffer], False, ready)
            self.memory.drop(buffer)

    def _activate(self, index: int, iteration: Any, outputs: Any, dead: bool, ready: list[Any]) -> None:
        plan, inputs_of, pending = self.plan, iteration.inputs, iteration.pending
        merges, initial = plan.merges, plan.initial
        for consumer, slot, port in plan.data_out[index]:
            value: Any = DEAD if dead else outputs[port]
            if consumer in merges:
                self._activate_merge(consumer, slot, value, iteration, ready)
                continue
            if value is DEAD:
                iteration.dead.add(consumer)
            else:
                row = inputs_of.get(consumer)
                if row is None:
                    row = inputs_of[consumer] = [None] * plan.arity[consumer]
                row[slot] = value
                if value is not None:
                    value.refs += 1
            left = pending[consumer] = pending.get(consumer, initial[consumer]) - 1
            if left == 0:
                self._ready(consumer, iteration, ready)
        for consumer in plan.control_out[index]:
            if dead:
                iteration.dead.add(consumer)
            if consumer not in merges:
                left = pending[consumer] = pending.get(consumer, initial[consumer]) - 1
                if left == 0:
                    self._ready(consumer, iteration, ready)

    def _ready(self, consumer: int, iteration: Iteration, ready: list[Any]) -> None:
        iteration.outstanding += 1
        ready.append((consumer, iteration, consumer in iteration.dead))

    def _activate_merge(self, consumer: int, slot: int, value: Any, iteration: Iteration, ready: list[Any]) -> None:
        """A merge runs with the first live input, or dead once all its inputs are."""
        if value is DEAD:
            iteration.dead_inputs[consumer] += 1
            if iteration.dead_inputs[consumer] == self.plan.arity[consumer] and consumer not in iteration.live:
                iteration.outstanding += 1
                ready.append((consumer, iteration, True))
            return
        if consumer in iteration.live:
            return
        iteration.live.add(consumer)
        row = iteration.inputs.setdefault(consumer, [None] * self.plan.arity[consumer])
        row[slot] = value
        if value is not None:
            value.refs += 1
        iteration.outstanding += 1
        ready.append((consumer, iteration, False))
