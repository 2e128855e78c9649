"""Eigen asks the processor itself for its caches; so do we."""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct

CODE = bytes.fromhex("5389f889f14989d00fa241890041895804418948084189500c5bc3")


def cpuid(leaf: int, sub: int = 0) -> list[int]:
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(CODE)
    result = (ctypes.c_uint32 * 4)()
    address = ctypes.addressof(ctypes.c_char.from_buffer(page))
    ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)(address)(
        leaf, sub, ctypes.addressof(result)
    )
    return list(result)


def l3() -> int:
    if platform.machine() not in ("x86_64", "AMD64"):
        return 0
    vendor = cpuid(0)
    name = struct.pack("<III", vendor[1], vendor[3], vendor[2])
    if name in (b"AuthenticAMD", b"HygonGenuine"):
        return (cpuid(0x80000006)[3] >> 18) * (512 << 10)
    return _intel_l3()


def _intel_l3() -> int:
    for sub in range(16):
        a, b, c, _ = cpuid(4, sub)
        if a & 0x1F == 0:
            return 0
        if (a >> 5) & 7 == 3:
            ways, partitions, line, sets = (b >> 22) + 1, ((b >> 12) & 0x3FF) + 1, (b & 0xFFF) + 1, c + 1
            return ways * partitions * line * sets
    return 0
