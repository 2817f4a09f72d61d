# `make demo` runs the main job and `make test` the tests, on a fresh machine with Python 3.11+.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test check format typing-view clean

$(VENV)/.ready: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

test: $(VENV)/.ready
	$(BIN)/python -m pytest -n auto

# An editable install hides the package from type checkers: a folder of links shows it to them.
typing-view:
	rm -rf build/typing && mkdir -p build/typing/dslc
	ln -s $(addprefix $(CURDIR)/,$(wildcard dsl/*) compiler codegen runtime) build/typing/dslc/

check: $(VENV)/.ready typing-view
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p dslc

format: $(VENV)/.ready
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf build .venv dist *.egg-info
