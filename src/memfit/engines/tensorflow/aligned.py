"""Arrays that TensorFlow uses where they are. It copies those that begin elsewhere than at a multiple of 64 bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

ALIGNED = 64


def aligned(shape: tuple[int, ...], dtype: Any) -> Any:
    """Uninitialised, as `np.empty` is."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.empty(size + ALIGNED, np.uint8)
    start = -memory.ctypes.data % ALIGNED
    return memory[start : start + size].view(dtype).reshape(shape)
