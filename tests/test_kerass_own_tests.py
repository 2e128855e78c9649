"""Keras's own trainer tests, which ship with it, under `memfit run`: what passes without it passes with it."""

import re
import subprocess
import sys

import pytest

SUITE = ["pytest", "--pyargs", "keras.src.trainers.trainer_test", "-q", "-W", "ignore", "-p", "no:cacheprovider"]


def outcome(folder, *command):
    """The names of the tests that failed, and how many passed."""
    run = subprocess.run(
        [sys.executable, *command, "-m", *SUITE], capture_output=True, text=True, cwd=folder, check=False
    )
    passed = re.search(r"(\d+) passed", run.stdout)
    assert passed, run.stdout[-2000:] + run.stderr[-2000:]
    return set(re.findall(r"^FAILED \S*::(\w+)", run.stdout, re.MULTILINE)), int(passed[1])


@pytest.mark.real
@pytest.mark.slow
def test_what_passes_without_memfit_passes_with_it(tmp_path):
    assert outcome(tmp_path, "-m", "memfit", "run") == outcome(tmp_path)
