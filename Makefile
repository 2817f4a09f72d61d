# Two commands do all the set-up on a fresh machine with Python 3.11+ and make:
# `make demo` runs the main job, `make test` every test that needs no accelerator.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3.14 python3 python; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)
VENV ?= .venv
BIN = $(VENV)/bin
PYTEST = $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-deep test-torch test-gpu bench bench-gpu check docs format typing-view system-packages clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST) | expand -t 24

demo: $(VENV)/.demo ## quantise the layers of a small real model, run them, print a table
	@$(BIN)/python examples/demo.py

test: system-packages $(VENV)/.ready ## the tests that need no accelerator
	@$(PYTEST) -n auto --dist worksteal -m "not gpu and not deep"

# Everything, with a seed of its own: DSLC_TEST_SEED=N goes on with a run where it ended, and DSLC_TEST_SHARD=2/8
# runs the second of eight parts. What has passed stands in build/deep/N: without it the run begins anew.
test-deep: system-packages $(VENV)/.ready ## all tests, long and random ones too, with a fresh seed
	@seed=$${DSLC_TEST_SEED:-$$(date +%s)}; echo "DSLC_TEST_SEED=$$seed"; DSLC_TEST_SEED=$$seed \
	  DSLC_TEST_PASSED=$${DSLC_TEST_PASSED-build/deep/$$seed} \
	  $(PYTEST) -n auto --dist worksteal --timeout 0 -m "not gpu" --hypothesis-seed=$$seed

# torch and JAX are large and no dependency of dslc: they come into an environment of their own.
TORCH_VENV ?= .venv-torch

test-torch: $(TORCH_VENV)/.ready ## the tests with arrays of torch and JAX, on the CPU
	@DSLC_TEST_SKIPS=fail $(TORCH_VENV)/bin/python -m pytest -m torch \
	  $$(grep -rl --include='test_*.py' 'mark\.torch' tests)

test-gpu: $(VENV)/.ready ## the tests that need an NVIDIA GPU
	@$(PYTEST) -m gpu

bench: $(VENV)/.ready ## measure what docs/performance says of hosts and models
	@for f in tests/benchmarks/*.py; do $(BIN)/python $$f || exit 1; done

# The rivals come into the same environment: pip install torch triton humming-kernels==0.1.19
bench-gpu: $(VENV)/.ready ## compare with rivals on an NVIDIA GPU; OPTIONS="--section rows"
	@$(BIN)/python tests/benchmarks/gpu/run.py $(OPTIONS)

check: $(VENV)/.ready typing-view ## lint, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p dslc

format: $(VENV)/.ready ## rewrite the sources in the project's format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The site's tools come into an environment of their own; what it says of Python it reads from the sources.
DOCS_VENV ?= .venv-docs

docs: $(DOCS_VENV)/.ready ## build the documentation's site into build/site
	@mkdir -p build/reference  # docs/hooks.py fills it; what is not there at the start is not read
	@NO_MKDOCS_2_WARNING=1 $(DOCS_VENV)/bin/mkdocs build --strict --quiet
	@echo "to read it, with its search: $(PYTHON) -m http.server -d build/site"

# An editable install hides the package from type checkers: a folder of links shows it to them.
typing-view:
	@rm -rf build/typing && mkdir -p build/typing/dslc
	@ln -s $(addprefix $(CURDIR)/,$(wildcard dsl/*) compiler codegen runtime) build/typing/dslc/

system-packages:
	@bash .ci/system-packages

# What dslc itself needs is all that the demo needs; .ready has the tools of development beside it.
$(VENV)/.demo: pyproject.toml
	@test -n "$(PYTHON)" || { echo "dslc needs Python 3.11 or later; none is in PATH"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "$(PYTHON) does not run, or is not Python 3.11 or later"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "$(PYTHON) has no venv module: on Debian and Ubuntu, apt install python3-venv"; exit 1; }
	@echo "setting up $(VENV) with $(PYTHON) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.ready: $(VENV)/.demo
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	@touch $@

$(TORCH_VENV)/.ready: $(VENV)/.ready
	@echo "setting up $(TORCH_VENV) with torch and JAX (once)"
	@$(BIN)/python -m venv $(TORCH_VENV)
	@$(TORCH_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[torch]"
	@touch $@

$(DOCS_VENV)/.ready: pyproject.toml
	@echo "setting up $(DOCS_VENV) with MkDocs (once)"
	@$(PYTHON) -m venv $(DOCS_VENV)
	@$(DOCS_VENV)/bin/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	@touch $@

clean: ## remove everything that was built
	rm -rf build $(VENV) $(TORCH_VENV) $(DOCS_VENV) dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
