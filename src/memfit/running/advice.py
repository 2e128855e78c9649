"""What to do when a loop of the user's own has run out: the diagnosis, and the line to add."""

from __future__ import annotations

import linecache
import re
import traceback
from collections.abc import Iterator
from pathlib import Path

import memfit
from memfit.diagnosis.run import explain

_LIBRARY = re.compile(r"[/\\](site-packages|dist-packages|lib[/\\]python[\d.]+)[/\\]|^<")
_MEMFIT = str(Path(memfit.__file__).parent)
_IN_GRAPH = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\w+)')


def advice(error: BaseException) -> list[str]:
    """Lines for a person, the last one saying what to add where."""
    lines = str(explain(error)).splitlines()
    step = next(_own_steps(error), None)
    if step is not None:
        file, name = step
        lines.append(f"add `@memfit.microbatch` above `def {name}` in {file} and it will be split until it fits")
    return lines


def _own_steps(error: BaseException) -> Iterator[tuple[str, str]]:
    """Functions of the user's that were running, or being run as a graph, outermost first."""
    frames = traceback.extract_tb(error.__traceback__)
    for frame in frames:
        if _is_own(frame.filename) and frame.name != "<module>":
            yield frame.filename, frame.name
    for match in _IN_GRAPH.finditer(str(error)):
        if _is_own(match["file"]) and match["function"] != "<module>":
            yield match["file"], match["function"]
    for frame in frames:
        if _is_own(frame.filename) and (called := _called(frame)):
            yield frame.filename, called


def _is_own(file: str) -> bool:
    return not _LIBRARY.search(file) and not file.startswith(_MEMFIT)


def _called(frame: traceback.FrameSummary) -> str | None:
    """The function that a line of the script called, where that line is all there is to see."""
    line = linecache.getline(frame.filename, frame.lineno or 0)
    source = "".join(linecache.getlines(frame.filename))
    names = re.findall(r"(\w+)\(", line)
    return next((name for name in names if re.search(rf"^\s*def {name}\b", source, re.MULTILINE)), None)
