"""What people use today: the formula that answers on the web give, and `model-profiler` from PyPI."""

from __future__ import annotations

import math
import re
from typing import Any

BYTES_OF_A_NUMBER = 4


def say(model: Any, batch: int) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    for name, ask in (("formula", web_formula), ("profiler", model_profiler)):
        try:
            answers[name] = ask(model, batch)
        except Exception as error:  # whatever another tool raises is its answer
            answers[name], answers[f"{name}_error"] = None, f"{type(error).__name__}: {error}".splitlines()[0]
    return answers


def web_formula(model: Any, batch: int) -> int:
    """4 bytes x (weights + batch x all layer outputs). A subclassed model has no outputs to count."""
    outputs = sum(numbers_in_output(layer) for layer in innermost_layers(model))
    return BYTES_OF_A_NUMBER * (int(model.count_params()) + batch * outputs)


def innermost_layers(model: Any) -> list[Any]:
    nested = [innermost_layers(layer) if hasattr(layer, "layers") else [layer] for layer in model.layers]
    return [layer for group in nested for layer in group]


def numbers_in_output(layer: Any) -> int:
    import keras

    outputs = keras.tree.flatten(layer.output)
    return sum(math.prod(size for size in output.shape if size is not None) for output in outputs)


def model_profiler(model: Any, batch: int) -> int:
    from model_profiler import model_profiler as profiled

    gibibytes = re.search(r"GPU Memory Requirement\s*\|\s*([\d.]+)", profiled(model, batch))
    assert gibibytes is not None, "it names no memory"
    return round(float(gibibytes[1]) * 2**30)
