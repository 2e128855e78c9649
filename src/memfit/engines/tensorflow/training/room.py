"""How much memory the device has left, asked for cheaply enough to be asked before each step."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from memfit.engines.tensorflow.allocator import device

MIB = 2**20
MUCH = 0.1  # of the limit


@dataclass(frozen=True)
class Room:
    limit: int | None
    live: int
    peak: int


def now() -> Room | None:
    """The allocator's own figures; None where it keeps none, as on a CPU without a budget."""
    if not _keeps_figures():
        return None
    info = tf.config.experimental.get_memory_info(_device())
    return Room(limit(), info["current"], info["peak"])


def limit() -> int | None:
    """The hard limit of the device's allocator, where one is known. It does not change once there is a device."""
    if "limit" not in _known:
        _known["limit"] = _gpu_limit() if _device().startswith("GPU") else _cpu_limit()
    known: int | None = _known["limit"]
    return known


def short_of(wanted: int) -> bool:
    """Is there a limit, and less than `wanted` bytes left below it?"""
    room = now()
    return room is not None and room.limit is not None and room.limit - room.live < wanted


def is_much(size: int) -> bool:
    """Is there a limit that so many bytes are a notable share of?"""
    total = limit()
    return total is not None and size > MUCH * total


def forget_peak() -> None:
    if _keeps_figures():
        tf.config.experimental.reset_memory_stats(_device())


def peak() -> int:
    """The highest moment so far: the allocator's, or, where it keeps no figures, the process's."""
    room = now()
    if room is not None:
        return room.peak
    import resource  # not on Windows, where TensorFlow has no GPU and no limit either

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def beside(held: int) -> int | None:
    """What is there beside a training's own variables: batches, other models. None where nobody knows."""
    room = now()
    return None if room is None else max(room.live - held, 0)


def for_training(held: int, budget: int | None, free: int) -> int:
    """What a training may take whose variables, `held` bytes, are there already; `free` is what the host has left."""
    room = now()
    if room is not None and room.limit is not None:
        total = room.limit if budget is None else min(room.limit, budget)
        return total - max(room.live - held, 0)
    return free + held if budget is None else min(free + held, budget)


_known: dict[str, Any] = {}


def _device() -> str:
    if "device" not in _known:
        _known["device"] = device()
    name: str = _known["device"]
    return name


def _keeps_figures() -> bool:
    if "figures" not in _known:
        try:
            tf.config.experimental.get_memory_info(_device())
        except ValueError:
            _known["figures"] = False
        else:
            _known["figures"] = True
    known: bool = _known["figures"]
    return known


def _cpu_limit() -> int | None:
    if os.environ.get("TF_CPU_ALLOCATOR_USE_BFC") == "1":
        return int(os.environ.get("TF_CPU_BFC_MEM_LIMIT_IN_MB", 64 * 1024)) * MIB
    return None


def _gpu_limit() -> int | None:
    gpu = tf.config.list_physical_devices("GPU")[0]
    limits = [c.memory_limit for c in tf.config.get_logical_device_configuration(gpu) or [] if c.memory_limit]
    return limits[0] * MIB if limits else _physical_memory()


def _physical_memory() -> int | None:
    try:
        import pynvml

        pynvml.nvmlInit()
        return int(pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(0)).total)
    except Exception:  # without NVIDIA's library nobody knows
        return None
