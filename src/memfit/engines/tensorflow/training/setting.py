"""A step and how it is run: what Keras, or a hand-written loop, says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf


@dataclass
class Setting:
    """`step` takes one batch. `variables` are all that it may write to; `metrics` are counted, not carried on."""

    step: Callable[[Any], Any]
    variables: Callable[[], list[Any]]
    metrics: Callable[[], list[Any]]
    ran_out: Callable[[BaseException], bool]
    eager: bool = False
    jit: bool | None = None
    autograph: bool = False
    strategy: Any = None
    reduce: Callable[[Any], Any] = field(default=lambda outputs: outputs)

    @property
    def replicas(self) -> int:
        return 1 if self.strategy is None else int(self.strategy.num_replicas_in_sync)

    def compiled(self, function: Callable[..., Any]) -> Any:
        """`function` as it is run here: in every replica, and traced unless the step is to run eagerly."""

        def everywhere(*args: Any) -> Any:
            return function(*args) if self.replicas == 1 else self.reduce(self.strategy.run(function, args=args))

        if self.eager:
            return everywhere
        return tf.function(everywhere, reduce_retracing=True, jit_compile=self.jit, autograph=self.autograph)

    def traced(self, function: Callable[..., Any], *specs: Any) -> Any:
        """`function` compiled and traced: where tracing fails, nothing half traced is left to be called."""
        compiled = self.compiled(function)
        compiled.get_concrete_function(*specs)
        return compiled
