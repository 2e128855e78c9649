"""What a step compiled by XLA holds: one temporary buffer, whose size XLA's own buffer assignment tells.

The assignment is asked for once, at the stand-in batch. For other batches the program's schedule says which values live
together; what the assignment saves or adds over that, it does at every batch.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from memfit.engines.tensorflow.step.trace import StandIn
from memfit.engines.tensorflow.unallocated import back_with_untouched_pages
from memfit.simulation.graph import Kind, Node, Size, StepGraph, Variable

WIDTHS = {"PRED": 1, "S8": 1, "U8": 1, "S16": 2, "U16": 2, "F16": 2, "BF16": 2, "S64": 8, "U64": 8, "F64": 8}
WIDTHS |= {"C64": 8, "C128": 16}
USUAL_WIDTH = 4
NO_BUFFER = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
IN_PLACE = frozenset(
    {"fusion", "add", "multiply", "subtract", "select", "maximum", "dynamic-update-slice", "while", "scatter"}
)
OWNER = ("workspace", "(compiled)")


@dataclass(frozen=True)
class Instruction:
    name: int
    opcode: str
    arrays: list[tuple[int, tuple[int, ...]]]
    operands: list[int]
    root: bool

    def bytes(self, stand_in: StandIn, batch: int) -> int:
        def at(dimension: int) -> int:
            return dimension * batch // stand_in.batch if stand_in.of_batch(dimension) else dimension

        return sum(width * math.prod(at(d) for d in dims) for width, dims in self.arrays)


def step_graph(
    concrete: Any, stand_in: StandIn, inputs: list[Size], variables: list[Variable], model_variables: list[Any]
) -> StepGraph:
    """The whole step as one operation; slots that start as one buffer part in its first run, which still reads it."""
    back_with_untouched_pages(model_variables)
    compiled = _compiled(concrete)
    program = entry(compiled.hlo_module)
    scheduled = max(live_together(program, stand_in, stand_in.batch), 1)
    correction = assigned_bytes(compiled) / scheduled
    updates = [_update(k, v) for k, v in enumerate(variables) if v.kind == "optimizer"]
    arguments = [_argument(k, size) for k, size in enumerate(inputs)]
    taken = [(len(updates) + k, 0) for k in range(len(arguments))]
    whole = Node("xla", "XlaRun", Kind.COMPUTE, taken, list(range(len(updates))), [], OWNER)
    whole.temps = lambda batch: [round(live_together(program, stand_in, batch) * correction)]
    return StepGraph([*updates, *arguments, whole], variables + _common_starts(variables), inputs)


def _common_starts(variables: list[Variable]) -> list[Variable]:
    """The initial value that several slots share."""
    slots = {v.shared: v for v in reversed(variables) if v.shared}
    shares = Counter(v.shared for v in variables)
    return [replace(slot, name=f"start of {slot.name}") for key, slot in slots.items() if shares[key] > 1]


def assigned_bytes(compiled: Any) -> int:
    """The bytes that XLA's buffer assignment sets aside for temporaries."""
    return sum(
        a.size
        for a in compiled.buffer_assignment.buffer_allocations
        if not (a.is_entry_computation_parameter or a.maybe_live_out or a.is_constant or a.is_thread_local)
    )


def entry(module: Any) -> list[Instruction]:
    """The instructions of the program's main computation, in the order in which they run."""
    (main,) = (c for c in module.computations if c.id == module.entry_computation_id)
    found = {i.id: i for i in main.instructions}
    order = module.schedule.sequences[main.id].instruction_ids or list(found)
    return [_instruction(found[k], root=k == main.root_id) for k in order]


def live_together(program: list[Instruction], stand_in: StandIn, batch: int) -> int:
    """The largest sum of values that are live at once in the program's order, its results apart."""
    source = {i.name: i.operands[0] for i in program if i.opcode in ("get-tuple-element", "bitcast") and i.operands}

    def owner(name: int) -> int:
        while name in source:
            name = source[name]
        return name

    results = {owner(o) for i in program if i.root for o in i.operands}
    last = {owner(o): k for k, i in enumerate(program) for o in i.operands}
    live: dict[int, int] = {}
    highest = 0
    for k, step in enumerate(program):
        dying = [o for o in {owner(o) for o in step.operands} if last.get(o) == k and o in live]
        if step.opcode not in NO_BUFFER and step.name not in results:
            size = step.bytes(stand_in, batch)
            reused = next((o for o in dying if live[o] == size and step.opcode in IN_PLACE), None)
            if reused is not None:
                del live[reused]
            live[step.name] = size
            highest = max(highest, sum(live.values()))
        for name in dying:
            live.pop(name, None)
    return highest


def _compiled(concrete: Any) -> Any:
    from tensorflow.compiler.xla.service import hlo_pb2
    from tensorflow.python.eager.polymorphic_function import compiler_ir

    ask = compiler_ir.from_concrete_function(concrete)
    return hlo_pb2.HloProto.FromString(ask(stage="optimized_hlo_proto_serialized", platform_name="CPU"))


def _instruction(source: Any, *, root: bool) -> Instruction:
    return Instruction(source.id, source.opcode, list(_arrays(source.shape)), list(source.operand_ids), root)


def _arrays(shape: Any) -> Iterator[tuple[int, tuple[int, ...]]]:
    from tensorflow.compiler.xla import xla_data_pb2

    for part in shape.tuple_shapes:
        yield from _arrays(part)
    name = xla_data_pb2.PrimitiveType.Name(shape.element_type)
    if name not in ("TUPLE", "TOKEN"):
        yield WIDTHS.get(name, USUAL_WIDTH), tuple(shape.dimensions)


def _update(index: int, variable: Variable) -> Node:
    owner = ("optimizer", variable.layer)
    name = f"update {variable.name}"
    return Node(name, "AssignVariableOp", Kind.UPDATE, [], [], [], owner, expensive=False, variable=index)


def _argument(index: int, size: Size) -> Node:
    return Node(f"input {index}", "_Arg", Kind.ARGUMENT, [], [], [size], expensive=False, variable=index)
