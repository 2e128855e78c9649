"""Running a user's unmodified script as Python itself would run it."""

from memfit.scripts.after_import import after_import
from memfit.scripts.script import Script, exit_code, print_error

__all__ = ["Script", "after_import", "exit_code", "print_error"]
