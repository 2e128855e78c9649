"""TARGET: `file.py:function`, `package.module:function`, or a saved `.keras` file."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from memfit.errors import BadInput, UsageError


@dataclass(frozen=True)
class Loaded:
    """A compiled model, with the data it came with, if any."""

    model: Any
    x: Any = None
    y: Any = None


@dataclass(frozen=True)
class Target:
    """Where a model comes from. Only `load` runs any code of it."""

    text: str
    unsafe: bool = False

    def check(self) -> None:
        """Refuse, before a child is started, what cannot work."""
        place, _, function = self.text.rpartition(":")
        if self._is_saved:
            _existing(Path(self.text))
        elif not place or not function.isidentifier():
            raise UsageError(
                f"TARGET is file.py:function, package.module:function or a saved .keras file. Received: {self.text!r}"
            )
        elif place.endswith(".py"):
            _existing(Path(place))

    def load(self) -> Loaded:
        self.check()
        if self._is_saved:
            return Loaded(_load_saved(Path(self.text), self.unsafe))
        place, _, name = self.text.rpartition(":")
        module = _load_file(Path(place)) if place.endswith(".py") else _import(place)
        function = getattr(module, name, None)
        if not callable(function):
            raise BadInput(f"{place} has no function {name!r}{_suggestion(module)}")
        return as_loaded(function(), f"{self.text}()")

    def load_without_weights(self) -> Loaded:
        """The same, but of a saved file only its configuration is read."""
        self.check()
        return Loaded(_load_config(Path(self.text), self.unsafe)) if self._is_saved else self.load()

    @property
    def _is_saved(self) -> bool:
        return self.text.endswith(".keras")


def as_loaded(returned: Any, source: str) -> Loaded:
    """A model, or a tuple of a model and its data, as a builder function returns it."""
    import keras

    parts = returned if isinstance(returned, tuple) else (returned,)
    if not 1 <= len(parts) <= 3 or not isinstance(parts[0], keras.Model):
        raise BadInput(
            f"{source} must return a compiled keras.Model, or (model, x, y). Received: {_describe(returned)}"
        )
    return Loaded(*parts)


def _existing(path: Path) -> None:
    if not path.is_file():
        raise BadInput(f"there is no file {str(path)!r}")


def _load_saved(path: Path, unsafe: bool) -> Any:
    import keras

    with _loading(path):
        return keras.saving.load_model(path, safe_mode=not unsafe)


def _load_config(path: Path, unsafe: bool) -> Any:
    import keras

    with _loading(path), zipfile.ZipFile(path) as archive:
        config = json.loads(archive.read("config.json"))
        return keras.saving.deserialize_keras_object(config, safe_mode=not unsafe)


@contextmanager
def _loading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        text = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        if "safe_mode" in str(error) or "unsafe" in str(error):
            raise BadInput(
                f"{path} holds Python code (a Lambda layer), which safe mode does not run: "
                "if you trust the file, add --unsafe-deserialization"
            ) from error
        raise BadInput(f"{path} cannot be loaded as a .keras file: {text}") from error


def _load_file(path: Path) -> ModuleType:
    """The file as a module; its folder is importable, as it is when Python runs the file."""
    sys.path.insert(0, str(path.resolve().parent))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _import(name: str) -> ModuleType:
    sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise BadInput(f"there is no module {name!r} to import from here") from error
        raise


def _suggestion(module: ModuleType) -> str:
    own = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", None) == module.__name__]
    return f". It has: {', '.join(sorted(own)[:8])}" if own else ""


def _describe(value: Any) -> str:
    return f"a {type(value).__name__}" if value is not None else "None (is a `return` missing?)"
