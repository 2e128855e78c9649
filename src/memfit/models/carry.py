"""A model object's way into a child process: its configuration, and the user's own classes with it.

The weights' values stay behind: they do not change how much memory a step takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import cloudpickle

from memfit.errors import BadInput
from memfit.models.names import optimizers
from memfit.models.structure import flatten

_REMEDY = "give memfit a function that builds the model instead: file.py:function"


@dataclass(frozen=True)
class Parcel:
    """All that rebuilds a model elsewhere. `variables` is what must come out again."""

    config: dict[str, Any]
    compile_config: dict[str, Any]
    build_config: dict[str, Any] | None
    custom_objects: bytes
    globals: dict[str, Any]
    variables: list[tuple[tuple[int, ...], str, bool]]


def pack(model: Any) -> Parcel:
    _refuse_what_stays_behind(model)
    customs = _custom_parts(model)
    with _lambdas_named(customs):
        config, compile_config = _configs(model)
        pickled = _pickled({name: part for part in customs for name in _lookup_names(part)})
    return Parcel(config, compile_config, config.pop("build_config", None), pickled, _globals(), _signature(model))


def unpack(parcel: Parcel) -> Any:
    """The model again, compiled, built and with the same variables; in the child."""
    import keras

    _set_globals(parcel.globals)
    try:
        customs = cloudpickle.loads(parcel.custom_objects)
        with keras.saving.custom_object_scope(customs):
            model = keras.saving.deserialize_keras_object(parcel.config, custom_objects=customs, safe_mode=False)
            if parcel.build_config and not model.built:
                model.build_from_config(parcel.build_config)
            with _unsafe():
                model.compile_from_config(parcel.compile_config)
    except Exception as error:
        raise BadInput(f"the model cannot be rebuilt in a child process: {_first_line(error)}; {_REMEDY}") from error
    if parcel.variables and _signature(model) != parcel.variables:
        raise BadInput(f"the model came out different in the child process: {_difference(parcel, model)}; {_REMEDY}")
    return model


def _unsafe() -> Any:
    """The user's own lambdas come from the user's own process: they may run here."""
    from keras.src.saving.serialization_lib import SafeModeScope

    return SafeModeScope(False)


def _refuse_what_stays_behind(model: Any) -> None:
    shadowed = [name for name in ("train_step", "call", "compute_loss") if name in vars(model)]
    if shadowed:
        raise BadInput(f"model.{shadowed[0]} was replaced on the object, which a copy would lose; {_REMEDY}")
    if type(model).compile is not _keras_model().compile and not _carries_compile(type(model)):
        raise BadInput(
            f"{type(model).__name__}.compile is the model's own, and Keras cannot repeat it without "
            f"get_compile_config and compile_from_config; {_REMEDY}"
        )


def _carries_compile(cls: Any) -> bool:
    base = _keras_model()
    methods = ("get_compile_config", "compile_from_config")
    return all(getattr(cls, method) is not getattr(base, method) for method in methods)


def _keras_model() -> Any:
    import keras

    return keras.Model


def _configs(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    import keras

    try:
        config = keras.saving.serialize_keras_object(model)
        config.pop("compile_config", None)
        return config, model.get_compile_config()
    except Exception as error:
        raise BadInput(f"the model cannot be carried into a child process: {_first_line(error)}; {_REMEDY}") from error


def _custom_parts(model: Any) -> list[Any]:
    """The user's own classes and functions that the model is made of."""
    values = [value for layer in model._flatten_layers() for value in (layer, *_attributes(layer))]
    values += optimizers(model)
    if model.compiled:
        values += flatten(dict(model._compile_config.config))
    parts = [_custom(leaf) for value in values for leaf in flatten(value)]
    return list({id(part): part for part in parts if part is not None}.values())


def _attributes(layer: Any) -> list[Any]:
    """What a layer holds, but for its own methods, which Keras wraps and keeps on the object."""
    return [value for name, value in vars(layer).items() if not hasattr(type(layer), name)]


def _custom(value: Any) -> Any:
    """The class or function behind `value`, where it is not Keras's or Python's own."""
    kind = value if isinstance(value, FunctionType | type) else type(value)
    module = getattr(kind, "__module__", None) or "builtins"
    own = module.split(".")[0] in ("keras", "builtins", "numpy", "tensorflow", "collections")
    useful = hasattr(kind, "get_config") or (kind is value and not isinstance(value, type))
    return kind if useful and not own else None


@contextmanager
def _lambdas_named(parts: list[Any]) -> Iterator[None]:
    """Gives lambdas names in this block, so that Keras looks them up instead of storing bytecode without globals."""
    lambdas = [part for part in parts if part.__name__ == "<lambda>"]
    for index, function in enumerate(lambdas):
        function.__name__ = f"memfit_lambda_{index}"
    try:
        yield
    finally:
        for function in lambdas:
            function.__name__ = "<lambda>"


def _lookup_names(part: Any) -> set[str]:
    import keras

    return {part.__name__, keras.saving.get_registered_name(part)}


def _pickled(customs: dict[str, Any]) -> bytes:
    for name, value in customs.items():
        try:
            cloudpickle.dumps(value)
        except Exception as error:
            raise BadInput(f"{name} cannot be carried into a child process: {_first_line(error)}; {_REMEDY}") from error
    return bytes(cloudpickle.dumps(customs))


def _globals() -> dict[str, Any]:
    import keras

    return {
        "floatx": keras.config.floatx(),
        "epsilon": keras.config.epsilon(),
        "image_data_format": keras.config.image_data_format(),
        "dtype_policy": keras.saving.serialize_keras_object(keras.config.dtype_policy()),
    }


def _set_globals(values: dict[str, Any]) -> None:
    import keras

    keras.config.set_floatx(values["floatx"])
    keras.config.set_epsilon(values["epsilon"])
    keras.config.set_image_data_format(values["image_data_format"])
    keras.config.set_dtype_policy(keras.saving.deserialize_keras_object(values["dtype_policy"]))


def _signature(model: Any) -> list[tuple[tuple[int, ...], str, bool]]:
    return [(tuple(v.shape), str(v.dtype), bool(v.trainable)) for v in model.variables] if model.built else []


def _difference(parcel: Parcel, model: Any) -> str:
    for variable, before, after in zip(model.variables, parcel.variables, _signature(model), strict=False):
        if before != after:
            return f"variable {variable.path} is {after} instead of {before}"
    return f"it has {len(model.variables)} variables instead of {len(parcel.variables)}"


def _first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
