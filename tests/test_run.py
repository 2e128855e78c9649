"""`memfit run`: what a script does, says and ends with is what it would be without memfit."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from conftest import interruptible
from memfit.running.death import died_of_memory
from memfit.running.order import Order

MEMFIT = [sys.executable, "-m", "memfit"]


def memfit_run(folder, source, *options, arguments=(), **kwargs):
    script = folder / "script.py"
    script.write_text(textwrap.dedent(source))
    command = [*MEMFIT, "run", *options, str(script), *arguments]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=300, **kwargs)


def test_a_script_sees_its_arguments_its_input_and_itself_as_main(tmp_path):
    ran = memfit_run(
        tmp_path,
        """
        import pathlib, sys
        print(__name__, sys.argv[1:], sys.stdin.read(), pathlib.Path(__file__).name, "helper" in sys.modules)
        print("aside", file=sys.stderr)
        """,
        arguments=("--budget", "one two"),
        input="typed",
    )
    assert ran.stdout == "__main__ ['--budget', 'one two'] typed script.py False\n"
    assert ran.stderr == "aside\n"
    assert ran.returncode == 0


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("sys.exit(7)", 7, ""),
        ("sys.exit('no data')", 1, "no data\n"),
        ("raise ValueError('wrong')", 1, "ValueError: wrong\n"),
        ("os._exit(9)", 9, ""),
        ("os.kill(os.getpid(), 9)", -9, ""),
        ("os.abort()", -signal.SIGABRT, ""),
    ],
)
def test_a_script_ends_as_it_would(tmp_path, ending, code, said):
    ran = memfit_run(tmp_path, f"import os, sys\n{ending}\n")
    assert ran.returncode == code
    assert ran.stderr.endswith(said)
    assert "memfit" not in ran.stderr


def test_a_module_is_run_as_python_runs_it(tmp_path):
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "__main__.py").write_text("import sys; print(__package__, sys.argv[1:])")
    ran = subprocess.run([*MEMFIT, "run", "-m", "tool", "-v"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.stdout == "tool ['-v']\n"


def test_a_missing_script_is_said_in_one_line(tmp_path):
    ran = subprocess.run([*MEMFIT, "run", "nowhere.py"], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 1
    assert len(ran.stderr.splitlines()) == 1
    assert "nowhere.py" in ran.stderr


WAITING = """
import os, pathlib, signal, time
interrupts = 0
pathlib.Path("pid").write_text(str(os.getpid()))
try:
    time.sleep(60)
except KeyboardInterrupt:
    interrupts += 1
    time.sleep(0.5)
print(interrupts, "interrupt")
"""


def waiting(folder, source=WAITING):
    (folder / "script.py").write_text(source)
    parent = subprocess.Popen(
        [*MEMFIT, "run", "script.py"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=interruptible,
    )
    deadline = time.monotonic() + 30
    while not (folder / "pid").exists() or not (folder / "pid").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return parent, int((folder / "pid").read_text())


def test_an_interrupt_for_the_parent_reaches_the_script_once(tmp_path):
    parent, _ = waiting(tmp_path)
    parent.send_signal(signal.SIGINT)
    out, _ = parent.communicate(timeout=30)
    assert out == "1 interrupt\n"
    assert parent.returncode == 0


def test_termination_is_passed_on(tmp_path):
    parent, child = waiting(tmp_path)
    parent.terminate()
    parent.communicate(timeout=30)
    assert parent.returncode == -signal.SIGTERM
    assert not exists(child)


def test_a_script_does_not_outlive_a_parent_that_is_killed(tmp_path):
    parent, child = waiting(tmp_path)
    parent.kill()
    parent.communicate(timeout=30)
    deadline = time.monotonic() + 10
    while exists(child):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def exists(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def order(folder, budget=2**28):
    return Order(["script.py"], budget, 1, 0, str(folder))


def test_only_a_death_that_the_kernel_counted_is_the_oom_killers(tmp_path):
    assert died_of_memory(-signal.SIGKILL, order(tmp_path), kills=0) is None
    assert died_of_memory(-signal.SIGKILL, order(tmp_path), kills=1).in_training


STACK = """Fatal Python error: Segmentation fault

Current thread 0x1 (most recent call first):
  File "/env/lib/python3.11/site-packages/tensorflow/python/constant_op.py", line 108 in convert_to_eager_tensor
  File "/home/user/train.py", line 12 in load
  File "/home/user/train.py", line 30 in <module>

Thread 0x2 (most recent call first):
  File "/env/lib/python3.11/threading.py", line 320 in fit
