# Two commands do all the set-up: `make demo` and `make test`. Each makes its own virtual environment.

PYTHON ?= python3
DEMO = .venv-demo
TEST = .venv
BENCH = .venv-bench
FIGURES = build/bench
BUILT_FROM = pyproject.toml setup.py $(wildcard scrapy_simdedup/*/*.pyx)

ifeq ($(OS),Windows_NT)
BIN = Scripts
else
BIN = bin
endif

.PHONY: demo test lint types imports tests docs bench clean

demo: $(DEMO)/ready
	cd example_project && ../$(DEMO)/$(BIN)/python run.py

test: lint types imports docs tests

lint: $(TEST)/ready
	$(TEST)/$(BIN)/ruff check .
	$(TEST)/$(BIN)/ruff format --check .

types: $(TEST)/ready
	$(TEST)/$(BIN)/mypy

imports: $(TEST)/ready
	$(TEST)/$(BIN)/lint-imports

tests: $(TEST)/ready
	$(TEST)/$(BIN)/coverage erase
	$(TEST)/$(BIN)/coverage run -m pytest
	$(TEST)/$(BIN)/coverage report

docs: $(TEST)/ready
	$(TEST)/$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env docs build/docs

# Ten minutes; see benchmarks/README.md.
bench: $(BENCH)/ready
	$(BENCH)/$(BIN)/python benchmarks/stages.py --json $(FIGURES)/stages.json
	$(BENCH)/$(BIN)/python benchmarks/crawl.py --json $(FIGURES)/crawl.json
	$(BENCH)/$(BIN)/python benchmarks/scale.py --json $(FIGURES)/scale.json
	$(BENCH)/$(BIN)/python benchmarks/accuracy.py --json $(FIGURES)/accuracy.json

$(DEMO)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(TEST)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(TEST)
	$(TEST)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

$(BENCH)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) $(BENCH) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .coverage .coverage.* build dist
	rm -f scrapy_simdedup/*/*.so scrapy_simdedup/*/*.pyd
