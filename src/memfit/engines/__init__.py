"""What memfit needs of a training engine. Everything that imports one lives in a package below this one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, cast

from memfit.errors import BadInput
from memfit.simulation.graph import StepGraph


@dataclass(frozen=True)
class AllocatorState:
    """What the device's allocator says of itself, in bytes."""

    live: int
    peak: int


@dataclass(frozen=True)
class Chunk:
    """One allocation: what it is for, and the ordinals of the events that began and ended it."""

    born: int
    died: int | None
    requested: int
    allocated: int
    kind: str
    layer: str
    op: str


@dataclass(frozen=True)
class Recording:
    """Every allocation and release of a run. `seconds[i]` is the time of event `i`."""

    chunks: list[Chunk]
    seconds: list[float]
    phases: list[tuple[str, int]]
    allocator_peak: int


@dataclass(frozen=True)
class Device:
    """A device that the engine can train on."""

    name: str
    kind: str
    total: int | None
    used: int | None


@dataclass(frozen=True)
class Facts:
    """What `memfit doctor` asks an engine."""

    version: str
    devices: list[Device]
    allocator: str
    memory_growth: str
    not_measurable: list[str]


class Owned(Protocol):
    """A model's variable, what it is for, and the layer it belongs to."""

    @property
    def variable(self) -> Any: ...
    @property
    def kind(self) -> str: ...
    @property
    def layer(self) -> str: ...


class Recorder(Protocol):
    """Sees every allocation between the start and the end of a `with` block."""

    def phase(self, name: str) -> AbstractContextManager[None]: ...
    def sample(self, variables: Iterable[Owned]) -> None: ...
    def inputs(self, sizes: Iterable[int]) -> None: ...
    def finish(self, layer_names: Callable[[Any], str | None]) -> Recording: ...


class TracedStep(Protocol):
    """A training step that was traced once, for all batch sizes, or for the `only` one that it works with."""

    output_shapes: dict[str, str]

    @property
    def only(self) -> int | None: ...

    def graph_for(self, batch: int) -> StepGraph: ...


@dataclass(frozen=True)
class DatasetFacts:
    """A data set of the engine's: specs of its elements, the arrays it is made from, and what its stages keep."""

    elements: Any
    batch: int | None
    bytes: int
    dtype: str | None
    buffers: int


class Watcher(Protocol):
    """Is told what a script is about to do, before the engine does it.

    `leads_on` once the script has been told that it has trained: from then on evaluations are not real either.
    """

    @property
    def leads_on(self) -> bool: ...

    def fit(self, model: Any, arguments: dict[str, Any]) -> Any: ...
    def train_on_batch(self, model: Any, arguments: dict[str, Any]) -> Any: ...
    def evaluate(self, model: Any, arguments: dict[str, Any]) -> Any: ...
    def step(self, name: str, step: TracedStep | None, batch: int) -> None: ...
    def eager_update(self) -> None: ...
    def before_tensor(self, array: Any) -> None: ...
    def after_tensor(self, tensor: Any, size: int) -> None: ...
    def of_the_user(self, function: Callable[..., Any]) -> bool: ...


class Engine(Protocol):
    """One training engine. The functions that touch the device import it; `environment` and `started` do not."""

    name: str

    def environment(self, budget: int | None, *, logged: bool = True) -> dict[str, str]: ...
    def cautious_environment(self) -> dict[str, str]: ...
    def started(self) -> bool: ...
    def enforce(self, budget: int | None) -> None: ...
    def state(self) -> AllocatorState: ...
    def reset_peak(self) -> None: ...
    def is_out_of_memory(self, error: BaseException) -> bool: ...
    def layer_of_failure(
        self, error: BaseException | None, op: str, names: Callable[[Any], str | None]
    ) -> str | None: ...
    def layer_in_name(self, op: str) -> str | None: ...
    def plain_name(self, op: str) -> str: ...
    def facts(self) -> Facts: ...
    def recorder(self) -> AbstractContextManager[Recorder]: ...
    def unallocated(self) -> AbstractContextManager[None]: ...
    def feeding_arrays(self, too_large: Callable[[int], bool]) -> AbstractContextManager[None]: ...
    def feeding_datasets(self, too_large: Callable[[int], bool]) -> AbstractContextManager[None]: ...
    def guarding(self, guard: Any) -> AbstractContextManager[None]: ...
    def microbatch(self, step: Callable[..., Any], optimizer: Any, keeper: Any) -> Any: ...
    def calibrate(self, progress: Callable[[str], None]) -> None: ...
    def calibrated(self) -> bool: ...
    def watching(self, watcher: Watcher) -> dict[str, Callable[[], None]]: ...
    def dataset_facts(self, data: Any) -> DatasetFacts | None: ...
    def trace_step(
        self,
        model: Any,
        data: Any,
        owned: Callable[[], Iterable[Owned]],
        names: Callable[[Any], str | None],
        step: Callable[[Any], Any],
        only: int | None = None,
    ) -> TracedStep: ...


def current() -> Engine:
    """The engine that Keras will use here, found without importing it."""
    backend = _keras_backend()
    if backend != "tensorflow":
        raise BadInput(
            f"memfit works with Keras's TensorFlow backend. Received: {backend!r}. Set KERAS_BACKEND=tensorflow"
        )
    if find_spec("tensorflow") is None or find_spec("keras") is None:
        raise BadInput("TensorFlow is not installed here: pip install 'memfit[tensorflow]'")
    from memfit.engines import tensorflow

    return cast(Engine, tensorflow)


def _keras_backend() -> str:
    if backend := os.environ.get("KERAS_BACKEND"):
        return backend
    home = Path(os.environ.get("KERAS_HOME", Path.home() / ".keras"))
    try:
        return str(json.loads((home / "keras.json").read_text()).get("backend", "tensorflow"))
    except (OSError, ValueError, AttributeError):
        return "tensorflow"
