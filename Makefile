# The two commands are `make demo` and `make test`; both set up .venv first, from a machine with Python, git and make.
# The demo installs only the library and what it uses; the tests install everything, which serves the demo as well.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
DEMO_READY := .venv/.demo-ready
INSTALL := $(BIN)/pip install --quiet -c constraints.txt 'torch==2.13.0'
PINS := pyproject.toml bench/pyproject.toml constraints.txt

# Compiled modules are kept, whatever the environment says: the tests start hundreds of processes that import the library.
export PYTHONDONTWRITEBYTECODE :=

CASES ?= 100000
FAULTS ?= 300
MINUTES ?= 30

.PHONY: demo test lint types tests fuzz faults soak docs site dist bench-core clean help

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(DEMO_READY)  ## train on digits and see refusals: a table, and slova-demo.html
	$(BIN)/slova demo

test: lint  ## lint, types and the tests of both distributions
	@$(MAKE) --no-print-directory -j 2 types tests  # beside each other: tests wait, for servers and for browsers

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -q tests bench/tests

fuzz: $(READY)  ## CASES mutated files and requests (100,000 in about ten minutes); a small part is in the tests
	OMP_NUM_THREADS=1 SLOVA_FUZZ_CASES=$(CASES) $(BIN)/pytest -n 2 -q --timeout 0 tests/fuzz

faults: $(READY)  ## every writer killed at FAULTS points, on a full disk, and beside another; a few are in the tests
	SLOVA_FAULTS=$(FAULTS) $(BIN)/pytest -n 2 -q --timeout 0 tests/faults

soak: $(READY)  ## slova serve for MINUTES beside a plain endpoint: errors, p99 and memory
	$(BIN)/python benchmarks/soak.py --minutes $(MINUTES)

docs: $(READY)  ## run the tutorials, write generated pages and pictures anew, and build the site
	$(BIN)/python docs/make_measurements.py
	$(BIN)/python docs/make_paper.py
	$(BIN)/python docs/make_tables.py
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/run_tutorials.py
	$(BIN)/python docs/make_readme.py
	mkdir -p slova-demo
	$(BIN)/slova bench report --results bench/results --docs docs --cards bench/models/cards -o slova-demo/results.html
	$(MAKE) site

site: $(READY)  ## build the site from the committed pages into site/; a broken link is an error
	$(BIN)/mkdocs build --strict --quiet

dist: $(READY)  ## the wheels of both distributions, in dist/
	$(BIN)/pip wheel --quiet --no-deps --no-build-isolation -w dist . ./bench

bench-core: $(READY)  ## ratios of speed, measured side by side
	$(BIN)/python benchmarks/core.py

$(READY): $(PINS)
	$(PYTHON) -m venv .venv
	$(INSTALL) --no-compile -e '.[dev]' -e ./bench  # of 24,000 files a tenth is ever imported
	touch $(DEMO_READY) $@

$(DEMO_READY): $(PINS)
	$(PYTHON) -m venv .venv
	$(INSTALL) -e '.[torch,sklearn]'
	touch $@

clean:  ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
