"""Every command as a user types it, and every mistake as a user makes it: one line, the right code, nothing left."""

import json
import os
import subprocess
import sys

import pytest

from conftest import ZOO

DENSE = "model = keras.Sequential([keras.Input((8,)), layers.Dense(4)])\nmodel.compile('sgd', 'mse')\n"


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["measure", "missing.py:build"], 1, "there is no file 'missing.py'"),
        (["measure", "missing.keras"], 1, "there is no file 'missing.keras'"),
        (["measure", "model.py"], 2, "TARGET is file.py:function"),
        (["measure", f"{ZOO}:cnn", "--batch", "0"], 2, "at least 1. Received: 0"),
        (["measure", f"{ZOO}:cnn", "--batch", "-1"], 2, "at least 1. Received: -1"),
        (["measure", f"{ZOO}:cnn", "--batch", "many"], 2, "invalid int value: 'many'"),
        (["measure", f"{ZOO}:cnn", "--budget", "8XB"], 2, "Received: '8XB'"),
        (["measure", f"{ZOO}:cnn", "--budget", "0"], 2, "more than 0 bytes"),
        (["measure", f"{ZOO}:cnn", "--budget", "100KiB"], 1, "at least 1 MiB"),
        (["measure", f"{ZOO}:cnn", "--steps", "0"], 2, "at least 1. Received: 0"),
        (["measure"], 2, "required: TARGET"),
        (["unheard_of"], 2, "invalid choice"),
        ([], 2, "required: COMMAND"),
    ],
)
def test_a_mistake_is_said_at_once(memfit, arguments, code, says):
    finished = memfit(*arguments)
    assert finished.returncode == code
    assert says in finished.stderr
    assert "Traceback" not in finished.stderr
    assert finished.stdout == ""


def test_no_tensorflow_is_said_with_what_to_install(memfit, tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'tensorflow' else find(name, *rest)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    finished = memfit("measure", f"{ZOO}:cnn", env=environment)
    assert finished.returncode == 1
    assert finished.stderr == "memfit: TensorFlow is not installed here: pip install 'memfit[tensorflow]'\n"
    examined = memfit("doctor", env=environment)
    assert examined.returncode == 1
    assert "pip install 'memfit[tensorflow]'" in examined.stdout


def test_another_backend_is_refused(memfit):
    finished = memfit("measure", f"{ZOO}:cnn", env=os.environ | {"KERAS_BACKEND": "jax"})
    assert finished.returncode == 1
    assert "KERAS_BACKEND=tensorflow" in finished.stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return 3", "must return a compiled keras.Model, or (model, x, y). Received: a int"),
        ("pass", "is a `return` missing?"),
        ("return keras.Sequential([keras.Input((4,)), layers.Dense(4)])", "not compiled"),
        ("model = keras.Sequential([layers.Dense(4)])\nmodel.compile('sgd', 'mse')\nreturn model", "not been built"),
        ("raise ValueError('the data is gone')", "ValueError: the data is gone (model.py, line 6)"),
        ("raise SystemExit(5)", "SystemExit: 5 (model.py, line 6)"),
    ],
)
def test_a_target_that_gives_no_model_is_said_in_one_line(memfit, builder, body, says):
    finished = memfit("measure", builder(body))
    assert finished.returncode == 1
    assert says in finished.stderr
    assert finished.stderr.count("\n") == 1


@pytest.mark.real
def test_a_missing_function_names_those_that_are_there(memfit, builder):
    builder(DENSE + "return model")
    finished = memfit("measure", "model.py:bulid")
    assert finished.returncode == 1
    assert finished.stderr == "memfit: model.py has no function 'bulid'. It has: build\n"
    missing = memfit("measure", "no.such.module:build")
    assert missing.returncode == 1
    assert "there is no module 'no.such.module'" in missing.stderr


@pytest.mark.real
def test_json_stands_alone_and_has_the_fields_of_the_contract(memfit, builder):
    target = builder(f"print('noise')\n{DENSE}return model")
    finished = memfit("measure", target, "--batch", "16", "--format", "json")
    assert finished.returncode == 0
    assert finished.stderr == "noise\n"
    answer = json.loads(finished.stdout)
    assert answer["schema"] == "memfit.measure/1"
    assert answer["batch_size"] == 16
    assert sum(answer["by_kind"].values()) == answer["peak_bytes"] == sum(row["bytes"] for row in answer["by_layer"])
    assert answer["requested_bytes"] <= answer["peak_bytes"]
    assert answer["step_seconds"] > 0
    assert set(answer["timeline"][0]) == {"time", "live", "op", "layer", "delta"}


@pytest.mark.real
def test_a_page_needs_no_network_and_the_table_ends_with_a_next_step(memfit, builder, tmp_path):
    finished = memfit("measure", builder(DENSE + "return model"), "--html", "page.html")
    assert finished.returncode == 0
    assert finished.stdout.rstrip().splitlines()[-1] == "next: open page.html in a browser"
    page = (tmp_path / "page.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page
    assert "http" not in page
    assert "<script" not in page


@pytest.mark.real
def test_saved_models_are_loaded_in_safe_mode(memfit, tmp_path):
    make = (
        "import keras\n"
        "for name, inner in ('plain', keras.layers.Dense(4)), ('code', keras.layers.Lambda(lambda x: x * 2)):\n"
        "    model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4), inner])\n"
        "    model.compile('adam', 'mse')\n"
        "    model.save(name + '.keras')\n"
    )
    subprocess.run([sys.executable, "-c", make], cwd=tmp_path, check=True, capture_output=True)
    assert memfit("measure", "plain.keras").returncode == 0
    refused = memfit("measure", "code.keras")
    assert refused.returncode == 1
    assert "--unsafe-deserialization" in refused.stderr
    assert memfit("measure", "code.keras", "--unsafe-deserialization").returncode == 0
    (tmp_path / "corrupt.keras").write_bytes((tmp_path / "plain.keras").read_bytes()[:200])
    corrupt = memfit("measure", "corrupt.keras")
    assert corrupt.returncode == 1
    assert "corrupt.keras cannot be loaded" in corrupt.stderr
    assert corrupt.stderr.count("\n") == 1


@pytest.mark.real
def test_the_demo_tells_its_story(memfit):
    finished = memfit("demo")
    assert finished.returncode == 0
    assert "held at the peak, by layer" in finished.stdout
    assert "outlines" in finished.stdout
    assert "out of memory under a budget" in finished.stderr
    assert finished.stdout.rstrip().splitlines()[-1].startswith("next: ")


@pytest.mark.real
def test_the_doctor_examines_this_machine(memfit):
    finished = memfit("doctor", "--format", "json")
    assert finished.returncode == 0
    answer = json.loads(finished.stdout)
    assert answer["schema"] == "memfit.doctor/1"
    assert answer["engine"]["version"].startswith("TensorFlow 2.")
    assert answer["host"]["limit"] > 0
    shown = memfit("doctor").stdout
    assert all(word in shown for word in ("host memory", "cgroup", "rlimit", "memory growth", "allocator", "CPU:0"))


@pytest.mark.real
def test_colour_is_asked_for_or_not_there(memfit, builder):
    target = builder(DENSE + "return model")
    assert "\x1b[" in memfit("measure", target, "--color", "always").stdout
    assert "\x1b[" not in memfit("measure", target).stdout


@pytest.mark.real
def test_the_stack_trace_is_shown_on_demand(memfit, builder):
    finished = memfit("measure", builder("raise ValueError('the data is gone')"), "--debug")
    assert finished.returncode == 1
    assert "Traceback" in finished.stderr
    assert 'model.py", line 6, in build' in finished.stderr
