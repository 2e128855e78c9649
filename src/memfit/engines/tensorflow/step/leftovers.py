"""What TensorFlow would keep of a trace for as long as the process lives."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from tensorflow.python.framework import ops
from tensorflow.python.ops.control_flow_v2_func_graphs import CondBranchFuncGraph, WhileBodyFuncGraph

SCRATCH = "scratch_graph"  # Keras's name for a graph that tells shapes and is thrown away


@contextmanager
def no_gradients_left() -> Iterator[list[Any]]:
    """Custom gradients are registered by name for good, and hold the graph that they were traced in.

    Keras's optimizers and activations use them in every step. Those of the graphs that the block puts into the list are
    forgotten at its end, and those of graphs in which Keras only tries shapes out; a function of the user's that was
    traced on the way may be used again, and keeps its own.
    """
    registered: list[tuple[str, Any]] = []
    register = ops.RegisterGradient.__call__

    def noted(self: Any, function: Any) -> Any:
        registered.append((self._op_type, _home(ops.get_default_graph())))
        return register(self, function)

    graphs: list[Any] = []
    with mock.patch.object(ops.RegisterGradient, "__call__", noted):
        yield graphs
    for name, graph in registered:
        if graph.name.startswith(SCRATCH) or any(graph is ours for ours in graphs):
            ops.gradient_registry._registry.pop(name, None)


def _home(graph: Any) -> Any:
    """The graph of the function in which a branch or a loop's body stands."""
    while isinstance(graph, (CondBranchFuncGraph, WhileBodyFuncGraph)):
        graph = graph.outer_graph
    return graph
