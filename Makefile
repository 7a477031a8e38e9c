# Two commands on a fresh machine: `make demo` and `make test`. Both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP := $(shell find src/core tests -name '*.hpp' -o -name '*.cpp' -o -name '*.inc' 2>/dev/null | grep -v unicode_tables)
SOURCES := CMakeLists.txt pyproject.toml constraints.txt $(shell find src/core -type f)

SANITIZE := -std=c++20 -O1 -g -fno-omit-frame-pointer -Wall -Wextra -Wno-psabi -Isrc/core

.DEFAULT_GOAL := help
.PHONY: help demo test lint format unit crash bench results screenshots package sanitize clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## build a collection of the standard library's documentation and search it
	@$(BIN)/sth demo

test: lint unit ## check style and types, then run all tests

lint: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy

unit: $(VENV)/installed-dev
	$(BIN)/pytest -n auto --dist worksteal

N ?= 2000
crash: $(VENV)/installed-dev ## kill writers of a collection N times; nothing may be lost
	STHASH_KILLS=$(N) $(BIN)/pytest -n 2 -rP tests/faults/test_crash.py

format: $(VENV)/installed-dev ## format the code in place
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP)

BENCHMARKS := fit graph encoding hamming weighted_search collection duplicates service recipes baselines learning_sample \
  scaling spark milvus
bench: $(VENV)/installed-bench $(VENV)/installed-dev ## measure against the peers, and write the README's table (two hours)
	@for name in $(BENCHMARKS); do echo "== benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py || exit 1; done
	$(BIN)/python tools/readme_table.py

screenshots: $(VENV)/installed-dev ## take the pictures of the page that the README shows; needs Chromium
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py docs/images

# A folder for each state of the code, so that no result outlives what made it.
REPRODUCTION = build/reproduction/$(shell git rev-parse --short HEAD 2>/dev/null || echo current)
results: $(VENV)/installed-dev ## run the paper's experiments and write docs/results.md (half an hour)
	$(BIN)/sth reproduce --output $(REPRODUCTION)
	rm -rf docs/results && cp -r $(REPRODUCTION)/results docs/results && cp $(REPRODUCTION)/results.md docs/

package: $(VENV)/installed-dev ## build the sdist, from it the wheel, and try that in an empty environment
	rm -rf dist build/try
	$(BIN)/python -m build --outdir dist .
	$(PYTHON) -m venv build/try
	build/try/bin/pip install -q -c constraints.txt dist/*.whl
	cd build && try/bin/sth version && rm -rf try

sanitize: ## run the C++ index under the address, undefined-behaviour and thread sanitizers
	mkdir -p build
	$(CXX) $(SANITIZE) -fsanitize=address,undefined -fno-sanitize-recover=all tests/core/hamming.cpp -o build/hamming-asan -lpthread
	build/hamming-asan
	$(CXX) $(SANITIZE) -fsanitize=thread tests/core/hamming.cpp -o build/hamming-tsan -lpthread
	build/hamming-tsan

clean: ## remove everything that was made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

# The environment. Stamps are made anew when the C++ sources or the pinned versions change; Python is not copied.
$(VENV)/ready: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "sthash needs Python 3.11 or newer; set PYTHON=/path/to/python3.11"; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || \
	  { echo "sthash needs a C++20 compiler (g++ 11 or clang 14 and newer); install one or set CXX"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "sthash needs Python's venv module (on Debian: apt-get install python3-venv)"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q -c constraints.txt scikit-build-core nanobind cmake ninja
	@touch $@

$(VENV)/installed: $(VENV)/ready $(SOURCES)
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation -e .
	@touch $@

ENGINES := spark milvus
$(VENV)/installed-dev: $(VENV)/installed
	@[ ! -x .ci/install ] || .ci/install
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation -e '.[dev]'
	@for extra in $(ENGINES); do $(BIN)/pip install -q -c constraints.txt --no-build-isolation -e ".[$$extra]" || \
	  echo "The extra $$extra cannot be installed: its tests will be skipped."; done
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(BIN)/pip install -q -c constraints.txt --no-build-isolation -e '.[bench,serve]'
	@touch $@

.PHONY: pins
pins: $(VENV)/installed-dev $(VENV)/installed-bench ## write the versions that are installed now to constraints.txt
	@{ echo "# Exact versions that the make targets install; pyproject.toml has the lower bounds."; \
	   echo "# Made by: make pins"; \
	   $(BIN)/pip freeze --exclude-editable | grep -v -i -E '^(pip|setuptools|sthash)\b' | sort -f; } > constraints.new
	@mv constraints.new constraints.txt
