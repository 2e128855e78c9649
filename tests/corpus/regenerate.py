"""Runs the failing scripts for real and keeps what they print: python -m tests.corpus.regenerate [name…]

With --fits it runs them under limits that they fit in, to see that they do.

Every script runs as `train.py` in a folder of its own, under TensorFlow's own allocator with a real limit, or under a
limit of the system's. The truth beside each log (`logs/name.json`) is written by hand, from the script.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS, LOGS = HERE / "scripts", HERE / "logs"
PROJECT, LIBRARIES = "/home/user/project", "/home/user/venv/lib/python3.11/site-packages"


@dataclass(frozen=True)
class Run:
    """`limit` is TensorFlow's, in MiB; `address_space` the process's, in MiB."""

    limit: int | None = None
    dump: bool = True
    onednn: bool = False
    address_space: int | None = None

    @property
    def environment(self) -> dict[str, str]:
        settings = {
            "TF_CPP_MIN_LOG_LEVEL": "0" if self.dump else "3",
            "TF_ENABLE_ONEDNN_OPTS": str(int(self.onednn)),
            "MALLOC_MMAP_THRESHOLD_": "65536",
        }
        if self.limit:
            settings |= {"TF_CPU_ALLOCATOR_USE_BFC": "1", "TF_CPU_BFC_MEM_LIMIT_IN_MB": str(self.limit)}
        return settings


RUNS = {
    "activation_attention": Run(400),
    "activation_volume": Run(250),
    "batch_backward": Run(100),
    "batch_custom_loop": Run(200, dump=False),
    "batch_eager": Run(700),
    "batch_forward": Run(200),
    "batch_recurrent": Run(800, dump=False),
    "batch_xla": Run(200),
    "dataset_called_whole": Run(300, dump=False),
    "dataset_cast": Run(300),
    "dataset_constant": Run(400),
    "dataset_fit": Run(400),
    "dataset_slices": Run(400),
    "double_model": Run(150, dump=False),
    "double_op": Run(300),
    "embedding_build": Run(400),
    "embedding_gradient": Run(150),
    "evaluate_batch": Run(170, dump=False),
    "fragmentation": Run(200),
    "host_killed": Run(dump=False),
    "host_numpy": Run(address_space=16_000),
    "host_python": Run(address_space=2_000),
    "leak_models": Run(200, dump=False),
    "leak_tensors": Run(200, dump=False),
    "model_dense": Run(400, dump=False),
    "model_flatten": Run(600),
    "not_memory": Run(dump=False),
    "model_gradient": Run(300),
    "optimizer_slots": Run(300, dump=False),
    "optimizer_update": Run(400),
    "predict_batch": Run(170),
    "validation_batch": Run(110),
}

# limits, in MiB, under which the same scripts train to their end
FITS = {
    "activation_volume": 1500,
    "batch_backward": 300,
    "batch_custom_loop": 2200,
    "batch_forward": 1000,
    "dataset_fit": 1200,
    "dataset_slices": 1200,
    "embedding_gradient": 600,
    "model_gradient": 1100,
    "validation_batch": 400,
}


def main(names: list[str]) -> None:
    LOGS.mkdir(exist_ok=True)
    if names[:1] == ["--fits"]:
        for name in names[1:] or FITS:
            text, _ = run(name, Run(FITS[name], dump=False, onednn=True))
            print(name, text.splitlines()[-1], flush=True)
        return
    for name in names or RUNS:
        print(name, flush=True)
        (LOGS / f"{name}.log").write_text(scrubbed(*run(name, RUNS[name])))


def run(name: str, how: Run) -> tuple[str, str]:
    """Everything that the script and its shell print, and the folder it ran in."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "train.py").write_text((SCRIPTS / f"{name}.py").read_text())
        limit = f"ulimit -v {how.address_space * 1024}; " if how.address_space else ""
        finished = subprocess.run(
            ["bash", "-c", f'{limit}"{sys.executable}" -u train.py; code=$?; echo "exit code: $code"'],
            cwd=folder,
            env=os.environ | how.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return finished.stdout.decode(errors="replace"), folder


def scrubbed(text: str, folder: str) -> str:
    """The same without the paths, processes and times of this machine."""
    site = str(Path(find_spec("keras").origin).parents[1])
    text = text.replace(folder, PROJECT).replace(site, LIBRARIES).replace(f'"{sys.executable}"', "python")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+", "2026-01-01 12:00:00.000000", text)
    text = re.sub(r"(?m)^([IWEF]0000 00:00:)\d+\.\d+ +\d+", r"\g<1>1700000000.000000    1234", text)
    return re.sub(r"line 1: +\d+ ", "line 1: 1234 ", text)


if __name__ == "__main__":
    main(sys.argv[1:])
