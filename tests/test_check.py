"""`memfit check` on real scripts: those that die under a budget, those that train to their end, and the odd ones."""

import json
import os

import pytest

from corpus.regenerate import FITS, RUNS, SCRIPTS

pytestmark = pytest.mark.real

# what stands in the way of scripts of the corpus, whose logs show that they die under these limits
DIES = {
    "activation_attention": "activation_too_large",
    "activation_volume": "activation_too_large",
    "batch_backward": "batch_too_large",
    "batch_custom_loop": "batch_too_large",
    "batch_eager": "batch_too_large",
    "batch_forward": "batch_too_large",
    "batch_xla": "batch_too_large",
    "dataset_constant": "dataset_in_one_tensor",
    "dataset_fit": "dataset_in_one_tensor",
    "dataset_slices": "dataset_in_one_tensor",
    "double_model": "wide_dtype",
    "embedding_gradient": "embedding_too_large",
    "model_gradient": "optimizer_state",
    "validation_batch": "evaluation_batch",
}
MODEL = "model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])\nmodel.compile('adam', 'mse')\n"
FIT = f"import keras, numpy as np\n{MODEL}model.fit(np.zeros((64, 8), 'float32'), np.zeros((64, 4), 'float32'))\n"


def checked(memfit, script, limit, *options):
    finished = memfit("check", "--budget", f"{limit}MiB", "--format", "json", *options, SCRIPTS / f"{script}.py")
    answer = json.loads(finished.stdout)
    assert answer["schema"] == "memfit.check/1"
    assert finished.returncode == (0 if answer["fits"] else 3)
    return answer


@pytest.mark.parametrize("name", DIES)
def test_a_script_that_dies_is_found_out_with_its_cause_and_a_plan(memfit, name):
    limit = RUNS[name].limit
    answer = checked(memfit, name, limit)
    assert answer["fits"] is False
    assert answer["causes"][0] == DIES[name]
    assert answer["budget_bytes"] == limit * 2**20
    lines = (SCRIPTS / f"{name}.py").read_text().splitlines()
    called = lines[answer["fit_call"]["line"] - 1]
    assert any(word in called for word in (".fit(", "tf.constant(", "train_step("))
    assert answer["plan"]["steps"]
    if DIES[name] in ("batch_too_large", "dataset_in_one_tensor", "evaluation_batch"):
        assert answer["plan"]["fits"]
        assert {step["exactness"] for step in answer["plan"]["steps"]} == {"exact"}
    if DIES[name] == "batch_too_large":
        assert answer["plan"]["micro_batches"] >= 2
        assert 0 < answer["plan"]["largest_batch"] < answer["fit_call"]["batch_size"]


@pytest.mark.parametrize("name", FITS)
def test_a_script_that_trains_to_its_end_fits(memfit, name):
    answer = checked(memfit, name, FITS[name])
    assert answer["fits"] is True
    assert answer["causes"] == []
    assert answer["estimate"]["peak_bytes"] <= answer["estimate"]["upper_bytes"]


def test_what_the_data_costs_is_said(memfit, tmp_path):
    (tmp_path / "train.py").write_text(
        "import keras, numpy as np, tensorflow as tf\n"
        f"{MODEL}"
        "x, y = np.zeros((2**19, 8)), np.zeros((2**19, 4), 'float32')\n"
        "data = tf.data.Dataset.from_tensor_slices((x, y))\n"
        "assert len(data) == 2**19 and next(iter(data))[0].shape == (8,)\n"
        "data = data.map(lambda a, b: (tf.cast(a, tf.float32), b)).shuffle(1000).batch(64).prefetch(2)\n"
        "model.fit(data)\n"
        "model.fit(x, y, batch_size=128, validation_split=0.25)\n"
        "class Pieces(keras.utils.PyDataset):\n"
        "    def __len__(self): return 4\n"
        "    def __getitem__(self, index): return x[:16].astype('float32'), y[:16]\n"
        "history = model.fit(Pieces(), epochs=3)\n"
        "assert len(history.history['loss']) == 3\n"
        "model.fit(iter([(x[:16], y[:16])]))\n"
        "model.evaluate(x, y, batch_size=2**19)\n"
        "open('ran', 'w').write('to its end')\n"
    )
    finished = memfit("check", "--all", "--budget", "2GiB", "--format", "json", "train.py")
    answer = json.loads(finished.stdout)
    calls = answer["calls"]
    assert [call["fit_call"]["batch_size"] for call in calls] == [64, 128, 16, 16, 2**19]
    assert [call["data"]["copies"] for call in calls] == [2, 1, 0, 0, 1]
    assert [call["data"]["dtype"] for call in calls][:2] == ["float64", "float64"]
    whole = 2**19 * 8 * 8 + 2**19 * 4 * 4
    assert [call["data"]["bytes"] for call in calls] == [whole, whole, 0, 0, whole]
    assert calls[0]["data"]["start_bytes"] == 2 * whole
    assert calls[1]["data"]["held_bytes"] == 2**19 * 12 * 4  # as float32
    assert calls[1]["evaluation"]["batch_size"] == 128
    assert (tmp_path / "ran").read_text() == "to its end"
    assert finished.returncode == 0