"""


def test_a_crash_inside_tensorflow_under_a_budget_is_one_of_memory(tmp_path):
    order(tmp_path).crash.write_text(STACK)
    death = died_of_memory(-signal.SIGSEGV, order(tmp_path), kills=0)
    assert "train.py:12" in death.text
    assert "256 MiB" in death.text
    assert not death.in_training
    assert died_of_memory(-signal.SIGSEGV, order(tmp_path, budget=None), kills=0) is None
    order(tmp_path).crash.write_text(STACK.replace("tensorflow", "scipy"))
    assert died_of_memory(-signal.SIGSEGV, order(tmp_path), kills=0) is None


MODEL = """
import keras, numpy as np
keras.utils.set_random_seed(1)
model = keras.Sequential([
    keras.Input((64, 64, 3)), keras.layers.Conv2D(32, 3, activation="relu"), keras.layers.Conv2D(32, 3),
    keras.layers.GlobalAveragePooling2D(), keras.layers.Dense(4),
])
model.compile(keras.optimizers.SGD(0.1), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
random = np.random.default_rng(0)
x, y = random.random((256, 64, 64, 3), "float32"), random.integers(0, 4, 256)
"""


@pytest.mark.real
def test_a_script_that_would_run_out_trains_to_the_same_weights(tmp_path):
    source = MODEL + "model.fit(x, y, batch_size=128, epochs=1, verbose=0)\nmodel.save_weights('FILE')\n"
    free = memfit_run(tmp_path, source.replace("FILE", "free.weights.h5"))
    tight = memfit_run(
        tmp_path, source.replace("FILE", "tight.weights.h5"), "--budget", "150MiB", "--record", "record.json"
    )
    assert (free.returncode, tight.returncode) == (0, 0), tight.stderr
    (fit,) = json.loads((tmp_path / "record.json").read_text())["fits"]
    assert fit["micro_batches"] > 1
    assert fit["updates"] == 2
    assert fit["samples_seen"] == 256
    assert fit["peak_bytes"] <= 150 * 2**20
    compare = (
        "import h5py, numpy as np\n"
        "def all_of(file):\n"
        "    found = []\n"
        "    h5py.File(file).visititems(lambda _, v: found.append(v[()]) if isinstance(v, h5py.Dataset) else None)\n"
        "    return found\n"
        "pairs = zip(all_of('free.weights.h5'), all_of('tight.weights.h5'), strict=True)\n"
        "print(max(float(np.abs(a - b).max()) for a, b in pairs))"
    )
    ran = subprocess.run([sys.executable, "-c", compare], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert float(ran.stdout) < 1e-4, "in float32, whose rounding differs between processors"


@pytest.mark.real
def test_a_data_set_larger_than_the_budget_stays_in_numpy(tmp_path):
    ran = memfit_run(
        tmp_path,
        """
        import numpy as np, tensorflow as tf, keras
        x, y = np.ones((6000, 10000), "float32"), np.zeros(6000)
        model = keras.Sequential([keras.Input((10000,)), keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(x, y, batch_size=32, verbose=0)
        data = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(10).batch(32)
        model.fit(data, verbose=0)
        model.evaluate(x, y, verbose=0)
        print(model.predict(x, verbose=0).shape, len(data), tf.config.experimental.get_memory_info("CPU:0")["peak"])
        """,
        "--budget",
        "120MiB",
    )
    assert ran.returncode == 0, ran.stderr
    shape, batches, peak = ran.stdout.rsplit(" ", 2)
    assert (shape, batches) == ("(6000, 1)", "188")
    assert int(peak) < 120 * 2**20


@pytest.mark.real
def test_a_script_that_crashes_in_training_is_started_again_with_smaller_steps(tmp_path):
    source = (
        MODEL
        + """
import ctypes, pathlib
first = not pathlib.Path("tried").exists()
pathlib.Path("tried").touch()
crash = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: ctypes.string_at(0) if first else None)
model.fit(x[:64], y[:64], batch_size=32, verbose=0, callbacks=[crash])
print("trained")
"""
    )
    ran = memfit_run(tmp_path, source, "--budget", "2GiB", "--record", "record.json")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "trained\n"
    (line,) = [line for line in ran.stderr.splitlines() if line.startswith("memfit:") and "again" in line]
    assert "try 2 of 5" in line
    (fit,) = json.loads((tmp_path / "record.json").read_text())["fits"]
    assert fit["micro_batches"] == 2


@pytest.mark.real
def test_memory_that_cannot_be_had_is_explained_and_exits_with_3(tmp_path):
    source = (
        MODEL
        + """
import memfit, tensorflow as tf
hungry = keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: tf.zeros((2**20, 2**10)))
try:
    model.fit(x[:64], y[:64], verbose=0, callbacks=[hungry])
except memfit.DoesNotFit as error:
    print(error.memfit.bytes, error.memfit.shape)
    raise
"""
    )
    ran = memfit_run(tmp_path, source, "--budget", "500MiB")
    assert ran.returncode == 3
    assert ran.stdout == f"{2**32} ({2**20}, {2**10})\n"
    told = [line for line in ran.stderr.splitlines() if line.startswith("memfit:")]
    assert "outside of a training step" in told[0]
    assert any("asked for 4.00 GiB" in line for line in told[1:])


@pytest.mark.real
def test_a_sample_that_cannot_fit_stops_before_training_and_says_why(tmp_path):
    ran = memfit_run(
        tmp_path,
        """
        import keras, numpy as np
        stack = [keras.Input((512, 512, 3)), keras.layers.Conv2D(64, 3), keras.layers.Conv2D(64, 3)]
        model = keras.Sequential([*stack, keras.layers.GlobalAveragePooling2D()])
        model.compile("sgd", "mse")
        model.fit(np.zeros((2, 512, 512, 3), "float32"), np.zeros((2, 64)), verbose=0)
        """,
        "--budget",
        "60MiB",
    )
    assert ran.returncode == 3
    told = [line for line in ran.stderr.splitlines() if line.startswith("memfit:")]
    assert "not even one sample fits" in told[0]
    assert "activation_too_large" in told[1]


@pytest.mark.real
def test_a_loop_of_the_users_own_is_told_the_line_to_add(tmp_path):
    ran = memfit_run(
        tmp_path,
        """
        import tensorflow as tf, keras

        weights = tf.Variable(tf.ones((1000, 1000)))

        @tf.function
        def train_step(x, y):
            return tf.reduce_sum(tf.tanh(tf.matmul(x, weights)) - y)

        print(float(train_step(tf.ones((20000, 1000)), tf.ones((20000, 1)))))
        """,
        "--budget",
        "100MiB",
    )
    assert ran.returncode == 1
    assert "ResourceExhaustedError" in ran.stderr
    assert "add `@memfit.microbatch` above `def train_step`" in ran.stderr.splitlines()[-1]
