"""The user's own call, rewritten."""

from __future__ import annotations

import re

from memfit.sizes import format_size

_FIT = re.compile(r"(\w[\w.]{0,80})\.fit\((.{0,2000})\)", re.DOTALL)
_NAMES = re.compile(r"[(,]\s*([A-Za-z_]\w{0,60})\s*(?=[,)])")


def memfit_fit(call: str, model: str, budget: int | None) -> str:
    """`model.fit(...)` as `memfit.fit(model, ...)`, with the same arguments."""
    limit = f', budget="{as_budget(budget)}"' if budget else ""
    found = _FIT.search(call)
    if found is None:
        return f"memfit.fit({model}, x, y{limit})  # with the other arguments of {model}.fit"
    arguments = found[2].strip().rstrip(",")
    return f"memfit.fit({found[1]}, {arguments}{limit})"


def with_batch(call: str, model: str, batch: int, argument: str = "batch_size") -> str:
    """The same call with another batch size."""
    found = re.search(r"\w[\w.]{0,80}\.(?:fit|evaluate|predict)\(.{0,2000}\)", call, re.DOTALL)
    if found is None:
        return f"{model}.fit(x, y, {argument}={batch})"
    line = _without_print(found[0])
    pattern = re.compile(rf"\b{argument}\s*=\s*[\w.]+")
    if pattern.search(line):
        return pattern.sub(f"{argument}={batch}", line, count=1)
    return f"{line[:-1]}, {argument}={batch})"


def array_names(call: str) -> tuple[str, str]:
    """What the user calls the inputs and the targets."""
    names = _NAMES.findall(call)
    return (names[0], names[1]) if len(names) > 1 else (names[0] if names else "x", "y")


def as_budget(size: int) -> str:
    return f"{max(size // 2**20, 1)}MiB"


def about(size: int | None) -> str:
    return "memory" if size is None else format_size(size)


def _without_print(call: str) -> str:
    """A call inside of another call, such as `print(model.evaluate(x))`, alone."""
    depth = 0
    for index, character in enumerate(call):
        depth += (character == "(") - (character == ")")
        if depth == 0 and character == ")":
            return call[: index + 1]
    return call
