"""What was measured of this machine's kernels, kept under a signature of the machine and its TensorFlow.

The rules for workspace are derived from how kernels size their buffers; where a kernel does otherwise on this
machine, what the nearest probe took counts instead. Without a calibration the rules stand alone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path

from memfit.engines.tensorflow.step import machine

AGREEMENT = 0.05  # a rule that comes this near on every probe is trusted


@dataclass(frozen=True)
class Sample:
    """One kernel that was run: what the rule foretold, what it took, and the sizes that tell it from others."""

    op: str
    features: tuple[int, ...]
    foretold: int
    taken: int


@dataclass(frozen=True)
class Calibration:
    samples: list[Sample]

    def correction(self, op: str, features: tuple[int, ...]) -> int | None:
        """The bytes of the nearest probe, where the rule for `op` does not hold on this machine; else None."""
        probes = [sample for sample in self.samples if sample.op == op]
        if all(_agrees(sample) for sample in probes):
            return None
        return min(probes, key=lambda sample: _distance(sample.features, features)).taken


@functools.cache
def current() -> Calibration | None:
    try:
        stored = json.loads(_file().read_text())
        return Calibration([Sample(s["op"], tuple(s["features"]), s["foretold"], s["taken"]) for s in stored])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def keep(samples: list[Sample]) -> None:
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps([asdict(sample) for sample in samples]))
    partial.replace(file)
    current.cache_clear()


def _file() -> Path:
    import tensorflow as tf

    instructions = machine.processor() + os.environ.get("ONEDNN_MAX_CPU_ISA", "")
    parts = [platform.machine(), instructions, machine.kernel_threads(), machine.l3(), machine.onednn(), tf.__version__]
    signature = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "memfit" / f"calibration-{signature}.json"


def _agrees(sample: Sample) -> bool:
    return abs(sample.taken - sample.foretold) <= max(AGREEMENT * sample.foretold, 2**16)


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    return sum(abs(math.log((a + 1) / (b + 1))) for a, b in zip(one, other, strict=False))
