# Two commands do all the set-up: `make demo` and `make test`. Each makes its own virtual environment.

PYTHON ?= python3
DEMO = .venv-demo
TEST = .venv

ifeq ($(OS),Windows_NT)
BIN = Scripts
else
BIN = bin
endif

.PHONY: demo test lint types imports tests clean

demo: $(DEMO)/ready
	cd example_project && ../$(DEMO)/$(BIN)/python run.py

test: lint types imports tests

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
	$(TEST)/$(BIN)/coverage combine --quiet
	$(TEST)/$(BIN)/coverage report

$(DEMO)/ready: pyproject.toml
	$(PYTHON) -m venv $(DEMO)
	$(DEMO)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(TEST)/ready: pyproject.toml
	$(PYTHON) -m venv $(TEST)
	$(TEST)/$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

clean:
	rm -rf $(DEMO) $(TEST) .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .coverage .coverage.* build dist
