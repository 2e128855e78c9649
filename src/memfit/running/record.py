"""What `memfit run` writes down for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memfit.errors import BadInput

SCHEMA = "memfit.run/1"


def read_journal(file: Path) -> list[dict[str, Any]]:
    try:
        records: list[dict[str, Any]] = json.loads(file.read_text())
    except (OSError, ValueError):  # nothing was trained
        return []
    return records


def write_record(file: Path, exit_code: int, fits: list[dict[str, Any]]) -> None:
    try:
        file.write_text(json.dumps({"schema": SCHEMA, "exit_code": exit_code, "fits": fits}, indent=2) + "\n")
    except OSError as error:
        raise BadInput(f"cannot write the record {str(file)!r}: {error.strerror}") from error
