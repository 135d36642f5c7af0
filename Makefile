# The two commands are `make demo` and `make test`; both set up .venv first, from a machine with Python, git and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

.PHONY: demo test lint types tests docs bench-core clean help

help:  ## what can be made
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/'

demo: $(READY)  ## the comparison on embedded data: a table and a page
	$(BIN)/slova demo

test: lint types tests  ## lint, types and tests

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

tests: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 -q

docs: $(READY)  ## write docs/api.md, docs/results.md, the table in README.md and the pictures anew
	$(BIN)/python docs/make_api.py
	$(BIN)/python docs/make_pictures.py
	$(BIN)/python docs/make_readme.py
	$(BIN)/slova report --docs docs --cards models/cards -o slova-demo/results.html

bench-core: $(READY)  ## ratios of speed, measured side by side
	$(BIN)/python benchmarks/core.py

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet -c constraints.txt 'torch==2.13.0' -e '.[dev]'
	touch $@

clean:  ## remove the environment and caches
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
