"""What of the machine chooses kernels and sizes their workspace: its instructions, threads and caches."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path


@functools.cache
def processor() -> str:
    """The processor's name and instructions, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return "\n".join(sorted({line for line in lines if line.startswith(("model name", "flags", "Features"))}))


def has(instruction: str) -> bool:
    """Whether the processor knows these instructions, by Linux's name for them."""
    return instruction in processor().split()


def threads() -> int:
    return int(os.environ.get("TF_NUM_INTRAOP_THREADS") or os.cpu_count() or 1)


@functools.cache
def l3() -> int:
    from memfit.engines.tensorflow.step import cpuid

    try:
        return cpuid.l3() or 32 << 20
    except OSError:
        return 32 << 20


@functools.cache
def onednn() -> bool:
    """Whether TensorFlow uses oneDNN's kernels, which keep most of their workspace out of its allocator."""
    from tensorflow.python.util import _pywrap_util_port

    return bool(_pywrap_util_port.IsMklEnabled())
