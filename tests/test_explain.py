"""Every message of the corpus is explained right in every field, however it was mangled on its way."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import memfit
from memfit.diagnosis.run import explain

CORPUS = Path(__file__).with_name("corpus")
LOGS = sorted([*(CORPUS / "logs").glob("*.log"), *(CORPUS / "composed").glob("*.log")])
CAUSES = {
    "batch_too_large", "dataset_in_one_tensor", "model_too_large", "activation_too_large", "embedding_too_large",
    "leak", "fragmentation", "device_shared", "host_memory", "optimizer_state", "wide_dtype", "evaluation_batch",
    "unknown",
}  # fmt: skip


def fields(diagnosis):
    source = None if diagnosis.source is None else [diagnosis.source.file, diagnosis.source.line]
    return diagnosis.to_dict() | {"source": source}


def truth(log):
    return json.loads(log.with_suffix(".json").read_text())


def test_the_corpus_has_every_cause_and_enough_real_messages():
    assert {truth(log)["cause"] for log in LOGS} == CAUSES
    assert len(list((CORPUS / "logs").glob("*.log"))) >= 30


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_every_field_is_right(log):
    expected = truth(log)
    found = fields(explain(log))
    assert {name: found[name] for name in expected} == expected


def colours(text):
    return "\n".join(f"\x1b[1m\x1b[31m{line}\x1b[0m" for line in text.split("\n"))


def windows(text):
    return text.replace("\n", "\r\n")


def interleaved(text):
    """Another worker prints between the lines, but for those of a stack trace and of the allocator's figures."""
    noise = "I0000 worker 7: heartbeat 1.5 s, queue 12\n"
    return "".join(line + noise * line.startswith(("I0000 00", "W0000 00", "Epoch")) for line in text.splitlines(True))


@pytest.mark.parametrize("mangle", [colours, windows, interleaved])
def test_mangled_logs_tell_the_same(mangle):
    for log in LOGS:
        expected = truth(log)
        found = fields(explain(mangle(log.read_text())))
        assert {name: found[name] for name in expected} == expected, log.stem


def test_a_log_from_powershell_is_utf_16(tmp_path):
    log = CORPUS / "logs" / "batch_forward.log"
    (tmp_path / "log.txt").write_bytes(log.read_text().encode("utf-16"))
    assert explain(tmp_path / "log.txt").shape == (512, 64, 64, 32)


def test_a_cut_log_gives_what_is_there_and_says_what_is_missing():
    text = (CORPUS / "logs" / "batch_forward.log").read_text()
    tail = explain("\n".join(text.splitlines()[-6:]))
    assert tail.shape == (512, 64, 64, 32)
    assert tail.in_use is None
    assert "the line of your program" in tail.missing
    assert any("TF_CPP_MIN_LOG_LEVEL" in text for text in tail.missing)
    head = explain(text[: text.index("Summary of in-use")])
    assert (head.bytes, head.op) == (256 * 2**20, "sequential_1/edges_1/Relu")
    assert head.shape is None
    assert "the tensor's shape" in head.missing


def test_at_most_four_fixes_each_with_lines_that_compile():
    for log in LOGS:
        diagnosis = explain(log)
        assert len(diagnosis.fixes) <= 4
        for fix in diagnosis.fixes:
            assert fix.exactness in ("exact", "numeric", "model")
            compile(fix.code, fix.remedy, "exec")
        if diagnosis.cause != "unknown":
            assert diagnosis.fixes, log.stem
            assert diagnosis.evidence


def test_the_lines_are_written_for_the_users_own_call():
    fixes = {fix.remedy: fix for fix in explain(CORPUS / "logs" / "batch_forward.log").fixes}
    assert 'memfit.fit(model, x, y, batch_size=512, epochs=2, budget="200MiB")' in fixes["micro_batches"].code
    assert fixes["micro_batches"].exactness == "exact"
    assert fixes["smaller_batch"].code == "model.fit(x, y, batch_size=256, epochs=2)"
    evaluation = explain(CORPUS / "logs" / "evaluate_batch.log").fixes[0]
    assert evaluation.code == "model.evaluate(x, y, batch_size=32)"
    validation = explain(CORPUS / "logs" / "validation_batch.log").fixes[0]
    assert "validation_batch_size=32" in validation.code


def test_the_tensor_is_checked_against_what_the_allocator_was_asked_for():
    text = (CORPUS / "logs" / "batch_forward.log").read_text()
    assert "which is what the allocator was asked for" in str(explain(text))
    other = text.replace("(rounded to 268435456)", "(rounded to 999424)")
    assert "the allocator's last dump is about another request, of 976 KiB" in str(explain(other))


