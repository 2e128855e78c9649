"""What a step compiled by XLA holds: one temporary buffer, whose size XLA's own buffer assignment tells.

The assignment is asked for once, at the stand-in batch. For other batches the program's schedule says which values live
together; what the assignment saves or adds over that, it does at every batch.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from memfit.engines.tensorflow.step.trace import StandIn
from memfit.engines.tensorflow.unallocated import back_with_untouched_pages
from memfit.simulation.graph import Kind, Node, Size, StepGraph, Variable

WIDTHS = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "f16": 2, "bf16": 2, "s32": 4, "u32": 4, "f32": 4}
WIDTHS |= {"s64": 8, "u64": 8, "f64": 8, "c64": 8, "c128": 16}
INSTRUCTION = re.compile(r"^\s+(ROOT )?%([\w.\-]+) = (.*?) ([\w\-]+)\((.*)$")
ARRAY = re.compile(r"(\w+)\[([\d,]*)\]")
NAME = re.compile(r"%([\w.\-]+)")
NO_BUFFER = frozenset({"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"})
IN_PLACE = frozenset(
    {"fusion", "add", "multiply", "subtract", "select", "maximum", "dynamic-update-slice", "while", "scatter"}
)
OWNER = ("workspace", "(compiled)")


@dataclass(frozen=True)
class Instruction:
    name: str
    opcode: str
    arrays: list[tuple[int, tuple[int, ...]]]
    operands: list[str]
    root: bool

    def bytes(self, stand_in: StandIn, batch: int) -> int:
        def at(dimension: int) -> int:
            return dimension * batch // stand_in.batch if stand_in.of_batch(dimension) else dimension

        return sum(width * math.prod(at(d) for d in dims) for width, dims in self.arrays)


def step_graph(
    concrete: Any, stand_in: StandIn, inputs: list[Size], variables: list[Variable], model_variables: list[Any]
) -> StepGraph:
    """The whole step as one operation; slots that start as one buffer part before it runs."""
    back_with_untouched_pages(model_variables)
    program = entry(str(_compiled(concrete, "optimized_hlo")))
    scheduled = max(live_together(program, stand_in, stand_in.batch), 1)
    correction = assigned_bytes(_compiled(concrete, "optimized_hlo_proto_serialized")) / scheduled
    updates = [_update(k, v) for k, v in enumerate(variables) if v.kind == "optimizer"]
    arguments = [_argument(k, size) for k, size in enumerate(inputs)]
    taken = [(len(updates) + k, 0) for k in range(len(arguments))]
    whole = Node("xla", "XlaRun", Kind.COMPUTE, taken, list(range(len(updates))), [], OWNER)
    whole.temps = lambda batch: [round(live_together(program, stand_in, batch) * correction)]
    return StepGraph([*updates, *arguments, whole], variables, inputs)


def assigned_bytes(serialized: bytes) -> int:
    """The bytes that XLA's buffer assignment sets aside for temporaries."""
    from tensorflow.compiler.xla.service import hlo_pb2

    proto = hlo_pb2.HloProto()
    proto.ParseFromString(serialized)
    return sum(
        a.size
        for a in proto.buffer_assignment.buffer_allocations
        if not (a.is_entry_computation_parameter or a.maybe_live_out or a.is_constant or a.is_thread_local)
    )


def entry(text: str) -> list[Instruction]:
    found, inside = [], False
    for line in text.splitlines():
        inside = inside or line.startswith("ENTRY")
        if inside and line.startswith("}"):
            break
        match = INSTRUCTION.match(line) if inside else None
        if match:
            found.append(_instruction(match))
    return found


def live_together(program: list[Instruction], stand_in: StandIn, batch: int) -> int:
    """The largest sum of values that are live at once in the program's order, its results apart."""
    source = {i.name: i.operands[0] for i in program if i.opcode in ("get-tuple-element", "bitcast") and i.operands}

    def owner(name: str) -> str:
        while name in source:
            name = source[name]
        return name

    results = {owner(o) for i in program if i.root for o in i.operands}
    last = {owner(o): k for k, i in enumerate(program) for o in i.operands}
    live: dict[str, int] = {}
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


def _compiled(concrete: Any, stage: str) -> Any:
    from tensorflow.python.eager.polymorphic_function import compiler_ir

    return compiler_ir.from_concrete_function(concrete)(stage=stage, platform_name="CPU")


def _instruction(match: re.Match[str]) -> Instruction:
    root, name, shape, opcode, rest = match.groups()
    arrays = [(WIDTHS.get(t, 4), tuple(int(d) for d in dims.split(",") if d)) for t, dims in ARRAY.findall(shape)]
    return Instruction(name, opcode, arrays, NAME.findall(rest.split("), ")[0]), bool(root))


def _update(index: int, variable: Variable) -> Node:
    owner = ("optimizer", variable.layer)
    name = f"update {variable.name}"
    return Node(name, "AssignVariableOp", Kind.UPDATE, [], [], [], owner, expensive=False, variable=index)


def _argument(index: int, size: Size) -> Node:
    return Node(f"input {index}", "_Arg", Kind.ARGUMENT, [], [], [size], expensive=False, variable=index)
