# `make demo` and `make test` are all a fresh clone needs: they set up .venv with the pinned versions first.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable
ENGINE := $(if $(filter Linux-x86_64,$(shell uname -sm | tr ' ' -)),tensorflow-cpu,tensorflow)

.PHONY: demo test test-slow quick check bench-estimate bench-train clean

demo: $(READY)
	$(BIN)/memfit demo

test: $(READY) check
	$(BIN)/python -m pytest -n 2 -m "not slow"

quick: $(READY) check
	$(BIN)/python -m pytest -m "not real"

test-slow: $(READY)
	$(INSTALL) ".[slow]"
	$(BIN)/python -m pytest -m slow

bench-estimate: $(READY)
	$(INSTALL) ".[bench]"
	$(BIN)/python -m benchmarks.estimate --output docs/estimate-benchmark.md

bench-train: $(READY)
	$(BIN)/python -m benchmarks.train --output docs/train-benchmark.md

check: $(READY)
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) ".[$(ENGINE),dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache
