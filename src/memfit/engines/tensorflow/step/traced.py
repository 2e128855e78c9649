"""A training step, traced once: its graph at any batch size, and what is worth saying of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from memfit.engines import Owned
from memfit.engines.tensorflow import markers
from memfit.engines.tensorflow.purpose import LayerNames, purpose
from memfit.engines.tensorflow.step import trace, xla
from memfit.engines.tensorflow.step.convert import convert
from memfit.engines.tensorflow.step.shapes import argument_size
from memfit.engines.tensorflow.step.variables import describe_all
from memfit.engines.tensorflow.unallocated import unallocated
from memfit.simulation.graph import Size, StepGraph

CROWDED = int(0.8 * trace.CPU_MEMORY)


@dataclass
class TracedStep:
    """Grappler rewrites sums of gradients where it expects the CPU's memory to be short: hence two graphs."""

    concrete: Any
    stand_in: trace.StandIn
    owned: list[Owned]
    names: LayerNames
    compiled: bool
    output_shapes: dict[str, str]

    @property
    def only(self) -> int | None:
        return self.stand_in.fixed or None

    def graph_for(self, batch: int) -> StepGraph:
        """The graph that runs for a batch of this size."""
        expected = sum(size.at(batch) for size in self._alive)
        return self._crowded if expected > CROWDED else self._plain

    @property
    def _plain(self) -> StepGraph:
        return self._foreseen[0]

    @property
    def _alive(self) -> list[Size]:
        return self._foreseen[1]

    @functools.cached_property
    def _crowded(self) -> StepGraph:
        sums = any(node.op == "AddN" for node in self._plain.nodes)
        return self._graph(trace.optimize(self.concrete, self.stand_in, crowded=True)) if sums else self._plain

    @functools.cached_property
    def _foreseen(self) -> tuple[StepGraph, list[Size]]:
        """The graph, and what Grappler, which knows nothing of workspace or reuse, expects to be held at most."""
        if self.compiled:
            return self._compiled_graph(), []
        traced = trace.optimize(self.concrete, self.stand_in)
        graph = self._graph(traced)
        outputs = {node.name: node.outputs for node in graph.nodes}
        return graph, [outputs[name][port] for name, port in traced.alive if port < len(outputs.get(name, ()))]

    def _graph(self, traced: trace.Traced) -> StepGraph:
        variables, index_of = describe_all(self.owned, traced.captured)
        return convert(traced, variables, index_of, lambda op: purpose(op, self.names))

    def _compiled_graph(self) -> StepGraph:
        captured, arguments = trace.split_inputs(self.concrete.graph)
        variables, _ = describe_all(self.owned, captured)
        sizes = [argument_size(t, self.stand_in) for t in arguments]
        return xla.step_graph(self.concrete, self.stand_in, sizes, variables, [o.variable for o in self.owned])


def trace_step(
    model: Any,
    data: Any,
    owned: Callable[[], Iterable[Owned]],
    names: LayerNames,
    step: Callable[[Any], Any],
    only: int | None = None,
) -> TracedStep:
    """Trace a step of the model's on `data` (specs). Its optimizer's variables come to be, but take no memory.

    A step that works with a single batch size is traced at that one, `only`.
    """
    specs = tf.nest.map_structure(lambda spec: tf.TensorSpec(spec.shape, spec.dtype), data)
    stand_in = trace.StandIn(prime=1, fixed=only) if only else trace.stand_in_for(model, specs)
    with markers.marking(taken_off=True), unallocated(), warnings.catch_warnings(action="ignore"):
        concrete = trace.trace(model, specs, stand_in, step)
    shapes = {name: _shape_text(shape, stand_in) for name, shape in markers.output_shapes(names).items()}
    compiled = getattr(model, "jit_compile", None) is True
    return TracedStep(concrete, stand_in, list(owned()), names, compiled, shapes)


def _shape_text(shape: tuple[int | None, ...], stand_in: trace.StandIn) -> str:
    parts = ["batch" if d == stand_in.batch or d is None else str(d) for d in shape]
    return f"({', '.join(parts)})"
