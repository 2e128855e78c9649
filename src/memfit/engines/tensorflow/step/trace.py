"""The graph that TensorFlow will run for one training step, traced once at a batch size that stands for all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any
from unittest import mock

import keras
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2, rewriter_config_pb2
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import item as grappler_item
from tensorflow.python.grappler import tf_optimizer

from memfit.engines.tensorflow.step.constants import constants_that_tell_shapes, give_back, withhold
from memfit.engines.tensorflow.step.reads import as_handle, as_read
from memfit.engines.tensorflow.step.strict import told_to_wait, without_strict_inputs
from memfit.engines.tensorflow.step.unmark import Originals, argument_name, unique_names, unmark

PRIMES = [n for n in range(53, 200) if all(n % divisor for divisor in range(2, 15))]
INPUT = "memfit_input"
CAPTURED = "memfit_captured"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
CPU_MEMORY = 256 << 20  # bytes that Grappler takes a CPU to have; past 80 % of them it sums gradients in place


@dataclass(frozen=True)
class StandIn:
    """A batch size whose prime factor no other dimension shares: what the prime divides is the batch."""

    prime: int
    fixed: int = 0

    @property
    def batch(self) -> int:
        return self.fixed or 2 * self.prime

    def of_batch(self, dimension: int) -> bool:
        return dimension > 0 and not self.fixed and dimension % self.prime == 0


@dataclass(frozen=True)
class Definition:
    """A traced step as the runtime hands it to Grappler, and what tells the optimized graph's nodes.

    It holds neither the model nor what TensorFlow traced, which take many times as much memory.
    """

    graph: bytes
    arguments: dict[str, tf.TensorSpec]
    stand_in: StandIn
    originals: Originals
    waiting: set[str]
    withheld: set[str]
    remembered: int


@dataclass(frozen=True)
class Optimized:
    """The graph that runs. `alive`: what Grappler expects to be held at most."""

    definition: Definition
    nodes: list[Any]
    shapes: dict[str, list[Any]]
    alive: list[tuple[str, int]]
    functions: dict[str, Any]


def with_batch(specs: Any, batch: int | None) -> Any:
    return tf.nest.map_structure(lambda s: tf.TensorSpec([batch, *s.shape.as_list()[1:]], s.dtype), specs)


def stand_in_for(model: Any, data: Any) -> StandIn:
    """The first prime that divides no dimension of the model, nor one a border away from it."""
    dims = {d for v in model.variables for d in v.shape} | {
        d for s in tf.nest.flatten(data) for d in s.shape.as_list()[1:]
    }
    for layer in model._flatten_layers():
        for node in getattr(layer, "_inbound_nodes", ()):
            dims.update(d for t in node.output_tensors for d in t.shape)
    near = {d + k for d in dims if d for k in (-2, -1, 0, 1, 2)}
    return StandIn(next((p for p in PRIMES if not any(d > 0 and d % p == 0 for d in near)), 1009))


def trace(model: Any, data: Any, stand_in: StandIn, step: Callable[[Any], Any]) -> Any:
    """The model's `step` as one graph; `data` is what it takes, as specs with the batch left open."""
    specs = with_batch(data, stand_in.batch)
    with suppress(Exception), _idle_optimizer_left_out(model, step):  # what this cannot build, the step itself builds
        model._symbolic_build(data_batch=specs if isinstance(specs, tuple) else (specs,))
    compiled = getattr(model, "jit_compile", None) is True
    traced = tf.function(lambda data: step(data), autograph=False, jit_compile=compiled or None)
    return traced.get_concrete_function(with_batch(data, None) if compiled and not stand_in.fixed else specs)


def _idle_optimizer_left_out(model: Any, step: Callable[[Any], Any]) -> AbstractContextManager[Any]:
    """A train step of the model's own builds the optimizers that it uses, which need not be the compiled one."""
    own = step == model.train_step and type(model).train_step is not keras.Model.train_step
    return mock.patch.object(model.optimizer, "built", True) if own and model.optimizer else nullcontext()


