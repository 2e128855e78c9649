"""What a command says: its result on standard output, everything else on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from memfit.errors import DoesNotFit, MemfitError


class Output:
    """Renders for a person or, with `--format json`, for a script."""

    def __init__(self, format: str, color: str) -> None:
        self._json = format == "json"
        self._color = color

    def result(self, verb: str, values: dict[str, Any], text: str) -> None:
        if self._json:
            json.dump({"schema": f"memfit.{verb}/1"} | values, sys.stdout)
            sys.stdout.write("\n")
        else:
            self._print(text)

    def next_step(self, text: str) -> None:
        if not self._json:
            self._print(f"\nnext: {text}")

    def say(self, text: str) -> None:
        print(f"memfit: {text}", file=sys.stderr)

    def failed(self, error: MemfitError, verb: str) -> None:
        self.say(" ".join(str(error).split()))
        if self._json and isinstance(error, DoesNotFit):
            self.result(verb, {"fits": False, "budget_bytes": error.budget, "failure": asdict(error.failure)}, "")

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """A line that says what is being done, on a terminal only; nothing of it stays."""
        if not sys.stderr.isatty():
            yield lambda _: None
            return
        from rich.console import Console

        with Console(stderr=True, no_color=not self._colored(sys.stderr)).status("starting") as status:
            yield status.update

    def _print(self, text: str) -> None:
        if not self._colored(sys.stdout):
            print(text)
            return
        from rich.console import Console
        from rich.text import Text

        first, _, rest = text.partition("\n")
        styled = Text(rest)
        styled.highlight_regex(r"[█▏▎▍▌▋▊▉▁▂▃▄▅▆▇]+", "cyan")
        styled.highlight_regex(r"(?m)^(next|note):", "bold")
        console = Console(force_terminal=True, highlight=False, soft_wrap=True)
        console.print(Text(first, "bold"), styled, sep="\n" if rest else "")

    def _colored(self, stream: Any) -> bool:
        if self._color == "auto":
            return bool(stream.isatty()) and not os.environ.get("NO_COLOR")
        return self._color == "always"
