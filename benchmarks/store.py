"""Measured truths, kept outside the repository: for one machine, one TensorFlow and one source of a case."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Callable
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.registry import Case

Value = TypeVar("Value")


class Store:
    def __init__(self, case: Case) -> None:
        self._file = folder() / f"{case.name}-{case.fingerprint()}.json"
        self._values: dict[str, Any] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def has(self, name: str) -> bool:
        return name in self._values

    def kept(self, name: str, measure: Callable[[], Value]) -> Value:
        if name not in self._values:
            self._values[name] = measure()
            self._write()
        value: Value = self._values[name]
        return value

    def _write(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = self._file.with_suffix(".part")
        unfinished.write_text(json.dumps(self._values, indent=1))
        unfinished.replace(self._file)


def folder() -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "memfit" / "benchmarks" / machine()


@cache
def machine() -> str:
    described = [processor(), str(os.cpu_count()), *map(version, ("tensorflow", "tensorflow-cpu", "keras"))]
    return hashlib.sha256("\n".join(described).encode()).hexdigest()[:12]


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return "\n".join(sorted({line for line in lines if re.match("model name|cache size|flags|Features", line)}))


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def processor_name() -> str:
    named = re.search(r"model name\s*: (.*)", processor())
    return f"{named[1] if named else platform.machine()}, {os.cpu_count()} cores"
