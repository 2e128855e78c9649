"""What one operation does with memory: what it reuses, allocates, reads and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memfit.simulation.allocator import OutOfMemory
from memfit.simulation.graph import Kind
from memfit.simulation.lists import run_list
from memfit.simulation.memory import DEAD, Buffer, Memory, variable_label
from memfit.simulation.plan import Plan

Made = tuple[list[Any], list[Buffer | None]]  # outputs, and temporaries


class Begun:
    """What an operation has by now. One that `waits` for memory had found nothing to reuse, and looks no more."""

    __slots__ = ("outputs", "reused", "temps", "waits")

    def __init__(self) -> None:
        self.outputs: list[Any] = []
        self.temps: list[Buffer | None] = []
        self.reused: set[int] = set()
        self.waits = False


class Operations:
    """The operations of one step. `run` gives an operation's outputs, and the temporaries that go when it ends.

    Where only data decides between two branches, `branch` is taken.
    """

    def __init__(
        self,
        plan: Plan,
        memory: Memory,
        variables: list[Buffer],
        values: list[Any],
        constants: dict[int, list[Buffer]],
        arguments: list[Buffer],
        branch: int,
    ) -> None:
        self.plan, self.memory, self.variables, self.values = plan, memory, variables, values
        self.constants, self.arguments, self.branch = constants, arguments, branch
        self.branch_guessed = False
        self.waiting: dict[tuple[int, int], Begun] = {}
        self._run = [_RUN[kind] for kind in plan.kinds]

    def run(self, index: int, inputs: Any) -> Made:
        return self._run[index](self, index, inputs)

    def several(self, index: int, inputs: Any, sizes: list[int]) -> list[Any]:
        """Buffers of an operation that takes one after the other."""

        def allocate(index: int, inputs: Any, begun: Begun) -> None:
            for size in sizes[len(begun.outputs) :]:
                begun.outputs.append(self.memory.new(size, index))

        return self._kept(index, inputs, allocate).outputs

    def _kept(self, index: int, inputs: Any, allocate: Callable[[int, Any, Begun], None]) -> Begun:
        """Raises `OutOfMemory` where it has to wait; what it has already, it keeps until it is tried again."""
        begun = (self.waiting.pop((index, id(inputs)), None) if self.waiting else None) or Begun()
        try:
            allocate(index, inputs, begun)
        except OutOfMemory:
            begun.waits = True
            self.waiting[index, id(inputs)] = begun
            raise
        return begun

    def _compute(self, index: int, inputs: Any) -> Made:
        begun = self._kept(index, inputs, self._allocate)
        return begun.outputs, begun.temps

    def _allocate(self, index: int, inputs: Any, begun: Begun) -> None:
        plan = self.plan
        first = plan.temps_first[index]
        if first:
            self._temporaries(index, inputs, begun)
        for size in plan.sizes[index][len(begun.outputs) :]:
            begun.outputs.append(
                self._reused(index, inputs, begun) or self._new(size, index, len(begun.outputs), begun)
            )
        if not first:
            self._temporaries(index, inputs, begun)
        fold = plan.folds[index]
        if fold is not None and inputs is not None:
            begun.outputs[0].value = fold([None if i is None else i.value for i in inputs])

    def _temporaries(self, index: int, inputs: Any, begun: Begun) -> None:
        spare = self.plan.nodes[index].forward_temp
        for size in self.plan.temps[index][len(begun.temps) :]:
            k = len(begun.temps)
            reuses = k == 0 and spare >= 0 and inputs[spare] is not None and inputs[spare].refs == 1
            begun.temps.append(None if reuses and not begun.waits else self._new(size, index, -1 - k, begun))

    def _reused(self, index: int, inputs: Any, begun: Begun) -> Buffer | None:
        """The buffer of an input that nobody else needs, if the next output may take it over."""
        k, forwards = len(begun.outputs), self.plan.forwards[index]
        if k < len(forwards) and not begun.waits:
            for candidate in forwards[k]:
                buffer: Buffer | None = inputs[candidate]
                if buffer is not None and buffer.refs == 1 and candidate not in begun.reused and buffer.address >= 0:
                    begun.reused.add(candidate)
                    buffer.refs += 1
                    return buffer
        return None

    def _new(self, size: int, index: int, part: int, begun: Begun) -> Buffer:
        buffer = self.memory.new(size, index, part)
        begun.waits = False
        return buffer

    def _hand_on(self, index: int, inputs: Any) -> Made:
        outputs = inputs[: len(self.plan.sizes[index])]
        for buffer in outputs:
            if buffer is not None:
                buffer.refs += 1
        return outputs, []

    def _parts(self, index: int, inputs: Any) -> Made:
        whole, outputs = inputs[self.plan.nodes[index].whole], self.plan.sizes[index]
        if whole is not None:
            whole.refs += len(outputs)
        return [whole] * len(outputs), []

    def _merge(self, index: int, inputs: Any) -> Made:
        live = next((b for b in inputs if b is not None and b is not DEAD), None)
        if live is not None:
            live.refs += 1
        return [live, None], []

    def _switch(self, index: int, inputs: Any) -> Made:
        predicate = inputs[1].value if inputs[1] is not None else None
        self.branch_guessed |= predicate is None
        side = self.branch if predicate is None else int(bool(predicate))
        buffer = inputs[0]
        if buffer is not None:
            buffer.refs += 1
        outputs: list[Any] = [DEAD, DEAD]
        outputs[side] = buffer
        return outputs, []

    def _argument(self, index: int, inputs: Any) -> Made:
        buffer = self.arguments[self.plan.nodes[index].variable]
        buffer.refs += 1
        return [buffer], []

    def _constant(self, index: int, inputs: Any) -> Made:
        made = self.constants[index]
        for buffer in made:
            buffer.refs += 1
        return list(made), []

    def _nothing(self, index: int, inputs: Any) -> Made:
        return [None] * len(self.plan.sizes[index]), []

    def _read(self, index: int, inputs: Any) -> Made:
        variable = self.plan.nodes[index].variable
        buffer = self.variables[variable]
        if variable in self.plan.copied_on_read:
            return [self.memory.new(buffer.request, index)], []
        buffer.refs += 1
        buffer.value = self.values[variable]
        return [buffer], []

    def _assign(self, index: int, inputs: Any) -> Made:
        variable, value = self.plan.nodes[index].variable, inputs[-1]
        if value is not None and value.address >= 0:
            value.refs += 1
            self.memory.drop(self.variables[variable])
            self.variables[variable] = value
            self.values[variable] = value.value
        return self._nothing(index, inputs)

    def _update(self, index: int, inputs: Any) -> Made:
        node, variables = self.plan.nodes[index], self.variables
        copied: list[Buffer | None] = []
        if variables[node.variable].refs > 1:
            copy = self.memory.new(variables[node.variable].request, variable_label(node.variable))
            copied, variables[node.variable] = [variables[node.variable]], copy
        value = self.values[node.variable]
        if value is not None and inputs:
            delta = inputs[-1].value if inputs[-1] is not None else None
            sign = -1 if "Sub" in node.op else 1
            self.values[node.variable] = None if delta is None else value + sign * delta
        return [None] * len(self.plan.sizes[index]), copied


_RUN: dict[Kind, Callable[[Operations, int, Any], Made]] = {
    Kind.COMPUTE: Operations._compute,
    **dict.fromkeys((Kind.ALIAS, Kind.ENTER, Kind.EXIT, Kind.NEXT, Kind.LOOP_COND), Operations._hand_on),
    Kind.PARTS: Operations._parts,
    Kind.MERGE: Operations._merge,
    Kind.SWITCH: Operations._switch,
    Kind.READ: Operations._read,
    Kind.ASSIGN: Operations._assign,
    **dict.fromkeys((Kind.UPDATE, Kind.SPARSE), Operations._update),
    Kind.ARGUMENT: Operations._argument,
    Kind.CONSTANT: Operations._constant,
    Kind.LIST: run_list,
    **dict.fromkeys((Kind.HANDLE, Kind.NOTHING), Operations._nothing),
}