def test_a_text_without_any_memory_error_is_unknown_and_says_what_it_is():
    diagnosis = explain(CORPUS / "logs" / "not_memory.log")
    assert diagnosis.cause == "unknown"
    assert "ValueError: Exception encountered when calling Sequential.call()." in diagnosis.evidence[0]
    assert diagnosis.fixes == []
    assert explain("").cause == "unknown"
    with pytest.raises(memfit.BadInput, match=r"there is no file 'missing\.log'"):
        explain("missing.log")


def test_a_huge_log_is_read_in_bounded_memory(tmp_path):
    failure = (CORPUS / "logs" / "batch_forward.log").read_bytes()
    noise = b"step 17: loss 0.25, all is well\n" * 2**15
    with (tmp_path / "log").open("wb") as log:
        for part in [noise] * 40 + [failure] + [noise] * 20:
            log.write(part)
    start = time.perf_counter()
    assert explain(tmp_path / "log").shape == (512, 64, 64, 32)
    assert time.perf_counter() - start < 10


def test_the_command_reads_a_file_or_standard_input(memfit):
    log = CORPUS / "logs" / "evaluate_batch.log"
    from_file = memfit("explain", log)
    assert from_file.returncode == 0
    assert from_file.stdout.startswith("evaluation_batch: the batch is too large in evaluation (almost certain)\n")
    assert from_file.stdout.rstrip().splitlines()[-1].startswith("next: ")
    piped = memfit("explain", "--format", "json", input=log.read_text())
    answer = json.loads(piped.stdout)
    assert answer["schema"] == "memfit.explain/1"
    assert answer["cause"] == "evaluation_batch"
    assert answer["fixes"][0]["remedy"] == "smaller_evaluation_batch"
    assert memfit("explain", input="").returncode == 0
    missing = memfit("explain", "missing.log")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert missing.stderr == "memfit: cannot read 'missing.log': No such file or directory\n"


def test_numpys_own_error_is_explained_where_it_was_caught():
    import numpy as np

    try:
        np.zeros((2**22, 2**22, 8))
    except MemoryError as error:
        diagnosis = memfit.explain(error)
    assert (diagnosis.cause, diagnosis.dtype) == ("host_memory", "float64")
    assert diagnosis.source.file == __file__
    assert "np.zeros" in diagnosis.source.code


@pytest.mark.real
def test_a_caught_exception_tells_the_layer_the_batch_and_the_savings(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import json, sys\n"
        "import keras, numpy as np\n"
        "import memfit\n"
        "from memfit.diagnosis.run import explained\n"
        "layers = keras.layers\n"
        "answers = {}\n"
        "def model_of(width):\n"
        "    convolution = layers.Conv2D(width, 3, padding='same', name='edges')\n"
        "    model = keras.Sequential([keras.Input((32, 32, 3)), convolution, layers.Flatten(), layers.Dense(1)])\n"
        "    model.compile('adam', 'mse')\n"
        "    return model\n"
        "model = model_of(32)\n"
        "x, y = np.zeros((2048, 32, 32, 3), 'float32'), np.zeros((2048, 1), 'float32')\n"
        "try:\n"
        "    model.fit(x, y, batch_size=1024)\n"
        "except Exception as error:\n"
        "    answers['fit'] = memfit.explain(error, model=model).to_dict()\n"
        "    answers['noted'] = explained(error).__notes__[-1]\n"
        "try:\n"
        "    model(x)\n"
        "except Exception as error:\n"
        "    answers['call'] = memfit.explain(error).to_dict()\n"
        "try:\n"
        "    layers.Dense(9000, name='huge').build((None, 9000))\n"
        "except Exception as error:\n"
        "    answers['build'] = memfit.explain(error).to_dict()\n"
        "json.dump(answers, sys.stdout)\n"
    )
    from os import environ

    from memfit import engines

    limited = environ | engines.current().environment(110 * 2**20) | {"TF_ENABLE_ONEDNN_OPTS": "0"}
    finished = subprocess.run([sys.executable, program], capture_output=True, text=True, env=limited, check=False)
    answers = json.loads(finished.stdout[finished.stdout.index('{"fit"') :])
    fit, call, build = answers["fit"], answers["call"], answers["build"]
    assert (fit["cause"], fit["layer"], fit["shape"][0]) == ("batch_too_large", "edges", 1024)
    assert fit["source"]["line"] == 15
    assert fit["fixes"][0]["remedy"] == "micro_batches"
    assert fit["fixes"][0]["saves"] > 60 * 2**20
    assert "batch_too_large" in answers["noted"]
    assert (call["cause"], call["layer"]) == ("dataset_in_one_tensor", "edges")
    assert "the length of x" in call["evidence"][0]
    assert (build["cause"], build["layer"], build["phase"]) == ("model_too_large", "huge", "building")