def test_a_module_with_arguments_and_standard_input(memfit, tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    (tmp_path / "package" / "train.py").write_text(
        "import argparse, os\nos.environ['SET_FIRST'] = '1'\n"
        "parser = argparse.ArgumentParser()\nparser.add_argument('--batch', type=int, required=True)\n"
        "batch = parser.parse_args().batch\nname = input()\nprint('hello', name)\n"
        f"{FIT}"
    )
    finished = memfit(
        "check", "--budget", "1GiB", "--format", "json", "-m", "package.train", "--batch", "7", input="you\n"
    )
    assert json.loads(finished.stdout)["fit_call"]["file"] == os.path.join("package", "train.py")
    assert "hello you" in finished.stderr
    bare = memfit("check", "--budget", "1GiB", "package/train.py", input="")
    assert bare.returncode == 1
    assert "give it its arguments after its name" in bare.stderr


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_a_fit_in_a_process_of_the_scripts_own_is_found(memfit, tmp_path, context):
    body = "".join(f"    {line}\n" for line in FIT.splitlines())
    (tmp_path / "train.py").write_text(
        f"import multiprocessing\n\n\ndef train():\n{body}\n\nif __name__ == '__main__':\n"
        f"    process = multiprocessing.get_context({context!r}).Process(target=train)\n"
        "    process.start()\n    process.join()\n"
    )
    finished = memfit("check", "--budget", "1GiB", "--format", "json", "train.py")
    assert json.loads(finished.stdout)["fits"] is True


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("print('nothing to train')", "train.py ended without calling fit"),
        ("import sys; sys.exit(4)", "train.py ended with exit code 4 without calling fit"),
        ("raise KeyError('data')", "the script failed before its training: KeyError: 'data' (train.py, line 1)"),
        ("print(input())", "EOFError: EOF when reading a line (train.py, line 1)"),
        ("import subprocess, sys\nsubprocess.run([sys.executable, 'other.py'])", "check that one instead"),
        (
            "import keras, tensorflow as tf\nv = keras.Variable([1.0])\nadam = keras.optimizers.Adam()\n"
            "for _ in range(10**9):\n    adam.apply([tf.ones(1)], [v])",
            "train.py, line 5, trains without @tf.function",
        ),
        ("import keras\nmodel = keras.Sequential([keras.layers.Dense(1)])\nmodel.fit(1)", "not compiled"),
    ],
)
def test_a_script_that_shows_no_training_is_said_in_one_line(memfit, tmp_path, text, says):
    (tmp_path / "train.py").write_text(text)
    finished = memfit("check", "--budget", "1GiB", "train.py", input="")
    assert finished.returncode == 1
    assert says in finished.stderr.splitlines()[-1]
    assert "Traceback" not in finished.stderr


HIDDEN = """\
import threading, keras, numpy as np, tensorflow as tf
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(4)])
optimizer = keras.optimizers.Adam()


@tf.function
def prepare(x):
    return x * 2


class Trainer:
    @tf.function
    def learn(self, x):
        noise = tf.random.normal([32, 8])
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x + noise) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))


def main():
    try:
        Trainer().learn(prepare(tf.zeros((32, 8))))
    except Exception:
        pass


thread = threading.Thread(target=main)
thread.start()
thread.join()
"""


def test_a_method_a_thread_a_handler_of_everything_and_a_fixed_batch_do_not_hide_a_training(memfit, tmp_path):
    (tmp_path / "train.py").write_text(HIDDEN)
    finished = memfit("check", "--budget", "1GiB", "--format", "json", "train.py")
    answer = json.loads(finished.stdout)
    assert (answer["fits"], answer["fit_call"]["method"], answer["fit_call"]["batch_size"]) == (True, "learn", 32)


def test_the_table_ends_with_what_to_do(memfit):
    finished = memfit("check", "--budget", "200MiB", SCRIPTS / "batch_forward.py")
    assert finished.returncode == 3
    assert ", line 16: fit with batch 512 does not fit in 200 MiB" in finished.stdout.splitlines()[0]
    assert 'memfit.fit(model, x, y, batch_size=512, epochs=2, budget="200MiB")' in finished.stdout
    assert finished.stdout.rstrip().splitlines()[-1].startswith("next: ")
    help_text = memfit("check", "--help").stdout
    assert "really executed" in help_text
