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
from memfit.engines.tensorflow.purpose import purpose
from memfit.engines.tensorflow.step import trace, xla
from memfit.engines.tensorflow.step.convert import convert
from memfit.engines.tensorflow.step.leftovers import no_gradients_left
from memfit.engines.tensorflow.step.shapes import argument_size
from memfit.engines.tensorflow.step.variables import describe_all
from memfit.engines.tensorflow.unallocated import unallocated
from memfit.simulation.graph import Owner, Size, StepGraph, Variable

LayerNames = Callable[[Any], str | None]
CROWDED = int(0.8 * trace.CPU_MEMORY)


@dataclass
class TracedStep:
    """Grappler rewrites sums of gradients where it expects the CPU's memory to be short: hence two graphs."""

    definition: trace.Definition
    variables: list[Variable]
    index_of: dict[str, int]
    owner: Callable[[str], Owner]
    output_shapes: dict[str, str]

    @property
    def only(self) -> int | None:
        return self.definition.stand_in.fixed or None

    def graph_for(self, batch: int) -> StepGraph:
        """The graph that runs for a batch of this size."""
        graph, alive = self._foreseen
        return self._crowded if sum(size.at(batch) for size in alive) > CROWDED else graph

    @functools.cached_property
    def _crowded(self) -> StepGraph:
        plain, _ = self._foreseen
        sums = any(node.op == "AddN" for node in plain.nodes)
        return self._graph(trace.optimize(self.definition, crowded=True)) if sums else plain

    @functools.cached_property
    def _foreseen(self) -> tuple[StepGraph, list[Size]]:
        """The graph, and what Grappler, which knows nothing of workspace or reuse, expects to be held at most."""
        optimized = trace.optimize(self.definition)
        graph = self._graph(optimized)
        outputs = {node.name: node.outputs for node in graph.nodes}
        return graph, [outputs[name][port] for name, port in optimized.alive if port < len(outputs.get(name, ()))]

    def _graph(self, optimized: trace.Optimized) -> StepGraph:
        return convert(optimized, self.variables, self.index_of, self.owner)


@dataclass
class CompiledStep:
    """A step that XLA compiles as a whole."""

    graph: StepGraph
    only: int | None
    output_shapes: dict[str, str]

    def graph_for(self, batch: int) -> StepGraph:
        return self.graph


def trace_step(
    model: Any,
    data: Any,
    owned: Callable[[], Iterable[Owned]],
    names: LayerNames,
    step: Callable[[Any], Any],
    only: int | None = None,
) -> TracedStep | CompiledStep:
    """Trace a step of the model's on `data` (specs). Its optimizer's variables come to be, but take no memory.

    A step that works with a single batch size is traced at that one, `only`.
    """
    specs = tf.nest.map_structure(lambda spec: tf.TensorSpec(spec.shape, spec.dtype), data)
    stand_in = trace.StandIn(prime=1, fixed=only) if only else trace.stand_in_for(model, specs)
    quiet = warnings.catch_warnings(action="ignore")
    with markers.marking(taken_off=True), unallocated(), no_gradients_left() as traced, quiet:
        concrete = trace.trace(model, specs, stand_in, step)
        traced.append(concrete.graph)
    shapes = {name: _shape_text(shape, stand_in) for name, shape in markers.output_shapes(names).items()}
    compiled = getattr(model, "jit_compile", None) is True
    return step_of(concrete, stand_in, list(owned()), names, shapes, compiled)


def step_of(
    concrete: Any,
    stand_in: trace.StandIn,
    owned: list[Owned],
    names: LayerNames,
    output_shapes: dict[str, str],
    compiled: bool,
) -> TracedStep | CompiledStep:
    """Of what was traced with its layers marked, what an estimate needs: nothing of the model, unless XLA does."""
    layers = markers.marked_names(names)
    markers.forget()
    if compiled:
        captured, arguments = trace.split_inputs(concrete.graph)
        variables, _ = describe_all(owned, captured)
        sizes = [argument_size(t, stand_in) for t in arguments]
        graph = xla.step_graph(concrete, stand_in, sizes, variables, [o.variable for o in owned])
        return CompiledStep(graph, stand_in.fixed or None, output_shapes)
    definition, captured = trace.define(concrete, stand_in)
    variables, index_of = describe_all(owned, captured)
    return TracedStep(definition, variables, index_of, lambda op: purpose(op, layers), output_shapes)


def _shape_text(shape: tuple[int | None, ...], stand_in: trace.StandIn) -> str:
    parts = ["batch" if d == stand_in.batch or d is None else str(d) for d in shape]
    return f"({', '.join(parts)})"
