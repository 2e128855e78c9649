"""What a case is: a model to build, a batch size, and what its data look like."""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

CASES: dict[str, Case] = {}


@dataclass(frozen=True)
class Spec:
    """One array of the data, without its batch dimension. With `classes` it holds whole numbers below that."""

    shape: tuple[int, ...]
    dtype: str
    classes: int | None = None

    def array(self, batch: int, random: np.random.Generator) -> np.ndarray:
        if self.classes is None:
            return random.random((batch, *self.shape)).astype(self.dtype)
        return random.integers(0, self.classes, (batch, *self.shape)).astype(self.dtype)


def floats(*shape: int, dtype: str = "float32") -> Spec:
    return Spec(shape, dtype)


def whole(classes: int, *shape: int) -> Spec:
    return Spec(shape, "int32", classes)


@dataclass(frozen=True)
class Variant:
    """The same architecture with other arguments: an optimizer, a precision, an option of `compile`."""

    label: str
    batch: int
    policy: str | None = None
    arguments: dict[str, Any] = field(default_factory=dict)


def variant(label: str, batch: int, *, policy: str | None = None, **arguments: Any) -> Variant:
    return Variant(label, batch, policy, arguments)


@dataclass(frozen=True)
class Case:
    name: str
    architecture: Callable[..., keras.Model]
    variant: Variant
    x: Any
    y: Any
    needs_x: bool

    @property
    def batch(self) -> int:
        return self.variant.batch

    def build(self) -> keras.Model:
        if self.variant.policy is not None:
            keras.config.set_dtype_policy(self.variant.policy)
        return self.architecture(**self.variant.arguments)

    def data(self, batch: int) -> tuple[Any, Any]:
        random = np.random.default_rng(0)
        x, y = (mapped(spec, lambda leaf: leaf.array(batch, random)) for spec in (self.x, self.y))
        return x, y

    def fingerprint(self) -> str:
        """Changes when the model or its data change, so that a stored truth is never taken for another model's."""
        made_by = [self.architecture, *filter(callable, self.variant.arguments.values())]
        described = f"{source_with_helpers(made_by)} {self.variant!r} {self.x} {self.y}"
        return hashlib.sha256(re.sub(r" at 0x\w+", "", described).encode()).hexdigest()[:16]


def architecture(
    x: Any, y: Any, *variants: int | Variant, needs_x: bool = False
) -> Callable[[Callable[..., keras.Model]], Callable[..., keras.Model]]:
    """Registers a case for each batch size or variant. One that `needs_x` tells nobody what its step is fed."""

    def register(build: Callable[..., keras.Model]) -> Callable[..., keras.Model]:
        for each in variants:
            chosen = each if isinstance(each, Variant) else Variant("", each)
            name = "-".join(filter(None, [build.__name__, chosen.label, str(chosen.batch)]))
            CASES[name] = Case(name, build, chosen, x, y, needs_x)
        return build

    return register


def mapped(structure: Any, function: Callable[[Spec], Any]) -> Any:
    if isinstance(structure, dict):
        return {key: mapped(value, function) for key, value in structure.items()}
    if isinstance(structure, list):
        return [mapped(value, function) for value in structure]
    return None if structure is None else function(structure)


def source_with_helpers(functions: list[Callable[..., Any]]) -> str:
    """The source of these functions and of everything of the benchmark that they mention, directly or not."""
    sources: dict[str, str] = {}
    pending = list(functions)
    while pending:
        thing = pending.pop()
        if thing.__qualname__ not in sources:
            sources[thing.__qualname__] = undecorated_source(thing)
            pending += mentioned(thing, sources[thing.__qualname__])
    return "".join(sources[name] for name in sorted(sources))


def undecorated_source(thing: Any) -> str:
    return re.sub(r"\A@.*?(?=^def |^class )", "", inspect.getsource(thing), flags=re.DOTALL | re.MULTILINE)


def mentioned(thing: Any, source: str) -> list[Any]:
    module = inspect.getmodule(thing)
    named = (getattr(module, word, None) for word in re.findall(r"\w+", source))
    return [each for each in named if getattr(each, "__module__", "").startswith(__package__)]
