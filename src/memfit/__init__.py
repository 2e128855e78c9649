"""memfit: make Keras training fit in memory. Importing it imports neither Keras nor TensorFlow."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memfit.diagnosis.result import Diagnosis
    from memfit.diagnosis.run import explain
    from memfit.errors import BadInput, CannotEnforce, ChildFailed, DoesNotFit, Failure, MemfitError, UsageError
    from memfit.estimation.result import Estimate
    from memfit.estimation.run import estimate
    from memfit.measurement.result import Measurement
    from memfit.measurement.run import measure
    from memfit.remedies.remedy import Fix
    from memfit.training.fit import fit
    from memfit.training.guard import guard
    from memfit.training.microbatch import microbatch
    from memfit.training.record import RunRecord

__version__ = "0.1.0"

_HOMES = {
    "BadInput": "memfit.errors",
    "CannotEnforce": "memfit.errors",
    "ChildFailed": "memfit.errors",
    "Diagnosis": "memfit.diagnosis.result",
    "DoesNotFit": "memfit.errors",
    "Estimate": "memfit.estimation.result",
    "Failure": "memfit.errors",
    "Fix": "memfit.remedies.remedy",
    "Measurement": "memfit.measurement.result",
    "RunRecord": "memfit.training.record",
    "MemfitError": "memfit.errors",
    "UsageError": "memfit.errors",
    "estimate": "memfit.estimation.run",
    "explain": "memfit.diagnosis.run",
    "fit": "memfit.training.fit",
    "guard": "memfit.training.guard",
    "measure": "memfit.measurement.run",
    "microbatch": "memfit.training.microbatch",
}

__all__ = [
    "BadInput",
    "CannotEnforce",
    "ChildFailed",
    "Diagnosis",
    "DoesNotFit",
    "Estimate",
    "Failure",
    "Fix",
    "Measurement",
    "MemfitError",
    "RunRecord",
    "UsageError",
    "estimate",
    "explain",
    "fit",
    "guard",
    "measure",
    "microbatch",
]


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used, so that `memfit --help` stays quick."""
    if name not in _HOMES:
        raise AttributeError(f"module 'memfit' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
