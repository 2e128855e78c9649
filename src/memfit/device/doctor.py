"""An examination of this machine: what memfit can and cannot see here."""

from __future__ import annotations

import platform
import sys
from dataclasses import asdict, dataclass
from typing import Any

from memfit import engines
from memfit.device.child import run_in_child
from memfit.device.host import HostMemory, host_memory
from memfit.device.worker import Reporter
from memfit.engines import Facts
from memfit.errors import MemfitError
from memfit.sizes import format_size


@dataclass(frozen=True)
class Examination:
    python: str
    system: str
    host: HostMemory
    engine: Facts | None
    problem: str | None

    @property
    def next_step(self) -> str:
        return self.problem or "memfit measure file.py:function, with a function that returns a compiled model"

    @property
    def not_measurable(self) -> list[str]:
        return self.engine.not_measurable if self.engine else [f"anything of a training: {self.problem}"]

    def to_dict(self) -> dict[str, Any]:
        return {
            "python": self.python,
            "system": self.system,
            "host": asdict(self.host) | {"limit": self.host.limit, "free": self.host.free},
            "engine": None if self.engine is None else asdict(self.engine),
            "not_measurable": self.not_measurable,
        }

    def __str__(self) -> str:
        rows = [("Python", f"{self.python} on {self.system}"), *_engine_rows(self.engine), *_host_rows(self.host)]
        rows += [("not measurable", text) for text in self.not_measurable]
        return "\n".join(f"{name:<16} {text}" for name, text in rows)


def examine() -> Examination:
    facts, problem = None, None
    try:
        facts = run_in_child("memfit.device.doctor:engine_facts", None)
    except MemfitError as error:
        problem = str(error)
    return Examination(sys.version.split()[0], platform.platform(terse=True), host_memory(), facts, problem)


def engine_facts(_: None, reporter: Reporter) -> Facts:
    return engines.current().facts()


def _engine_rows(facts: Facts | None) -> list[tuple[str, str]]:
    if facts is None:
        return []
    devices = [(device.name, _usage(device.used, device.total)) for device in facts.devices]
    return [("engine", facts.version), *devices, ("allocator", facts.allocator), ("memory growth", facts.memory_growth)]


def _host_rows(host: HostMemory) -> list[tuple[str, str]]:
    cgroup = "no limit" if host.cgroup_limit is None else _usage(host.cgroup_used, host.cgroup_limit)
    return [
        ("host memory", f"{format_size(host.available)} available of {format_size(host.total)}"),
        ("cgroup", cgroup),
        ("rlimit", "no limit" if host.rlimit is None else format_size(host.rlimit)),
        ("this process", f"{format_size(host.rss)} resident, {format_size(host.free)} more to be had"),
    ]


def _usage(used: int | None, total: int | None) -> str:
    if total is None:
        return "shares the host's memory" if used is None else format_size(used)
    return f"{format_size(used or 0)} used of {format_size(total)}"
