# make demo | test | test-all | check | docs | clean
# PYTHON=python3.12 chooses the interpreter of a new environment, VENV=path its
# place. An environment is installed once; a change of pyproject.toml or
# constraints.txt installs again.

PYTHON ?= $(shell python3.11 --version >/dev/null 2>&1 && echo python3.11 || echo python3)
VENV   ?= .venv
REPORT ?= runs/demo

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --progress-bar off --constraint constraints.txt

.PHONY: demo test test-all check docs clean

demo: $(VENV)/.demo
	$(BIN)/evenhand demo --out $(REPORT)

test: $(VENV)/.dev
	$(BIN)/python -m pytest -m "not slow"

test-all: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# The site of docs/, into site/. The variable silences a notice on the future of
# mkdocs-material; every warning about the pages is an error.
docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "site/index.html is built; its search needs a server: $(BIN)/python -m http.server -d site"

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# torch before the rest: asked for along with others, a build with GPU
# libraries of several GB may be chosen.
$(VENV)/.torch: constraints.txt | $(BIN)/python
	@echo "Installing torch into $(VENV) (some minutes, once) ..."
	$(PIP) torch
	@touch $@

$(VENV)/.demo: pyproject.toml constraints.txt $(VENV)/.torch
	@echo "Installing evenhand with the extras hf, report and data ..."
	$(PIP) --editable '.[hf,report,data]'
	@touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing evenhand with the extra docs ..."
	$(PIP) --editable '.[docs]'
	@touch $@

$(VENV)/.dev: pyproject.toml constraints.txt $(VENV)/.torch
	@echo "Installing evenhand with the extra dev ..."
	$(PIP) --editable '.[dev]'
	@touch $@ $(VENV)/.demo $(VENV)/.docs
