# Each target does its own set-up: a virtual environment in .venv, filled again when pyproject.toml changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# the compilation cache of quickstart, tests and benchmarks stays inside the work tree
export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/.jax_cache
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0

.PHONY: help quickstart test test-all lint format bench notebooks clean

help:
	@echo "make quickstart   a Monte Carlo regret study on real data: table and figure in results/quickstart/"
	@echo "make test         the tests (JAXONLINE_DATA names the folder of real data sets, where there is one)"
	@echo "make test-all     the tests, the long ones, and the examples of all docstrings"
	@echo "make lint         ruff and pyright"
	@echo "make bench        benchmarks, side by side with what else a user would pick"
	@echo "make notebooks    run the notebooks"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.run: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.lint: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[lint]'
	@touch $@ $(VENV)/.run

$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.run $(VENV)/.test $(VENV)/.lint

quickstart: $(VENV)/.run
	$(BIN)/jaxonline quickstart

# worksteal: each worker begins with half of the modules, and one that is ready early takes tests from the other
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

test: $(VENV)/.test
	$(PYTEST) -m "not long and not examples"

test-all: $(VENV)/.test
	$(PYTEST)

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.noisy_linear
	$(BIN)/python -m benchmarks.multikernel
	$(BIN)/python -m benchmarks.noisy_kernel

notebooks: $(VENV)/.dev
	$(BIN)/python -m pytest --nbmake notebooks

clean:
	rm -rf $(VENV) .jax_cache .pytest_cache .ruff_cache build dist
