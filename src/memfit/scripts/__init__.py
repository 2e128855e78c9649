"""Running a user's unmodified script as Python itself would run it."""

from memfit.scripts.imports import when_imported
from memfit.scripts.script import Script, exit_code, print_error

__all__ = ["Script", "exit_code", "print_error", "when_imported"]
