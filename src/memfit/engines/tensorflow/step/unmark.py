"""Names without marks: Grappler orders nodes by name and place, so both must be those of the user's own run."""

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
        self.marked = functools.cache(self._behind)

    def add(self, names: Iterable[str]) -> dict[str, str]:
        """A plain name for each of the names of one graph."""
        marked = list(names)
        plain = dict(zip(marked, unique_names(plain_name(name) for name in marked), strict=True))
        for name in marked:
            self._marked.setdefault(plain[name], name)
        return plain

    def _behind(self, name: str) -> str:
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


def unmark(definition: Any, arguments: list[str]) -> tuple[Originals, dict[str, str]]:
    """Give all nodes of a graph and of its functions their plain names; also returned by marked name, for the graph.

    Arguments come first and get the names that they have in the traced function's signature.
    """
    originals = Originals()
    plain = originals.add(node.name for node in definition.node)
    others = [plain[name] for name in plain.keys() - set(arguments)]
    signature = unique_names((argument_name(plain[name]) for name in arguments), others)
    plain.update(zip(arguments, signature, strict=True))
    _rename(definition.node, plain)
    _put_first(definition, signature)
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


def _put_first(definition: Any, names: list[str]) -> None:
    place = {name: index for index, name in enumerate(names)}
    definition.node.sort(key=lambda node: place.get(node.name, len(place)))


def argument_name(name: str) -> str:
    """What the runtime makes of an op's name where it names an argument or a result."""
    return re.sub(r"^[^a-z]+", "", re.sub(r"[^a-z0-9]", "_", name.lower())) or "unknown"


def _renamed(reference: str, plain: Callable[[str, str], str]) -> str:
    match = _REFERENCE.fullmatch(reference)
    assert match is not None
    return match[1] + plain(match[2], match[2]) + match[3]


def unique_names(names: Iterable[str], others: Iterable[str] = ()) -> list[str]:
    """The names in their order, with a number where one was taken."""
    taken, found = set(others), []
    for name in names:
        candidate, number = name, 0
        while candidate in taken:
            number += 1
            candidate = f"{name}_{number}"
        taken.add(candidate)
        found.append(candidate)
    return found
