"""Do something once a module has been imported, without importing it: a script may set its environment first."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


def after_import(name: str, action: Callable[[], None]) -> None:
    """Call `action` when the top-level module `name` has been imported; at once if it has been already."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Finder(name, action))


class _Finder(MetaPathFinder):
    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self._name = name
        self._action = action

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != self._name:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            sys.meta_path.remove(self)
            _act_after(spec.loader, self._action)
        return spec


def _act_after(loader: Loader, action: Callable[[], None]) -> None:
    execute = loader.exec_module

    def exec_module(module: ModuleType) -> None:
        execute(module)
        action()

    loader.exec_module = exec_module  # type: ignore[method-assign]
