# Two commands do all the set-up: `make demo` and `make test`. Each makes its own virtual environment.

PYTHON ?= python3
DEMO = .venv-demo
TEST = .venv
BENCH = .venv-bench
MODEL = .venv-model
# The development split of WCXB, for `make model`: a folder or a zip.
WCXB ?= wcxb-dev.zip
FIGURES = build/bench
# Processes of tests: one more than there are processors, as each waits for a third of its time; four at most, as each
# starts the servers that it needs.
WORKERS ?= $(shell $(PYTHON) -c "import os; print(min(os.cpu_count() + 1, 4))")
# `make test COVER=1` measures coverage too, and holds its floor; it takes half as long again.
COVER ?=
# The tests start hundreds of processes: each would compile the package anew where this is set.
export PYTHONDONTWRITEBYTECODE =
BUILT_FROM = pyproject.toml setup.py $(wildcard scrapy_simdedup/*/*.pyx)

ifeq ($(OS),Windows_NT)
BIN = Scripts
else
BIN = bin
endif

.PHONY: demo test quick lint types imports tests quick-tests docs bench model clean

demo: $(DEMO)/ready
	cd example_project && ../$(DEMO)/$(BIN)/python run.py

# While the tests run, the other checks come one after the other.
test: $(TEST)/ready
	$(MAKE) --jobs=2 tests lint types imports docs

# Without servers, browser and whatever takes long: for while you work.
quick: $(TEST)/ready
	$(MAKE) --jobs=2 quick-tests lint types imports

lint: $(TEST)/ready
	$(TEST)/$(BIN)/ruff check .
	$(TEST)/$(BIN)/ruff format --check .

types: $(TEST)/ready
	$(TEST)/$(BIN)/mypy

imports: $(TEST)/ready
	$(TEST)/$(BIN)/lint-imports

tests: $(TEST)/ready
	$(TEST)/$(BIN)/python -m pytest -n $(WORKERS) -m "not alone" $(if $(COVER),--cov --cov-report=term)
	$(TEST)/$(BIN)/python -m pytest -m alone tests/test_cost.py

quick-tests: $(TEST)/ready
	$(TEST)/$(BIN)/python -m pytest -n $(WORKERS) -m "not (redis or postgresql or browser or slow or alone)"

docs: $(TEST)/ready
	$(TEST)/$(BIN)/python -m sphinx --fail-on-warning --keep-going --fresh-env docs build/docs

# Ten minutes; see benchmarks/README.md.
bench: $(BENCH)/ready
	$(BENCH)/$(BIN)/python benchmarks/stages.py --json $(FIGURES)/stages.json
	$(BENCH)/$(BIN)/python benchmarks/crawl.py --json $(FIGURES)/crawl.json
	$(BENCH)/$(BIN)/python benchmarks/scale.py --json $(FIGURES)/scale.json
	$(BENCH)/$(BIN)/python benchmarks/accuracy.py --json $(FIGURES)/accuracy.json

# A few minutes; see benchmarks/train_content.py.
model: $(MODEL)/ready
	PYTHONPATH=tests $(MODEL)/$(BIN)/python benchmarks/train_content.py $(WCXB)

$(DEMO)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# Modules are compiled when they are imported, as most of the ten thousand never are. The tests are collected once, as the
# processes that run them, which begin at one time, would each compile them all.
$(TEST)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(TEST)
	$(TEST)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable ".[dev]"
	-$(TEST)/$(BIN)/python -m pytest --collect-only -q >$(TEST)/collected
	touch $@

# Older pips take the extras html_clean and html-clean, which two packages want of lxml, for two.
$(BENCH)/ready: $(BUILT_FROM)
	$(PYTHON) -m venv $(BENCH)
	$(BENCH)/$(BIN)/python -m pip install --quiet --disable-pip-version-check "pip>=23.3"
	$(BENCH)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

$(MODEL)/ready: $(BUILT_FROM) benchmarks/train_content.txt
	$(PYTHON) -m venv $(MODEL)
	$(MODEL)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . -r benchmarks/train_content.txt
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) $(BENCH) $(MODEL) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .coverage .coverage.* build dist
	rm -f scrapy_simdedup/*/*.so scrapy_simdedup/*/*.pyd
