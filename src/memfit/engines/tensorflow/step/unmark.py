"""Names without marks: Grappler orders operands by name, so it must see the names of the user's own run."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from typing import Any

from memfit.engines.tensorflow.markers import plain_name

_BOUNDARY = re.compile(r"[/_\-]")
_REFERENCE = re.compile(r"(\^?)([^:]+)(.*)", re.DOTALL)


class Originals:
    """The marked names behind the plain ones, also behind names that Grappler made out of those."""

    def __init__(self) -> None:
        self._marked: dict[str, str] = {}

    def add(self, names: Iterable[str]) -> dict[str, str]:
        """A plain name for each of the names of one graph."""
        plain: dict[str, str] = {}
        taken: set[str] = set()
        for name in names:
            plain[name] = _unique(plain_name(name), taken)
            taken.add(plain[name])
            self._marked.setdefault(plain[name], name)
        return plain

    @functools.cache  # noqa: B019 - lives as long as one trace
    def marked(self, name: str) -> str:
        if name in self._marked:
            return self._marked[name]
        starts = [0, *(match.end() for match in _BOUNDARY.finditer(name))]
        ends = [*(match.start() for match in _BOUNDARY.finditer(name)), len(name)]
        for start in starts:
            for end in reversed([e for e in ends if e > start]):
                if name[start:end] in self._marked:
                    rest = name[end:]
                    return name[:start] + self._marked[name[start:end]] + (self.marked(rest) if rest else "")
        return name


def unmark(definition: Any) -> tuple[Originals, dict[str, str]]:
    """Give all nodes of a graph and of its functions their plain names; also returned by marked name, for the graph."""
    originals = Originals()
    plain = originals.add(node.name for node in definition.node)
    _rename(definition.node, plain)
    for function in definition.library.function:
        inner = originals.add(node.name for node in function.node_def)
        _rename(function.node_def, inner)
        for returned in (function.ret, function.control_ret):
            for key in list(returned):
                returned[key] = _renamed(returned[key], inner.get)
    return originals, plain


def _rename(nodes: Any, plain: dict[str, str]) -> None:
    for node in nodes:
        node.name = plain[node.name]
        node.input[:] = [_renamed(reference, plain.get) for reference in node.input]
        node.attr.pop("_class", None)


def _renamed(reference: str, plain: Callable[[str, str], str]) -> str:
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    return match[1] + plain(match[2], match[2]) + match[3]


def _unique(name: str, taken: set[str]) -> str:
    candidate, number = name, 0
    while candidate in taken:
        number += 1
        candidate = f"{name}_{number}"
    return candidate
