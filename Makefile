# The commands of the project. `make` alone prints them; each sets up .venv by itself when it is missing or stale.

SCALE   ?= quick
DATA    ?= data
RESULTS ?= results
JOBS    ?= $(shell nproc 2>/dev/null || sysctl -n hw.ncpu 2>/dev/null || echo 1)
DATASETS ?=
PYTHON3 ?= python3
PYTHON  := .venv/bin/python
READY   := .venv/.ready

RUN = $(PYTHON) -m benchmark run --scale $(SCALE) --data $(DATA) --results $(RESULTS) --jobs $(JOBS) \
      $(if $(DATASETS),--datasets $(DATASETS))
PLOT = $(PYTHON) -m plots --scale $(SCALE) --results $(RESULTS) --data $(DATA)

.DEFAULT_GOAL := help
.PHONY: help setup test tables figures report bench verify lint clean

help:  ## this list
	@echo "usage: make TARGET [SCALE=quick|laptop|photos|paper] [DATA=folder] [JOBS=n] [DATASETS=a,b]"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## install everything into .venv (done by the other targets when it is needed)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON3) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "error: Python 3.11 or newer is needed, $(PYTHON3) is older; try: make PYTHON3=python3.12"; exit 2; }
	@echo "Setting up .venv: a few minutes, some gigabytes (PyTorch)."
	$(PYTHON3) -m venv .venv
	$(PYTHON) -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dask,dev]'
	@touch $@

tables: $(READY)  ## tune, train and print every table that is not there yet
	$(RUN) $$($(PYTHON) -m plots needs tables)
	$(PLOT) tables

figures: $(READY)  ## the same for the figures
	$(RUN) $$($(PYTHON) -m plots needs figures)
	$(PYTHON) -m benchmark synthetic --data $(DATA) --results $(RESULTS)
	$(PLOT) figures

report: $(READY)  ## one page with everything: results/report/index.html
	$(PYTHON) -m benchmark report --scale $(SCALE) --results $(RESULTS) --data $(DATA)

test: $(READY)  ## run the tests
	$(PYTHON) -m pytest

lint: $(READY)  ## check style, types and the direction of imports
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo

bench: $(READY)  ## measure speed, as ratios side by side in one run
	$(PYTHON) -m benchmark.bench

verify: $(READY)  ## run a sample of the reference results again and compare
	$(PYTHON) -m benchmark verify results/reference --data $(DATA)

clean:  ## delete what was made here: .venv, caches, results (not results/reference, results/published)
	rm -rf .venv .import_linter_cache .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find results -mindepth 1 -maxdepth 1 ! -name reference ! -name published -exec rm -rf {} +
