"""Running out under a real limit is a result: exit code 3, with what could not be had."""

import json
import os
import signal
import subprocess
import sys
import time

import psutil
import pytest

from conftest import ZOO, interruptible
from memfit import DoesNotFit
from memfit.device import run_in_child
from memfit.measurement.run import measure_target
from memfit.models.target import Target

pytestmark = pytest.mark.real


def test_a_budget_below_the_need_names_the_tensor_the_op_and_the_layer(memfit):
    finished = memfit("measure", f"{ZOO}:transformer", "--budget", "20MiB", "--format", "json")
    assert finished.returncode == 3
    answer = json.loads(finished.stdout)
    assert answer["schema"] == "memfit.measure/1"
    assert answer["fits"] is False
    assert answer["budget_bytes"] == 20 * 2**20
    failure = answer["failure"]
    assert failure["bytes"] > 0
    assert failure["op"]
    assert "memfit" not in failure["op"]
    assert failure["layer"]
    assert finished.stderr.count("\n") == 1
    assert finished.stderr.startswith("memfit: out of memory under a budget of 20.0 MiB")


def test_a_budget_above_the_need_fits_and_is_never_passed():
    budget = 80 * 2**20
    measured = measure_target(Target(f"{ZOO}:transformer"), budget=budget)
    assert measured.peak <= budget


def test_weights_that_do_not_fit_name_their_layer(memfit, builder):
    target = builder("model = keras.Sequential([keras.Input((9000,)), layers.Dense(9000, name='huge')])\nreturn model")
    finished = memfit("measure", target, "--budget", "100MiB")
    assert finished.returncode == 3
    assert "layer 'huge' asked for 309 MiB (shape [9000, 9000], float32" in finished.stderr


def test_a_segfault_of_tensorflow_is_recognised_as_running_out(memfit, builder):
    target = builder(
        "import numpy, tensorflow\n"
        "tensorflow.constant(numpy.zeros((1000, 1000, 100), 'float32'))\n"
        "return keras.Sequential([keras.Input((4,)), layers.Dense(4)])"
    )
    finished = memfit("measure", target, "--budget", "100MiB", "--format", "json")
    assert finished.returncode == 3
    assert json.loads(finished.stdout)["failure"]["how"] == "segfault"
    assert json.loads(finished.stdout)["failure"]["bytes"] == 400_000_000


def test_xla_running_out_is_a_result_too(memfit):
    finished = memfit("measure", f"{ZOO}:compiled_by_xla", "--budget", "40MiB", "--format", "json")
    assert finished.returncode == 3
    assert json.loads(finished.stdout)["failure"]["bytes"] > 0


def test_a_child_that_the_system_kills_is_a_result_too():
    with pytest.raises(DoesNotFit, match="exit 137") as caught:
        run_in_child("child_jobs:be_killed", None)
    assert caught.value.failure.how == "killed"


def test_the_allocator_tells_live_and_peak_bytes_and_forgets_the_peak_on_demand():
    budget = 64 * 2**20
    held, gone, reset = run_in_child("child_jobs:read_the_allocator", budget, budget=budget)
    assert 8 * 2**20 <= held.live < 9 * 2**20
    assert gone.live < 2**20
    assert gone.peak >= held.live
    assert reset.peak < 2**20


def _measuring(tmp_path):
    """A `memfit measure` in its own session, and its child, caught while it builds a model that takes forever."""
    (tmp_path / "slow.py").write_text("import time\n\n\ndef build():\n    time.sleep(600)\n")
    parent = subprocess.Popen(
        [sys.executable, "-m", "memfit", "measure", "slow.py:build"],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = psutil.Process(parent.pid).children()
        if children and len(children[0].threads()) > 1:
            return parent, children[0]
        time.sleep(0.1)
    raise AssertionError("the child never started")


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)])
def test_the_child_ends_when_its_parent_does(tmp_path, sent, code):
    parent, child = _measuring(tmp_path)
    if sent == signal.SIGINT:
        os.killpg(parent.pid, sent)  # as a terminal does on Ctrl-C
    else:
        parent.send_signal(sent)
    assert parent.wait(timeout=20) == code
    assert psutil.wait_procs([child], timeout=20)[1] == []
    with parent.stderr:
        error = parent.stderr.read()
    assert "Traceback" not in error
    if sent != signal.SIGKILL:
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith("memfit-")] == []
