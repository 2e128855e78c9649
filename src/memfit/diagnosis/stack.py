"""The stack traces in a text: whose code, which line."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FRAME = re.compile(
    r'File "([^"\n]{1,400})", line (\d{1,7}), in ([^\n]{1,120})(?:\n {4,8}(\S[^\n]{0,400}))?'
    r"|File ([^\s\"]{1,400}):(\d{1,7}), in (\w{1,100})\([^\n]{0,300}"
    r"|Cell In ?\[(\d{1,6})\], line (\d{1,7})"
)
_ARROW = re.compile(r"-{2,8}> (\d{1,7}) ([^\n]{1,400})")
_INSTALLED = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib[/\\]python\d|[/\\][Ll]ib[/\\]\w+\.py$|^<frozen|^<__array"
)
_LIBRARIES = re.compile(r"(?:^|[/\\])(?:keras|tensorflow|jax|torch|numpy|memfit)[/\\]")
TRACEBACK = "Traceback (most recent call last)"


@dataclass(frozen=True)
class Frame:
    file: str
    line: int
    function: str
    code: str = ""

    @property
    def of_the_user(self) -> bool:
        return not _INSTALLED.search(self.file) and not (_LIBRARIES.search(self.file) and "/src/" in self.file)


def frames(text: str) -> list[Frame]:
    """Every frame in `text`, outermost first within each trace."""
    arrows = {int(line): code.strip() for line, code in _ARROW.findall(text)}
    return [_frame(match, arrows) for match in _FRAME.finditer(text)]


def _frame(match: re.Match[str], arrows: dict[int, str]) -> Frame:
    file, line, function, code, short_file, short_line, short_function, cell, cell_line = match.groups()
    if file is not None:
        return Frame(file, int(line), function.strip(), (code or "").strip())
    if short_file is not None:
        return Frame(short_file, int(short_line), short_function, arrows.get(int(short_line), ""))
    return Frame(f"cell {cell}", int(cell_line), "<module>", arrows.get(int(cell_line), ""))
