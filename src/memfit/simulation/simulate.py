"""Building the model and its first steps, on a simulated allocator."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import partial

from memfit.simulation.allocator import Allocator
from memfit.simulation.executor import USUAL, Step, Unrest
from memfit.simulation.graph import Kind, StepGraph
from memfit.simulation.memory import INPUT, Buffer, Event, Memory, variable_label
from memfit.simulation.operations import Operations
from memfit.simulation.plan import Plan

HANDLE = 200  # bytes of a variable's handle
UNLIMITED = 1 << 50
LONG = 15000  # operations, by a loop: such a step is not run a third time, which takes long and tells nothing new


@dataclass(frozen=True)
class Outcome:
    """The highest moments of a simulated run, how many operations a step ran, and what only data decides."""

    peak: int
    requested: int
    executed: int
    branch_guessed: bool
    rounds_guessed: bool
    stopped_before: str  # an operation that the simulated step never came to


def simulate(
    plan: Plan,
    *,
    steps: int = 3,
    seed: int = 0,
    limit: int = UNLIMITED,
    log: list[Event] | None = None,
    unrest: Unrest = USUAL,
) -> Outcome:
    """Run up to `steps` steps of a graph at one batch size. Raises `OutOfMemory` where `limit` does not hold them.

    Where only data decides between two branches, the larger one counts.
    """
    logs: list[list[Event] | None] = [None, None] if log is None else [[], []]
    run = partial(_simulate, plan, steps=steps, seed=seed, limit=limit, unrest=unrest)
    chosen, outcome = 1, run(branch=1, log=logs[1])
    if outcome.branch_guessed:
        other = run(branch=0, log=logs[0])
        chosen, outcome = max((chosen, outcome), (0, other), key=lambda tried: tried[1].peak)
    if log is not None:
        log.extend(logs[chosen] or ())
    return outcome


def _simulate(
    plan: Plan,
    *,
    steps: int,
    seed: int,
    limit: int,
    unrest: Unrest,
    branch: int,
    log: list[Event] | None,
) -> Outcome:
    memory, graph = Memory(Allocator(limit), log), plan.graph
    memory.allocator.release(memory.allocator.allocate(8))  # a seed comes first, and with it the first small region
    variables = _make_variables(graph, memory)
    values = [variable.value for variable in graph.variables]
    chance = random.Random(seed)
    for number in range(steps):
        arguments = [memory.new(size.at(plan.batch), INPUT, k) for k, size in enumerate(graph.inputs)]
        if number == 0:
            constants = _make_constants(plan, memory)
        operations = Operations(plan, memory, variables, values, constants, arguments, branch)
        step = Step(plan, operations, chance, unrest)
        step.run()
        memory.drop_all(arguments)
        if number == 1 and step.executed > LONG:
            break
    return Outcome(
        memory.allocator.peak,
        memory.asked_peak,
        step.executed,
        operations.branch_guessed,
        step.rounds_guessed,
        step.stopped_before,
    )


def _make_variables(graph: StepGraph, memory: Memory) -> list[Buffer]:
    made: dict[int, Buffer] = {}
    for index, variable in enumerate(graph.variables):
        if variable.kind != "optimizer":
            made[index] = _make_variable(index, variable.size, variable.build, memory)
    if graph.traces > 1:
        _trace(graph, memory)
    _make_slots(graph, memory, made)
    _trace(graph, memory)
    return [made[index] for index in range(len(graph.variables))]


def _make_variable(index: int, size: int, build: list[int], memory: Memory) -> Buffer:
    label = variable_label(index)
    temps = [memory.new(part, label, -1) for part in build]
    buffer = memory.new(size, label)
    for temp in reversed(temps):
        memory.drop(temp)
    memory.new(HANDLE, label)
    return buffer


def _trace(graph: StepGraph, memory: Memory) -> None:
    """The constants that tell shapes stay with the traced step: few bytes, each in a chunk of its own."""
    for _ in range(graph.remembered):
        memory.allocator.allocate(1)


def _make_slots(graph: StepGraph, memory: Memory, made: dict[int, Buffer]) -> None:
    """Slots are made by one function, in which equal initial values are one constant."""
    groups: dict[str, list[int]] = {}
    for index, variable in enumerate(graph.variables):
        if variable.kind == "optimizer":
            groups.setdefault(variable.shared or str(index), []).append(index)
            memory.new(HANDLE, variable_label(index))
    for first, *_ in groups.values():
        memory.drop(memory.new(graph.variables[first].size, variable_label(first), -1))
    for members in groups.values():
        buffer = memory.new(graph.variables[members[0]].size, variable_label(members[0]))
        buffer.refs = len(members)
        made.update(dict.fromkeys(members, buffer))


def _make_constants(plan: Plan, memory: Memory) -> dict[int, list[Buffer]]:
    """Constants belong to their kernels, which live as long as the traced function."""
    roots = [index for index in plan.roots if plan.kinds[index] == Kind.CONSTANT]
    others = [k for k, kind in enumerate(plan.kinds) if kind == Kind.CONSTANT and plan.initial[k]]
    constants = {}
    for index in [*roots, *others]:
        made = constants[index] = [memory.new(size, index) for size in plan.sizes[index]]
        if made and not callable(plan.nodes[index].value):
            made[0].value = plan.nodes[index].value
    return constants
