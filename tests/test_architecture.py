"""The house stays as ARCHITECTURE.md draws it."""

import ast
import subprocess
import sys
import time
from pathlib import Path

import memfit

PACKAGE = Path(memfit.__file__).parent

RANKS = [
    {"errors", "sizes"},
    {"footprint"},
    {"show"},
    {"simulation"},
    {"engines"},
    {"device"},
    {"scripts"},
    {"models"},
    {"measurement", "estimation"},
    {"remedies"},
    {"diagnosis"},
    {"checking"},
    {"training"},
    {"running"},
    {"demo"},
    {"cli"},
    {"__init__"},
    {"__main__"},
]
HEAVY = {"tensorflow", "keras", "numpy", "rich", "psutil", "cloudpickle"}


def rank(room):
    return next(index for index, rooms in enumerate(RANKS) if room in rooms)


def room(path):
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(path):
    """The rooms that a file imports, type-checking blocks left out."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memfit":
            parts = node.module.split(".")
            yield from [parts[1]] if len(parts) > 1 else [a.name for a in node.names if (PACKAGE / a.name).exists()]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("memfit."))


def test_imports_go_one_way():
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {imported}"
        for path in PACKAGE.rglob("*.py")
        for imported in imports(path)
        if rank(imported) > rank(room(path))
    ]
    assert wrong == []


def test_engines_are_imported_in_their_own_place_only():
    wrong = [
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if "import tensorflow" in path.read_text() and "engines" not in path.parts
    ]
    assert wrong == []


def test_the_public_names_are_these():
    assert sorted(memfit.__all__) == [
        "BadInput",
        "CannotEnforce",
        "ChildFailed",
        "Diagnosis",
        "DoesNotFit",
        "Estimate",
        "Failure",
        "Fix",
        "Measurement",
        "MemfitError",
        "RunRecord",
        "UsageError",
        "estimate",
        "explain",
        "fit",
        "guard",
        "measure",
        "microbatch",
    ]
    assert all(getattr(memfit, name).__name__ == name for name in memfit.__all__)


def test_importing_memfit_imports_nothing_heavy():
    code = f"import sys, memfit, memfit.cli; print(sorted(set(sys.modules) & {HEAVY!r}))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_answers_at_once():
    def seconds():
        start = time.perf_counter()
        subprocess.run([sys.executable, "-m", "memfit", "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(5)) < 0.3
