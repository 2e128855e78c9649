"""A script that memfit runs cannot tell that it is not Python that runs it."""

import subprocess
import sys

import pytest

from memfit.errors import BadInput, UsageError
from memfit.scripts import Script

TELL = """\
import sys
print(__name__, __package__, __spec__ and __spec__.name, __file__, sys.argv, sys.path[0])
"""
RUNNER = """\
import sys
from memfit.scripts import Script, exit_code, print_error
try:
    Script.from_command(sys.argv[1:]).run()
except SystemExit as ended:
    sys.exit(exit_code(ended))
except BaseException as error:
    print_error(error)
    sys.exit(1)
"""


@pytest.fixture
def both(tmp_path):
    """What Python and what memfit make of the same command, in a folder with the given files."""
    (tmp_path / "runner").mkdir()
    (tmp_path / "runner" / "runner.py").write_text(RUNNER)

    def run(files, *words, stdin=""):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, encoding="utf-8")
        options = {"cwd": tmp_path, "capture_output": True, "text": True, "check": False, "input": stdin}
        plain = subprocess.run([sys.executable, *words], **options)
        ours = subprocess.run([sys.executable, "runner/runner.py", *words], **options)
        return plain, ours

    return run


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"train.py": TELL}, ["train.py", "--epochs", "3"]),
        ({"inner/train.py": "import beside\n" + TELL, "inner/beside.py": ""}, ["inner/train.py"]),
        ({"package/__init__.py": "", "package/train.py": "from . import other\n" + TELL, "package/other.py": ""},
         ["-m", "package.train", "-m", "x"]),
        ({"package/__init__.py": "", "package/__main__.py": TELL}, ["-m", "package"]),
        ({"train.py": "import sys; sys.exit(7)"}, ["train.py"]),
        ({"train.py": "raise SystemExit('no data')"}, ["train.py"]),
        ({"train.py": "import sys; sys.exit(None)"}, ["train.py"]),
        ({"train.py": "def f():\n    raise ValueError('bad')\n\nf()\n"}, ["train.py"]),
        ({"train.py": "a = (\n"}, ["train.py"]),
        ({"train.py": "print(input())"}, ["train.py"]),
        ({"train.py": "import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))))"}, ["train.py"]),
        ({"train.py": "import atexit\natexit.register(lambda: print(__name__))"}, ["train.py"]),
        ({"train.py": "# -*- coding: utf-8 -*-\nprint('Größe')"}, ["train.py"]),
        ({"train.py": "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\nprint(A(1))"}, ["train.py"]),
    ],
)  # fmt: skip
def test_output_and_exit_code_are_those_of_python(both, files, words):
    plain, ours = both(files, *words, stdin="typed\n")
    assert ours.stdout == plain.stdout
    assert ours.returncode == plain.returncode
    assert ours.stderr.splitlines()[-3:] == plain.stderr.splitlines()[-3:]
    assert "runner.py" not in ours.stderr


def test_processes_that_the_script_spawns_find_its_functions(both):
    text = (
        "import multiprocessing\n\n\ndef double(x):\n    return 2 * x\n\n\nif __name__ == '__main__':\n"
        "    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(double, [1, 2]))\n"
    )
    _, ours = both({"train.py": text}, "train.py")
    assert ours.stdout == "[2, 4]\n"


def test_what_cannot_be_run_is_said(tmp_path):
    with pytest.raises(UsageError, match="name the script"):
        Script.from_command(["-m"])
    with pytest.raises(BadInput, match="does not exist"):
        Script("missing.py").check()
    with pytest.raises(BadInput, match="is a folder"):
        Script(str(tmp_path)).check()
