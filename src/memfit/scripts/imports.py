"""Doing something as soon as a script has imported a module, and nothing before: the script may still set it up."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


def when_imported(name: str, action: Callable[[], None]) -> None:
    """Call `action` once `name` is imported: now, if it is already."""
    if name in sys.modules:
        action()
    else:
        sys.meta_path.insert(0, _Watch(name, action))


class _Watch(MetaPathFinder):
    def __init__(self, name: str, action: Callable[[], None]) -> None:
        self.name, self.action, self.looking = name, action, False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.name or self.looking:
            return None
        self.looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.looking = False
        if spec is not None and spec.loader is not None:
            spec.loader = _Telling(spec.loader, self._imported)
        return spec

    def _imported(self) -> None:
        """Only now: a spec may be asked for by somebody who does not import."""
        sys.meta_path.remove(self)
        self.action()


class _Telling(Loader):
    """The module's own loader, which it has again when it is there."""

    def __init__(self, loader: Loader, action: Callable[[], None]) -> None:
        self.loader, self.action = loader, action

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.action()
