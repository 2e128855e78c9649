"""Signs that somebody else holds the device's memory."""

from __future__ import annotations

import re

_OTHER = re.compile(r"Process (\d{1,9}) has ([\d.]{1,12} \w{1,4}) memory in use")
_CREATED = re.compile(r"Created device \S{1,120}GPU:\d{1,3} with (\d{1,9}) MB memory")
_FREE_TOTAL = re.compile(r"Free memory/Total memory: (\d{1,19})/(\d{1,19})")
_SMI_MEMORY = re.compile(r"(\d{1,9})MiB ?/ ?(\d{1,9})MiB")
_SMI_PROCESS = re.compile(
    r"\| {2,8}\d{1,3} [^|\n]{0,40}?(\d{2,9}) {2,12}[CG+]{1,3} {2,6}(\S[^|\n]{0,80}?) {2,60}(\d{1,9})MiB \|"
)
_AT_START = re.compile(
    r"failed to allocate [\d.]{1,12}\w{0,4} \((\d{1,19}) bytes\) from device: (?:\w{1,30}: )?CUDA_ERROR"
)
_SMALL = 1024  # MB; a GPU that begins with less was not free


def read_sharing(text: str) -> tuple[tuple[str, ...], int | None]:
    """Evidence in words, and the device's total memory, where told."""
    evidence = [f"process {pid} has {size} of the device in use" for pid, size in _OTHER.findall(text)]
    evidence += [
        f"TensorFlow found only {size} MB free on the GPU when it started"
        for size in _CREATED.findall(text)
        if int(size) < _SMALL
    ]
    evidence += [f"{name.strip()} (process {pid}) holds {size} MiB" for pid, name, size in _SMI_PROCESS.findall(text)]
    found = _FREE_TOTAL.findall(text)
    total = int(found[-1][1]) if found else None
    if not total and (smi := _SMI_MEMORY.findall(text)):
        total = int(smi[-1][1]) * 2**20
    if "failed. Status: out of memory" in text:
        evidence.append("the GPU had no memory left when the program started")
    if _AT_START.search(text) and "ran out of memory" not in text and "OOM when" not in text:
        evidence.append("CUDA could not give TensorFlow its pool when the program started")
    return tuple(dict.fromkeys(evidence)), total