def define(concrete: Any, stand_in: StandIn) -> tuple[Definition, dict[str, Any]]:
    """The step's definition, and what it captures, by the names of its nodes: variables, and tensors from outside."""
    graph = concrete.graph
    captured, arguments = split_inputs(graph)
    meta = meta_graph_pb2.MetaGraphDef(graph_def=graph.as_graph_def())
    definition = meta.graph_def
    originals, plain = unmark(definition, [t.op.name for t in graph.inputs])
    captured = {plain[name]: value for name, value in captured.items()}
    inputs = {plain[t.op.name]: t for t in arguments}
    prepare(definition, captured, inputs)
    remembered = constants_that_tell_shapes(definition.node)
    waiting = told_to_wait(definition)
    withheld = withhold(definition, graph, plain)
    results = add_results(definition, [t for t in graph.outputs if t is not None], plain)
    effects = sorted(plain[op.name] for op in graph.control_outputs)
    meta.collection_def["train_op"].node_list.value.extend([*results, *effects])
    specs = {name: tf.TensorSpec(tensor.shape, tensor.dtype, tensor.name) for name, tensor in inputs.items()}
    text = meta.SerializeToString()
    return Definition(text, specs, stand_in, originals, waiting, withheld, remembered), captured


def optimize(definition: Definition, crowded: bool = False) -> Optimized:
    meta = meta_graph_pb2.MetaGraphDef.FromString(definition.graph)
    meta.graph_def.CopyFrom(tf_optimizer.OptimizeGraph(rewriting(), meta, cluster=one_cpu(crowded)))
    item = grappler_item.Item(meta, ignore_colocation=True)
    _, alive = one_cpu(crowded=False).DeterminePeakMemoryUsage(item).get(CPU, (0, ()))
    tensors = [(name, port) for name, port, *_ in alive]
    shapes = item.GetOpProperties()
    nodes = without_strict_inputs(give_back(meta.graph_def.node, definition.withheld), definition.waiting)
    functions = {function.signature.name: function for function in meta.graph_def.library.function}
    return Optimized(definition, nodes, shapes, tensors, functions)


def add_results(definition: Any, outputs: list[Any], plain: dict[str, str]) -> list[str]:
    """Nodes that return the outputs, named as the runtime names them: Grappler starts to order the graph from them."""
    names = unique_names(argument_name(plain[output.op.name]) for output in outputs)
    for index, (name, output) in enumerate(zip(names, outputs, strict=True)):
        source = plain[output.op.name]
        node = definition.node.add(name=f"{name}_RetVal", op="_Retval", device=CPU)
        node.input.append(f"{source}:{output.value_index}" if output.value_index else source)
        node.attr["T"].type = output.dtype.as_datatype_enum
        node.attr["index"].i = index
    return [f"{name}_RetVal" for name in names]


def split_inputs(graph: Any) -> tuple[dict[str, Any], list[Any]]:
    """What the step captures, by placeholder name, and the tensors that it is called with."""
    variables = {v.handle.ref(): v for v in graph.variables}
    captured = {inner.op.name: variables.get(outer.ref(), inner) for outer, inner in graph.captures}
    return captured, [t for t in graph.inputs if t.op.name not in captured]


def rewriting() -> Any:
    config = config_pb2.ConfigProto()
    options = config.graph_options.rewrite_options
    options.min_graph_nodes = -1
    options.meta_optimizer_iterations = rewriter_config_pb2.RewriterConfig.DEFAULT_NUM_ITERS
    return config


def one_cpu(crowded: bool) -> Any:
    device = device_properties_pb2.NamedDevice(name=CPU)
    device.properties.type = "CPU"
    device.properties.num_cores = 2
    device.properties.frequency = 2000
    device.properties.memory_size = 1 if crowded else 0
    return grappler_cluster.Cluster(devices=[device])


def prepare(definition: Any, captured: dict[str, Any], arguments: dict[str, Any]) -> None:
    """Grappler forgets the shapes of fed placeholders, not those of variables: so inputs become variables."""
    for node in list(definition.node):
        node.attr.pop("_output_shapes", None)
        node.device = CPU
        if node.op != "Placeholder":
            continue
        fed: Any = arguments.get(node.name, captured.get(node.name))
        if is_variable(fed):
            as_handle(node, fed.dtype, fed.shape)
        elif fed.dtype not in (tf.resource, tf.variant):
            suffix = INPUT if node.name in arguments else CAPTURED
            source = definition.node.add(name=f"{node.name}/{suffix}", device=CPU)
            as_handle(source, fed.dtype, fed.shape)
            as_read(node, fed.dtype, source.name)


def is_variable(captured: Any) -> bool:
    return hasattr(captured, "handle")
