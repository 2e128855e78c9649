"""A script or module as `__main__`: with its own arguments, folder on the path, globals and exit code."""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from memfit.errors import BadInput, UsageError


@dataclass(frozen=True)
class Script:
    """`python target arguments…`, or `python -m target arguments…` where it is a module."""

    target: str
    arguments: tuple[str, ...] = ()
    is_module: bool = False

    @classmethod
    def from_command(cls, words: Sequence[str]) -> Script:
        """`script.py args…` or `-m module args…`, as they are typed after `python`."""
        is_module = list(words[:1]) == ["-m"]
        if not (rest := words[is_module:]):
            raise UsageError("name the script to run: script.py [args…], or -m module [args…]")
        return cls(rest[0], tuple(rest[1:]), is_module)

    def check(self) -> None:
        """Refuse a file that is not there, before anything is started for it."""
        if self.is_module or Path(self.target).is_file():
            return
        what = "is a folder" if Path(self.target).is_dir() else "does not exist"
        raise BadInput(f"the script {self.target!r} {what}: name a Python file, or -m and a module")

    def run(self) -> None:
        """Become that `__main__`. Raises what the script raises, `SystemExit` too."""
        self.check()
        if not sys.flags.safe_path:
            sys.path[0] = str(Path.cwd() if self.is_module else Path(self.target).resolve().parent)
        main, code = _from_module(self.target) if self.is_module else _from_file(self.target)
        sys.argv[:] = [str(main.__file__) if self.is_module else self.target, *self.arguments]
        sys.modules["__main__"] = main  # stays: threads, pickle and exit handlers of the script look it up later
        exec(code, vars(main))


def exit_code(ended: SystemExit) -> int:
    """The exit code that Python gives to a `SystemExit`; a text goes to standard error, as Python does it."""
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code & 0xFF
    print(ended.code, file=sys.stderr)
    return 1


def print_error(error: BaseException) -> None:
    """The stack trace of an uncaught error, beginning in the script."""
    traceback.print_exception(type(error), error, _below_this_file(error.__traceback__))


def _from_file(target: str) -> tuple[ModuleType, CodeType]:
    file = os.path.abspath(target)
    return _new_main(file, spec=None), compile(Path(file).read_bytes(), file, "exec", dont_inherit=True)


def _from_module(name: str) -> tuple[ModuleType, CodeType]:
    spec = _find(name)
    if spec is not None and spec.submodule_search_locations is not None:
        spec = _find(f"{name}.__main__")
    loader = None if spec is None else spec.loader
    code = loader.get_code(spec.name) if spec is not None and isinstance(loader, InspectLoader) else None
    if spec is None or code is None:
        raise BadInput(f"there is no module {name!r} that can be run from here")
    return _new_main(str(spec.origin), spec), code


def _find(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        return None


def _new_main(file: str, spec: ModuleSpec | None) -> ModuleType:
    main = ModuleType("__main__")
    main.__file__ = file
    main.__spec__ = spec
    main.__loader__ = spec.loader if spec else None
    main.__package__ = spec.parent if spec else None
    vars(main)["__builtins__"] = sys.modules["builtins"]
    return main


def _below_this_file(trace: TracebackType | None) -> TracebackType | None:
    frames = trace
    own = None
    while frames is not None:
        if frames.tb_frame.f_code.co_filename == __file__:
            own = frames
        frames = frames.tb_next
    return own.tb_next if own is not None else trace
