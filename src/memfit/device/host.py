"""The host's memory: in a container its limit is the truth, not the machine's total."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class HostMemory:
    """Bytes. `limit` is the smallest of the machine's total, the cgroup's limit and the process's own."""

    total: int
    available: int
    rss: int
    cgroup_limit: int | None
    cgroup_used: int | None
    rlimit: int | None

    @property
    def limit(self) -> int:
        return min(bound for bound in (self.total, self.cgroup_limit, self.rlimit) if bound is not None)

    @property
    def free(self) -> int:
        """What this process can still take before the system or its container says no."""
        room = [self.available]
        if self.cgroup_limit is not None:
            room.append(self.cgroup_limit - (self.cgroup_used or 0))
        if self.rlimit is not None:
            room.append(self.rlimit - self.rss)
        return max(0, min(room))


def host_memory(pid: int | None = None) -> HostMemory:
    machine = psutil.virtual_memory()
    limit, used = cgroup_memory()
    return HostMemory(
        total=machine.total,
        available=machine.available,
        rss=psutil.Process(pid).memory_info().rss,
        cgroup_limit=limit if limit is not None and limit < machine.total else None,
        cgroup_used=used,
        rlimit=address_space_limit(),
    )


def cgroup_memory(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> tuple[int | None, int | None]:
    """The tightest memory limit of this process's cgroups, and what is used under it."""
    levels = [
        (limit, used) for folder in _own_folders(root, own) for limit, used in [_level(folder)] if limit is not None
    ]
    return min(levels, key=lambda level: level[0], default=(None, None))


def address_space_limit() -> int | None:
    try:
        import resource
    except ImportError:  # Windows has none
        return None
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def _own_folders(root: Path, own: Path) -> list[Path]:
    """This process's cgroup and its parents, in cgroup v2 (one tree) or v1 (a tree for memory)."""
    try:
        lines = own.read_text().splitlines()
    except OSError:
        return []
    folders = []
    for _, controllers, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if controllers in ("", "memory") or "memory" in controllers.split(","):
            base = root / "memory" if controllers else root
            leaf = base / path.lstrip("/")
            folders += [leaf, *(parent for parent in leaf.parents if parent == base or base in parent.parents)]
    return folders


def _level(folder: Path) -> tuple[int | None, int | None]:
    limit = _number(folder / "memory.max") or _number(folder / "memory.limit_in_bytes")
    used = _number(folder / "memory.current") or _number(folder / "memory.usage_in_bytes")
    return limit, used


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text())
    except (OSError, ValueError):  # missing, or "max": no limit
        return None


@contextmanager
def given_back() -> Iterator[None]:
    """What a block no longer needs goes back to the system at its end, also where the block made it in cycles."""
    ours = gc.get_freeze_count() == 0
    if ours:
        gc.freeze()  # so that garbage is looked for only among what the block made
    try:
        yield
    finally:
        gc.collect()
        if ours:
            gc.unfreeze()
        with suppress(OSError, AttributeError):  # another C library gives it back when it likes
            ctypes.CDLL(None).malloc_trim(0)
