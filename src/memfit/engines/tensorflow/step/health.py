"""Conditions that watch for numbers gone wrong: in a training that works, they are not met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

FLOATS = {t.as_datatype_enum for t in (tf.float16, tf.bfloat16, tf.float32, tf.float64)}
SOUND = {"IsNan": False, "IsInf": False, "IsFinite": True}
JOINED: dict[str, Callable[[list[bool]], bool]] = {"LogicalAnd": all, "LogicalOr": any}
HANDED_ON = frozenset(["Any", "All", "Identity", "Reshape", "Squeeze", "ExpandDims", "Pack", "StopGradient"])


def expected(node: Any, producer: Callable[[str], Any], depth: int = 16) -> bool | None:
    """What an operation says of numbers that are finite and not exactly zero; None where it asks something else."""
    if node.op in SOUND:
        return SOUND[node.op]
    if node.op in ("Equal", "NotEqual") and node.attr["T"].type in FLOATS:
        zero = any(_is_zero(producer(name)) for name in node.input if not name.startswith("^"))
        return node.op == "NotEqual" if zero else None
    sources = [producer(name) for name in node.input if not name.startswith("^")]
    if not sources or depth == 0:
        return None
    first = expected(sources[0], producer, depth - 1)
    if node.op in HANDED_ON or first is None:
        return first if node.op in HANDED_ON else None
    if node.op == "LogicalNot":
        return not first
    rest = [expected(source, producer, depth - 1) for source in sources[1:]]
    known = [answer for answer in rest if answer is not None]
    return JOINED[node.op]([first, *known]) if node.op in JOINED and len(known) == len(rest) else None


def _is_zero(node: Any) -> bool:
    if node.op != "Const":
        return False
    values = tf.make_ndarray(node.attr["value"].tensor)
    return bool(values.size == 1 and values.reshape(-1)[0] == 0)
