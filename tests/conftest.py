"""Shared ground: the command line as a user calls it, and a look at what a call leaves behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["NO_COLOR"] = "1"

ZOO = Path(__file__).with_name("zoo.py")
MODELS = [
    "cnn",
    "residual",
    "lstm",
    "transformer",
    "embedding",
    "many_inputs_and_outputs",
    "subclassed",
    "custom_step",
    "two_optimizers",
    "eager",
    "words_and_numbers",
    "bfloat16",
    "compiled_by_xla",
]


def interruptible():
    """Run in a new process: jobs in the background of a shell are deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def memfit(tmp_path, monkeypatch):
    """Runs `memfit ARGUMENTS` in an empty folder; its temporary files must be gone afterwards."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))

    def run(*arguments, **options):
        command = [sys.executable, "-m", "memfit", *map(str, arguments)]
        finished = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False, **options
        )
        assert list(scratch.iterdir()) == [], "temporary files were left behind"
        return finished

    return run


@pytest.fixture
def builder(tmp_path):
    """Writes a file with a function `build` of the given body and returns its TARGET."""

    def write(body, name="model.py"):
        lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
        (tmp_path / name).write_text(f"import keras\nfrom keras import layers\n\n\ndef build():\n{lines}")
        return f"{name}:build"

    return write
