# Every task of this project. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.stamp

# What `make test-all` looks for, each as python3.X on PATH or among the versions of pyenv.
VERSIONS := 3.10 3.11 3.12 3.13 3.14

# How long `make fuzz` decodes damaged bodies, and the examples that it then tries for each property.
FUZZ_MINUTES ?= 10
FUZZ_EXAMPLES ?= 10000

# More options for pytest, such as `make bench BENCH="-k decode"`.
BENCH ?=

# True of a CPython of the version in argv that can make environments. A pyenv shim is on PATH even where it runs nothing,
# and free-threaded builds are another platform.
export PROBE := import ensurepip, sys, sysconfig, venv; \
	sys.exit(sys.implementation.name != "cpython" or "%d.%d" % sys.version_info[:2] != sys.argv[1] \
	or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all fuzz bench bench-quick format clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## create .venv with all that development needs (PYTHON=python3.12 to choose; clean first to change)

demo: $(STAMP) ## show what the library does
	$(BIN)/python -m bench.demo

test: $(STAMP) ## lint, check the types and run the tests
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright # the warning is about newer releases, for which it asks the network
	$(BIN)/python -m pytest

test-all: $(STAMP) ## run the tests on every other CPython from 3.10 to 3.14 that is installed
	@own=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); found=; missing=; failed=; \
	for version in $(VERSIONS); do \
		[ "$$version" != "$$own" ] || continue; \
		python=; \
		for candidate in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}/versions/$$version".*/bin/python; do \
			if "$$candidate" -c "$$PROBE" "$$version" 2>/dev/null; then python=$$candidate; break; fi; \
		done; \
		if [ -z "$$python" ]; then missing="$$missing $$version"; continue; fi; \
		found="$$found $$version"; \
		echo "== CPython $$version: $$python"; \
		$(MAKE) --no-print-directory ".venvs/$$version/.stamp" PYTHON="$$python" \
			&& ".venvs/$$version/bin/python" -m pytest || failed="$$failed $$version"; \
	done; \
	echo "found:     $${found:- none} (besides $$own, which 'make test' is for)"; \
	echo "not found: $${missing:- none}"; \
	echo "failed:    $${failed:- none}"; \
	[ -z "$$failed" ]

fuzz: $(STAMP) ## decode damaged bodies for FUZZ_MINUTES=10, then try every property on FUZZ_EXAMPLES=10000
	$(BIN)/python -m tests.fuzz --minutes $(FUZZ_MINUTES)
	FUZZ_EXAMPLES=$(FUZZ_EXAMPLES) $(BIN)/python -m pytest -m hypothesis --hypothesis-profile=fuzz

bench: $(STAMP) ## run the benchmarks (BENCH="-k decode" to choose)
	$(BIN)/python -m pytest bench --benchmark-enable --benchmark-only $(BENCH)

bench-quick: $(STAMP) ## the same with few rounds, for a first look
	$(BIN)/python -m pytest bench --benchmark-enable --benchmark-only \
		--benchmark-min-rounds=3 --benchmark-max-time=0.05 $(BENCH)

format: $(STAMP) ## fix what ruff can fix, then format
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

clean: ## remove the environments, caches and builds
	rm -rf .venv .venvs .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist
	find . -name .git -prune -o -name __pycache__ -type d -prune -exec rm -rf {} +

# $(call environment,DIRECTORY,GROUP): an environment with this project and a dependency group of it. One that works is
# kept and brought up to date; one that is absent, broken or half-made is made anew.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	{ echo 'error: "$(PYTHON)" is not Python 3.10 or newer; say which one is: make setup PYTHON=python3.12' >&2; exit 1; }
@$(PYTHON) -c 'import ensurepip, venv' || \
	{ echo 'error: "$(PYTHON)" lacks the venv module (on Debian and Ubuntu: apt-get install python3-venv)' >&2; exit 1; }
@$(1)/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(1)
$(1)/bin/python -m pip install --quiet --upgrade 'pip>=25.1' # the first that knows --group
$(1)/bin/python -m pip install --quiet --editable '.[cli]' --group $(2)
@touch $(1)/.stamp
endef

$(STAMP): pyproject.toml
	$(call environment,$(VENV),dev)

.venvs/%/.stamp: pyproject.toml
	$(call environment,.venvs/$*,test)
