"""Out of memory: recognised by type first and by text second."""

from __future__ import annotations

import re
import sys

from memfit.device.failure import read_failure

__all__ = ["is_out_of_memory", "mentions_out_of_memory", "read_failure"]

_TEXTS = re.compile(
    r"OOM when allocating"
    r"|(?:RESOURCE_EXHAUSTED|Resource exhausted): (?:Out of memory|OOM|failed to allocate|MemoryError|Attempting)"
    r"|Out of memory (?:while trying to allocate|allocating)"
    r"|failed\. Status: out of memory"
    r"|ran out of memory trying to allocate [\d.]{1,12}\s?\w{1,4} \(rounded"
    r"|failed to allocate memory"
    r"|cuMemAllocAsync failed to allocate"
    r"|Failed to allocate request for"
    r"|Dst tensor is not initialized"
    r"|Cannot parse tensor from proto"
    r"|CUDA out of memory"
    r"|CUDA_ERROR_OUT_OF_MEMORY"
    r"|CUDNN_STATUS_ALLOC_FAILED"
    r"|HIP out of memory"
    r"|MPS backend out of memory"
    r"|DefaultCPUAllocator: (?:can't|not enough) (?:allocate )?memory"
    r"|Unable to allocate (?:[\d.]{1,12} \w{1,5} for an )?array"
    r"|std::bad_alloc"
)
_ENGINE_ERRORS = (
    "ResourceExhaustedError",
    "XlaRuntimeError",
    "JaxRuntimeError",
    "OutOfMemoryError",
    "InternalError",
    "InvalidArgumentError",
    "RuntimeError",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Is `error` the report of memory that could not be had? Unknown errors are not."""
    if isinstance(error, MemoryError):
        return True
    tensorflow = sys.modules.get("tensorflow.python.framework.errors_impl")
    if tensorflow is not None and isinstance(error, tensorflow.ResourceExhaustedError):
        return True
    from_engine = any(parent.__name__ in _ENGINE_ERRORS for parent in type(error).__mro__)
    return from_engine and _TEXTS.search(str(error)) is not None


def mentions_out_of_memory(text: str) -> bool:
    return _TEXTS.search(text) is not None
