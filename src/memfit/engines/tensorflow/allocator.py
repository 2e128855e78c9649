"""TensorFlow's allocator: put under a limit, read, and recognised when it has run out."""

from __future__ import annotations

import os
import sys

from memfit.engines import AllocatorState
from memfit.errors import CannotEnforce

MIB = 2**20


def environment(budget: int | None, *, logged: bool = True) -> dict[str, str]:
    """What must stand in the environment before TensorFlow first allocates.

    The CPU then uses the BFC allocator that GPUs use, with its limit, its statistics and its trace.
    The malloc threshold makes every NumPy batch be copied, as a GPU would, whatever its alignment.
    What is `logged` at a failure says how full the allocator was.
    """
    settings = {
        "TF_CPU_ALLOCATOR_USE_BFC": "1",
        "MALLOC_MMAP_THRESHOLD_": "65536",
    }
    if logged:
        settings["TF_CPP_MIN_LOG_LEVEL"] = "0"
    if budget is not None:
        settings["TF_CPU_BFC_MEM_LIMIT_IN_MB"] = str(_whole_mebibytes(budget))
    return settings


def cautious_environment() -> dict[str, str]:
    """Keeps oneDNN off the instructions that some virtual machines advertise but do not carry out (AMX)."""
    return {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"}


def started() -> bool:
    """Has TensorFlow made its devices in this process? From then on a limit cannot be changed."""
    context = sys.modules.get("tensorflow.python.eager.context")
    return context is not None and context.context_safe() is not None and bool(context.context()._initialized)


def enforce(budget: int | None) -> None:
    """Put the limit in force in this process, which must not have started TensorFlow."""
    if started() and not _in_force(budget):
        raise CannotEnforce(
            "TensorFlow has already started in this process, so its memory limit cannot be changed any more: "
            "set the budget before the first tensor or model is made, or let memfit start a child process"
        )
    os.environ.update(environment(budget))
    if budget is not None:
        _limit_gpus(budget)


def state() -> AllocatorState:
    import tensorflow as tf

    info = tf.config.experimental.get_memory_info(device())
    return AllocatorState(live=info["current"], peak=info["peak"])


def reset_peak() -> None:
    import tensorflow as tf

    tf.config.experimental.reset_memory_stats(device())


def device() -> str:
    """The device whose memory is watched: the first GPU, or the CPU."""
    import tensorflow as tf

    return "GPU:0" if tf.config.list_logical_devices("GPU") else "CPU:0"


def is_out_of_memory(error: BaseException) -> bool:
    errors = sys.modules.get("tensorflow.python.framework.errors_impl")
    return errors is not None and isinstance(error, errors.ResourceExhaustedError)


def _whole_mebibytes(budget: int) -> int:
    if budget < MIB:
        raise CannotEnforce(
            f"TensorFlow's limit counts in MiB: a budget must be at least 1 MiB. Received: {budget} bytes"
        )
    return budget // MIB


def _in_force(budget: int | None) -> bool:
    return all(os.environ.get(key) == value for key, value in environment(budget, logged=False).items())


def _limit_gpus(budget: int) -> None:
    if started():
        return
    import tensorflow as tf

    for gpu in tf.config.list_physical_devices("GPU"):
        limit = tf.config.LogicalDeviceConfiguration(memory_limit=_whole_mebibytes(budget))
        tf.config.set_logical_device_configuration(gpu, [limit])
