"""What XLA sets aside for a program that it compiles: its own buffer assignment tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from memfit.engines.tensorflow.step.trace import StandIn, with_batch
from memfit.engines.tensorflow.unallocated import back_with_untouched_pages
from memfit.simulation.graph import Kind, Node, Size, StepGraph, Variable

OWNER = ("workspace", "(compiled)")
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@dataclass
class Temporaries:
    """XLA's temporaries as a function of the batch: asked for at the first batch, and at twice that for all others."""

    ask: Callable[[int], int]
    known: dict[int, int] = field(default_factory=dict)

    def __call__(self, batch: int) -> list[int]:
        first = next(iter(self.known), batch)
        if batch == first:
            return [self._at(batch)]
        slope = (self._at(2 * first) - self._at(first)) / first
        return [max(round(self._at(first) + slope * (batch - first)), 0)]

    def _at(self, batch: int) -> int:
        if batch not in self.known:
            self.known[batch] = self.ask(batch)
        return self.known[batch]


def step_graph(
    concrete: Any, stand_in: StandIn, inputs: list[Size], variables: list[Variable], model_variables: list[Any]
) -> StepGraph:
    """The whole step as one operation; slots that start as one buffer part in its first run, which still reads it."""
    back_with_untouched_pages(model_variables)
    specs = tf.nest.flatten(concrete.structured_input_signature)

    def ask(batch: int) -> int:
        return assigned_bytes(concrete.name, with_batch(specs, stand_in.fixed or batch), concrete.captured_inputs)

    updates = [_update(k, v) for k, v in enumerate(variables) if v.kind == "optimizer"]
    arguments = [_argument(k, size) for k, size in enumerate(inputs)]
    taken = [(len(updates) + k, 0) for k in range(len(arguments))]
    whole = Node("xla", "XlaRun", Kind.COMPUTE, taken, list(range(len(updates))), [], OWNER)
    whole.temps = Temporaries(ask)
    return StepGraph([*updates, *arguments, whole], variables + _common_starts(variables), inputs)


def _common_starts(variables: list[Variable]) -> list[Variable]:
    """The initial value that several slots share."""
    slots = {v.shared: v for v in reversed(variables) if v.shared}
    shares = Counter(v.shared for v in variables)
    return [replace(slot, name=f"start of {slot.name}") for key, slot in slots.items() if shares[key] > 1]


def assigned_bytes(function: str, specs: list[Any], captured: list[Any]) -> int:
    """The bytes that XLA's buffer assignment sets aside for temporaries of a function."""
    from tensorflow.compiler.xla.service import hlo_pb2

    program = context.context().get_compiler_ir(
        device_name=CPU,
        platform_name="CPU",
        function_name=function,
        flat_args=specs,
        captured_inputs=captured,
        stage="optimized_hlo_proto_serialized",
    )
    return sum(
        a.size
        for a in hlo_pb2.HloProto.FromString(program).buffer_assignment.buffer_allocations
        if not (a.is_entry_computation_parameter or a.maybe_live_out or a.is_constant or a.is_thread_local)
    )


def _update(index: int, variable: Variable) -> Node:
    owner = ("optimizer", variable.layer)
    name = f"update {variable.name}"
    return Node(name, "AssignVariableOp", Kind.UPDATE, [], [], [], owner, expensive=False, variable=index)


def _argument(index: int, size: Size) -> Node:
    return Node(f"input {index}", "_Arg", Kind.ARGUMENT, [], [], [size], expensive=False, variable=index)
