"""What `memfit doctor` says of TensorFlow on this machine."""

from __future__ import annotations

from typing import Any

from memfit.engines import Device, Facts
from memfit.engines.tensorflow import allocator


def facts() -> Facts:
    import keras
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    return Facts(
        version=f"TensorFlow {tf.__version__}, Keras {keras.__version__}",
        devices=[*_gpus(gpus), Device("CPU:0", "CPU", None, None)],
        allocator="BFC on the GPU" if gpus else "BFC on the CPU, under memfit; plain malloc without it",
        memory_growth=_memory_growth(gpus),
        not_measurable=_not_measurable(gpus),
    )


def _gpus(gpus: list[Any]) -> list[Device]:
    return [_gpu(index, gpu) for index, gpu in enumerate(gpus)]


def _gpu(index: int, gpu: Any) -> Device:
    try:
        import pynvml

        pynvml.nvmlInit()
        memory = pynvml.nvmlDeviceGetMemoryInfo(pynvml.nvmlDeviceGetHandleByIndex(index))
        return Device(gpu.name, "GPU", int(memory.total), int(memory.used))
    except Exception:  # NVML raises its own error types, and ImportError where it is missing
        return Device(gpu.name, "GPU", None, None)


def _memory_growth(gpus: list[Any]) -> str:
    import tensorflow as tf

    if not gpus:
        return "does not apply: no GPU"
    return (
        "on" if all(tf.config.experimental.get_memory_growth(gpu) for gpu in gpus) else "off: TensorFlow takes it all"
    )


def _not_measurable(gpus: list[Any]) -> list[str]:
    missing = []
    if not gpus:
        missing.append("GPU memory: TensorFlow sees no GPU here")
    elif any(device.total is None for device in _gpus(gpus)):
        missing.append("used GPU memory: NVML is missing (pip install 'memfit[gpu]')")
    try:
        allocator.state()
    except Exception as error:
        missing.append(f"live and peak bytes: {error}")
    return missing
