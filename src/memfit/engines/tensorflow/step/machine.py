"""What of the machine chooses kernels and sizes their workspace: its instructions, threads and caches."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import tensorflow as tf


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


def kernel_threads() -> int:
    """How many threads share the work of one kernel."""
    configured = int(tf.config.threading.get_intra_op_parallelism_threads())
    return configured or _wanted("TF_NUM_INTRAOP_THREADS")


def operation_threads() -> int:
    """How many operations run side by side."""
    configured = int(tf.config.threading.get_inter_op_parallelism_threads())
    return configured or _wanted("TF_NUM_INTEROP_THREADS")


def _wanted(variable: str) -> int:
    """What the environment asks for; without it TensorFlow takes as many threads as the process has processors."""
    return int(os.environ.get(variable) or 0) or _processors()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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


def lanes() -> int:
    """How many float32 numbers an instruction works on."""
    return 16 if has("avx512f") else 8


def wide() -> bool:
    """Whether oneDNN's kernels work with AVX-512, several times as fast as with AVX2."""
    return onednn() and has("avx512f")
