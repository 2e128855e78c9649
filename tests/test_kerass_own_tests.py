"""Keras's own trainer tests, which ship with it, under a guard. Slow: only where their dependencies are installed."""

import os
import re
import subprocess
import sys

import pytest

PLUGIN = """
import contextlib, memfit
stack = contextlib.ExitStack()
def pytest_sessionstart(session): stack.enter_context(memfit.guard())
def pytest_sessionfinish(session): stack.close()
"""


@pytest.mark.real
def test_what_passes_without_memfit_passes_with_it(tmp_path):
    for needed in ("jax", "pandas", "scipy"):
        pytest.importorskip(needed)
    (tmp_path / "under_guard.py").write_text(PLUGIN)
    suite = ["--pyargs", "keras.src.trainers.trainer_test", "-q", "-W", "ignore", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}

    def failed(*options):
        command = [sys.executable, "-m", "pytest", *suite, *options]
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False)
        return set(re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.MULTILINE))

    assert failed("-p", "under_guard") <= failed()
