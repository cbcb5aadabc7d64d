# Each target installs what it needs in the virtual environment .venv, and again after a change of pyproject.toml.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

# the compilation cache of quickstart, tests and benchmarks is in the work tree
export JAX_COMPILATION_CACHE_DIR := $(CURDIR)/.jax_cache
export JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS := 0
# Python's bytecode cache is always on; without it, each process compiles all imported modules
export PYTHONDONTWRITEBYTECODE :=
# uv and matplotlib use their shared caches, unless these are not writable
writable = $(shell folder="$(1)"; while ! test -e "$$folder"; do folder="$$(dirname "$$folder")"; done; \
	test -d "$$folder" && test -w "$$folder" && test -x "$$folder" && echo yes)
ifneq ($(call writable,$${UV_CACHE_DIR:-$${XDG_CACHE_HOME:-$$HOME/.cache}/uv}),yes)
export UV_CACHE_DIR := $(CURDIR)/.cache/uv
endif
ifneq ($(call writable,$${MPLCONFIGDIR:-$${XDG_CONFIG_HOME:-$$HOME/.config}/matplotlib}),yes)
export MPLCONFIGDIR := $(CURDIR)/.cache/matplotlib
endif

.PHONY: help quickstart test test-all drills test-lowest test-newest test-newest-3.11 test-newest-3.12 test-newest-3.13 lint format bench papers mutants notebooks docs clean

help:
	@echo "make quickstart   a Monte Carlo regret study on real data: table and figure in results/quickstart/"
	@echo "make test         the tests (JAXONLINE_DATA may name a folder of real data sets)"
	@echo "make test-all     the tests, the long ones, and the examples of all docstrings"
	@echo "make drills       kills, full disks, damage, failing workers, large sizes; prints the counts of each drill"
	@echo "make test-lowest  the tests with the lowest allowed versions (test-newest: the newest, on each Python)"
	@echo "make lint         ruff, codespell, pyright; words to avoid are advice"
	@echo "make bench        benchmarks beside the alternatives"
	@echo "make papers       verify all claims of five papers, and reproduce all their studies in small sizes"
	@echo "make mutants      the share of planted errors that the tests detect (number=300 seed=0 options=--long)"
	@echo "make notebooks    run the notebooks and store their outputs"
	@echo "make docs         the documentation site, in build/site/: open index.html"

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	$(BIN)/python -m pip install --quiet uv

# uv installs in a third of pip's time
INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --editable

$(VENV)/.run: pyproject.toml | $(BIN)/uv
	$(INSTALL) .
	@touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[test]'
	@touch $@ $(VENV)/.run

$(VENV)/.test-all: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[test-all]'
	@touch $@ $(VENV)/.run $(VENV)/.test $(VENV)/.mutants $(VENV)/.docs

$(VENV)/.mutants: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[test,mutants]'
	@touch $@ $(VENV)/.run $(VENV)/.test

$(VENV)/.lint: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[lint]'
	@touch $@ $(VENV)/.run

$(VENV)/.docs: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[docs]'
	@touch $@ $(VENV)/.run

$(VENV)/.dev: pyproject.toml | $(BIN)/uv
	$(INSTALL) '.[dev]'
	@touch $@ $(VENV)/.run $(VENV)/.test $(VENV)/.test-all $(VENV)/.mutants $(VENV)/.lint $(VENV)/.docs

quickstart: $(VENV)/.run
	$(BIN)/python -m jaxonline quickstart

# worksteal: each worker starts with half of the modules, and an idle worker takes tests from the other
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal

# without most optimisations of the compiler, which take a tenth of the time; `make test-all` compiles as users do
test: $(VENV)/.test
	JAX_DISABLE_MOST_OPTIMIZATIONS=1 $(PYTEST) -m "not long and not examples"

test-all: $(VENV)/.test-all
	$(PYTEST)

# -rP prints the output of the drills that pass
drills: $(VENV)/.test-all
	$(PYTEST) -rP --show-capture=stdout tests/drills tests/study/files/test_bad_study_files.py \
		tests/datasets/test_data_tables.py

# the short tests in separate environments, with the lowest and the newest allowed versions, the newest on each Python
# that is installed; the lowest versions raise deprecation warnings about each other
.venv-%/.test: pyproject.toml
	$(PYTHON) -c 'import sys; wanted, own = "$*".partition("-")[2], "%d.%d" % sys.version_info[:2]; \
		sys.exit(f"PYTHON must be Python {wanted} (got {own})" if wanted not in ("", own) else None)'
	$(PYTHON) -m venv --clear .venv-$*
	.venv-$*/bin/python -m pip install --quiet uv
	.venv-$*/bin/uv pip install --quiet --python .venv-$*/bin/python --editable '.[test]' \
		--resolution $(if $(filter lowest,$*),lowest-direct,highest)
	@touch $@

test-lowest test-newest-3.11 test-newest-3.12 test-newest-3.13: test-%: .venv-%/.test
	JAX_COMPILATION_CACHE_DIR="$$JAX_COMPILATION_CACHE_DIR/$*" .venv-$*/bin/python -m pytest -n 2 --dist worksteal \
		$(if $(filter lowest,$*),-W ignore::DeprecationWarning) -m "not long and not examples"

# an interpreter is on the PATH or among the versions of pyenv, whose command on the PATH may not start
test-newest:
	@found=; for version in 3.11 3.12 3.13; do \
		for python in python$$version "$${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version".*/bin/python; do \
			"$$python" -c '' 2>/dev/null || continue; \
			found=yes; echo "Python $$version: $$python"; \
			$(MAKE) --no-print-directory "test-newest-$$version" PYTHON="$$python" || exit 1; \
			continue 2; \
		done; \
		echo "Python $$version is not installed"; \
	done; test -n "$$found"

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	-$(BIN)/codespell --dictionary docs/words/advice.txt
	$(BIN)/python -m pyright

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# check the golden numbers first, because a faster program with other numbers is not valid
bench: $(VENV)/.dev
	$(PYTEST) tests/simulation/test_golden.py
	$(BIN)/python -m benchmarks

papers: $(VENV)/.run
	$(BIN)/python -m benchmarks.papers verify
	$(BIN)/python -m benchmarks.papers reproduce all --quick

number ?= 300
seed ?= 0
mutants: $(VENV)/.mutants
	$(BIN)/python tests/mutants --number $(number) --seed $(seed) $(options)

notebooks: $(VENV)/.dev
	$(BIN)/python docs/site/run_notebooks.py

docs: $(VENV)/.docs
	$(BIN)/python docs/site

clean:
	rm -rf $(VENV) .venv-lowest .venv-newest* .jax_cache .cache .pytest_cache .ruff_cache build dist
