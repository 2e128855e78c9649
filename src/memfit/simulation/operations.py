"""What one operation does with memory: what it reuses, allocates, reads and writes."""

from __future__ import annotations

from typing import Any

from memfit.simulation.allocator import OutOfMemory
from memfit.simulation.graph import Kind, Node
from memfit.simulation.lists import run_list
from memfit.simulation.memory import Buffer, Memory, variable_label
from memfit.simulation.plan import Plan

DEAD = object()


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
        arguments: list[Buffer],
        branch: int,
    ) -> None:
        self.plan, self.memory, self.variables, self.values = plan, memory, variables, values
        self.arguments, self.branch = arguments, branch
        self.branch_guessed = False

    def run(self, index: int, inputs: Any) -> tuple[list[Any], list[Buffer]]:
        kind = self.plan.kinds[index]
        return self._compute(index, inputs) if kind == Kind.COMPUTE else self._special(index, kind, inputs)

    def _compute(self, index: int, inputs: Any) -> tuple[list[Any], list[Buffer]]:
        temps: list[Buffer] = []
        outputs: list[Any] = []
        try:
            self._allocate(index, inputs, outputs, temps)
        except OutOfMemory:
            for buffer in [*outputs, *temps]:
                self.memory.drop(buffer)
            raise
        return outputs, temps

    def _allocate(self, index: int, inputs: Any, outputs: list[Any], temps: list[Buffer]) -> None:
        plan, memory = self.plan, self.memory
        sizes = plan.sizes[index]
        wanted = plan.temps[index]
        first = plan.temps_first[index]
        if wanted and first:
            self._temporaries(index, inputs, wanted, temps)
        forwards = plan.forwards[index]
        taken: set[int] = set()
        for k, size in enumerate(sizes):
            outputs.append(self._output(index, k, size, inputs, forwards, taken))
        if wanted and not first:
            for k, size in enumerate(wanted):
                temps.append(memory.new(size, index, -1 - k))
        fold = plan.folds[index]
        if fold is not None and inputs is not None:
            outputs[0].value = fold([None if i is None else i.value for i in inputs])

    def _temporaries(self, index: int, inputs: Any, wanted: list[int], temps: list[Buffer]) -> None:
        spare = self.plan.nodes[index].forward_temp
        for k, size in enumerate(wanted):
            if k == 0 and spare >= 0 and inputs[spare] is not None and inputs[spare].refs == 1:
                continue
            temps.append(self.memory.new(size, index, -1 - k))

    def _output(self, index: int, k: int, size: int, inputs: Any, forwards: Any, taken: set[int]) -> Buffer:
        if k < len(forwards):
            for candidate in forwards[k]:
                buffer: Buffer | None = inputs[candidate]
                if buffer is not None and buffer.refs == 1 and candidate not in taken and buffer.address >= 0:
                    taken.add(candidate)
                    buffer.refs += 1
                    return buffer
        return self.memory.new(size, index, k)

    def _special(self, index: int, kind: Kind, inputs: Any) -> tuple[list[Any], list[Buffer]]:
        node = self.plan.nodes[index]
        if kind in (Kind.ALIAS, Kind.ENTER, Kind.EXIT, Kind.NEXT, Kind.LOOP_COND):
            outputs = [inputs[k] for k in range(len(node.outputs))]
            for buffer in outputs:
                if buffer is not None:
                    buffer.refs += 1
            return outputs, []
        if kind == Kind.MERGE:
            live = next((b for b in inputs if b is not None and b is not DEAD), None)
            if live is not None:
                live.refs += 1
            return [live, None], []
        if kind == Kind.SWITCH:
            return self._switch(index, inputs), []
        if kind == Kind.READ:
            return [self._read(index, node)], []
        if kind in (Kind.ASSIGN, Kind.UPDATE, Kind.SPARSE):
            return self._write(index, node, kind, inputs)
        if kind == Kind.ARGUMENT:
            buffer = self.arguments[node.variable]
            buffer.refs += 1
            return [buffer], []
        if kind == Kind.CONSTANT:
            made = self.plan.constants[index]
            for buffer in made:
                buffer.refs += 1
            return list(made), []
        if kind == Kind.LIST:
            return run_list(self, index, node, inputs)
        return [None] * len(node.outputs), []

    def _read(self, index: int, node: Node) -> Buffer:
        buffer = self.variables[node.variable]
        if node.variable in self.plan.copied_on_read:
            return self.memory.new(buffer.request, index)
        buffer.refs += 1
        buffer.value = self.values[node.variable]
        return buffer

    def _switch(self, index: int, inputs: Any) -> list[Any]:
        predicate = inputs[1].value if inputs[1] is not None else None
        self.branch_guessed |= predicate is None
        side = self.branch if predicate is None else int(bool(predicate))
        buffer = inputs[0]
        if buffer is not None:
            buffer.refs += 1
        outputs: list[Any] = [DEAD, DEAD]
        outputs[side] = buffer
        return outputs

    def _write(self, index: int, node: Node, kind: Kind, inputs: Any) -> tuple[list[Any], list[Buffer]]:
        variable, memory = node.variable, self.memory
        old = self.variables[variable]
        temps = [memory.new(size, index, -1 - k) for k, size in enumerate(self.plan.temps[index])]
        if kind == Kind.ASSIGN:
            value = inputs[-1]
            if value is not None and value.address >= 0:
                value.refs += 1
                self.variables[variable] = value
                self.values[variable] = value.value
                memory.drop(old)
        else:
            if old.refs > 1 and kind == Kind.UPDATE:
                new = memory.new(old.request, variable_label(variable))
                self.variables[variable] = new
                memory.drop(old)
            if self.values[variable] is not None and inputs:
                delta = inputs[-1].value if inputs and inputs[-1] is not None else None
                sign = -1 if "Sub" in node.op else 1
                self.values[variable] = None if delta is None else self.values[variable] + sign * delta
        return [None] * len(node.outputs), temps
