"""Nodes that read a variable: of what they give, Grappler knows the shape and nothing else."""

from __future__ import annotations

from typing import Any


def as_handle(node: Any, dtype: Any, shape: Any) -> None:
    node.op = "VarHandleOp"
    node.attr.clear()
    node.attr["dtype"].type = dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(shape.as_proto())
    node.attr["shared_name"].s = node.name.encode()
    node.attr["container"].s = b""


def as_read(node: Any, dtype: Any, source: str) -> None:
    node.op = "ReadVariableOp"
    node.attr.clear()
    node.attr["dtype"].type = dtype.base_dtype.as_datatype_enum
    node.input.append(source)
