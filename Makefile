# Every target does its own set-up: on a fresh Debian machine with Python 3.11 and Java 17, `make demo` is enough.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
PYTEST := $(BIN)/python -m pytest
# Files of tests go to two processes: each has a Spark, a server and a browser of its own, so more would need the memory.
WORKERS ?= 2
IN_PARALLEL := -n $(WORKERS) --dist loadfile

.PHONY: setup demo test test-fast test-full faults check bench docs lock clean help

help:            ## what there is
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

setup: $(READY)  ## .venv with the locked dependencies, and a Java that Spark can use
	@$(BIN)/lakebed doctor

$(READY): requirements/dev.txt pyproject.toml scripts/setup
	@scripts/setup $(VENV)
	@touch $@

demo: $(READY)   ## sample deliveries, loaded, merged, traced: the whole tour
	@$(BIN)/lakebed demo

test: $(READY)   ## what CI runs: everything but the tests that take minutes
	@scripts/test-needs
	$(PYTEST) $(IN_PARALLEL) -m "not full"

test-fast: $(READY)  ## pure tests: no Spark, no servers, no browser, no processes that are raced or killed
	$(PYTEST) -m "not full and not spark and not server and not browser and not processes" -q

test-full: $(READY)  ## everything
	@scripts/test-needs
	$(PYTEST) $(IN_PARALLEL)

faults: $(READY)  ## writers killed at every step, into every target; writes what was seen into docs/reliability.md
	@scripts/test-needs
	LAKEBED_WRITE_RELIABILITY=1 $(PYTEST) tests/faults

check: $(READY)  ## ruff, mypy strict, import layers, the public API as mypy and pyright see it
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) -q tests/surface

bench: $(READY)  ## ours and the peers side by side, ratios printed
	@scripts/bench

docs: $(READY)   ## write the generated pages
	$(BIN)/python -m lakebed.cli.reference docs

lock:            ## pin the dependencies
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --extra all --group dev \
	  -c requirements/constraints.txt pyproject.toml -o requirements/dev.txt -q
	uv pip compile --universal --generate-hashes --no-header --no-annotate --python-version 3.11 --extra dbt \
	  -c requirements/constraints.txt pyproject.toml requirements/dbt.in -o requirements/dbt.txt -q

clean:           ## remove what the other targets made
	rm -rf $(VENV) .venv-dbt .mypy_cache .ruff_cache .hypothesis
