# `make demo` and `make test` are all that a newcomer types; each sets up what it needs first. `make help` lists the rest.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.ONESHELL:

# How many processes a build may use (make JOBS=1 ...), and whether compiler warnings stop the Python extension's build.
JOBS ?= $(shell nproc)
WERROR ?= OFF
# Files of tests in Python run side by side, in one process more than a build may use: each waits a fifth of its time.
PYTEST_SIDE_BY_SIDE := -n $(shell expr $(JOBS) + 1) --dist loadfile --no-loadscope-reorder
PYTEST_ARGS ?=
CTEST_ARGS ?=

BIN := .venv/bin
# Everything that the extension module is made of, the commit that it names, and the list of Python modules: an editable install
# finds those that were there when it was made.
EXTENSION_SOURCES := build/python/modules.txt $(shell find src include cmake benchmarks python/bindings -type f) CMakeLists.txt pyproject.toml \
    $(wildcard .git/HEAD .git/logs/HEAD)
FORMATTED := $(shell find include src simulated benchmarks tests examples python/bindings -name '*.hpp' -o -name '*.cpp')

export CMAKE_BUILD_PARALLEL_LEVEL := $(JOBS)

# Alone, and where .venv is not one for development, the demo is content with the packages and the extension that it needs itself.
FOR_THE_DEMO := $(if $(wildcard .venv/craton-bootstrapped)$(filter-out demo clean distclean,$(MAKECMDGOALS)),build,build/python/installed-for-demo)

## demo       a whole inversion on two processes, from synthetic seismograms to a report (a minute, once it is built)
.PHONY: demo
demo: $(FOR_THE_DEMO)
	@$(BIN)/craton tomography run examples/global/demo.toml --ranks 2 --directory demo-run --overwrite
	echo "The report: $(CURDIR)/demo-run/report.html"

## test       every test but the long ones: C++ (1 to 4 ranks), an installed tree, Python
.PHONY: test
test: build build/audit/build.ninja
	cmake --build --preset audit
	tools/run_tests "C++" ctest --preset audit $(CTEST_ARGS) -- "Python" $(BIN)/python -m pytest -m "not long" $(PYTEST_SIDE_BY_SIDE) $(PYTEST_ARGS)

## build      the Python package and that of the benchmarks, optimised for this machine, in .venv
.PHONY: build
build: build/python/installed

## long       the tests that take minutes
.PHONY: long
long: build build/audit/build.ninja
	cmake --build --preset audit
	tools/run_tests "C++ (long)" ctest --preset long $(CTEST_ARGS) -- "Python (long)" $(BIN)/python -m pytest -m long $(PYTEST_ARGS)

## wheel      a wheel for any x86-64 processor, Open MPI and MPICH; what a new user does with it, outside the checkout
.PHONY: wheel
wheel: .venv/craton-bootstrapped
	tools/bootstrap --wheel
	rm -f build/wheels/*.whl
	$(BIN)/python tools/make_wheel
	$(BIN)/python tools/check_wheel build/wheels/*.whl

## sanitize   all C++ tests, on 1 to 8 ranks, under the address, undefined-behaviour and thread sanitizers
.PHONY: sanitize
sanitize: build/asan-ubsan/build.ninja build/tsan/build.ninja
	cmake --build --preset asan-ubsan
	cmake --build --preset tsan-whole
	tools/run_tests "sanitizers" ctest --preset asan-ubsan-whole $(CTEST_ARGS) \
	  -- "thread sanitizer" ctest --preset tsan-whole $(CTEST_ARGS)

## sanitize-quick   of these what CI has time for: on 1 and 3 ranks, and by threads what several of them share
.PHONY: sanitize-quick
sanitize-quick: build/asan-ubsan/build.ninja build/tsan/build.ninja
	cmake --build --preset asan-ubsan
	cmake --build --preset tsan
	tools/run_tests "sanitizers" ctest --preset asan-ubsan $(CTEST_ARGS) -- "thread sanitizer" ctest --preset tsan $(CTEST_ARGS)

## tsan       the thread sanitizer alone: what several threads of a rank share
.PHONY: tsan
tsan: build/tsan/build.ninja
	cmake --build --preset tsan
	tools/run_tests "thread sanitizer" ctest --preset tsan $(CTEST_ARGS)

## mpich      the C++ storeys and their tests with MPICH (installs Debian's packages of it beside Open MPI's)
.PHONY: mpich
mpich:
	tools/bootstrap --mpich
	cmake --preset mpich
	cmake --build --preset mpich
	tools/run_tests "MPICH" ctest --preset mpich $(CTEST_ARGS)

## cuda       compiles and links the CUDA implementation of the wave steps; on a machine with a GPU runs it beside the host's
.PHONY: cuda
cuda: build/cuda/build.ninja
	cmake --build --preset cuda
	tools/run_tests "CUDA" ctest --preset cuda $(CTEST_ARGS)

## two-hosts  matrix and applications between network namespaces over TCP, also with delay and loss; bandwidth beside iperf3's (as root)
.PHONY: two-hosts
two-hosts: build build/audit/build.ninja
	tools/bootstrap --two-hosts
	cmake --build --preset audit
	tools/two_hosts --check
	tools/run_tests "two hosts" ctest --preset audit -L two_hosts $(CTEST_ARGS) \
	  -- "applications between hosts" $(BIN)/python -m pytest -m "" -s python/tests/hosts/test_applications.py $(PYTEST_ARGS)
	tools/two_hosts --bandwidth build/audit/tests/two_hosts/two_hosts_bandwidth

## slurm      batch scripts of the examples on a Slurm cluster of two network namespaces (as root; installs Slurm)
.PHONY: slurm
slurm: build
	tools/bootstrap --slurm
	tools/two_hosts --slurm sinfo
	tools/run_tests "Slurm" $(BIN)/python -m pytest -m "" python/tests/hosts/test_slurm.py $(PYTEST_ARGS)

## browser    every report in Chromium: no script runs, no request leaves, nothing is cut (installs Chromium)
.PHONY: browser
browser: build
	tools/bootstrap --browser
	tools/run_tests "browser" $(BIN)/python -m pytest python/tests/pages $(PYTEST_ARGS)

## docs       the documentation site, with the reference of Python, C++, commands and keys: build/docs/html (installs Doxygen, Sphinx)
.PHONY: docs
docs: build
	tools/bootstrap --docs
	mkdir -p build/docs
	doxygen docs/site/Doxyfile
	$(BIN)/python tools/api_coverage
	build/documentation/bin/python -m sphinx -W --keep-going -q -j $(JOBS) -b html -c docs/site docs build/docs/html
	@echo "The site: $(CURDIR)/build/docs/html/index.html"

## mutate     20,000 damaged files of every kind that Craton reads: refused in one line, or read
.PHONY: mutate
mutate: build
	$(BIN)/python tools/mutate --count $(or $(COUNT),20000)

## repeat     the C++ tests on several ranks 50 times, with half of the cores that they want: which fail sometimes
.PHONY: repeat
repeat: build/audit/build.ninja
	cmake --build --preset audit
	tools/repeat_tests --count $(or $(COUNT),50)

## fuzz       files that a reader does not refuse in one line, looked for by the branches they take (installs clang and atheris)
.PHONY: fuzz
fuzz: build
	tools/bootstrap --fuzz
	cmake --preset fuzz
	cmake --build --preset fuzz
	$(BIN)/python tools/fuzz --minutes $(or $(MINUTES),10)

## faults     N=50 runs of every application disturbed while they save, and resumed: signals, full disk, lost folder, too little memory
.PHONY: faults
faults: build
	$(BIN)/python tools/faults --count $(or $(N),50) --seed $(or $(SEED),0)

## simulate   the runtime on 16 to 1,024 simulated ranks (installs SimGrid; docs/simulation.md)
.PHONY: simulate
simulate:
	tools/bootstrap --simulate
	cmake -S simulated -B build/simulated -G Ninja
	cmake --build build/simulated
	python=$$([ -x $(BIN)/python ] && echo $(BIN)/python || echo python3)
	$$python tools/simulate

## simulate-all  the other tables of the papers too: sides, halos, multigrid, waves, tasks, Fock builds, counters
.PHONY: simulate-all
simulate-all: simulate
	python=$$([ -x $(BIN)/python ] && echo $(BIN)/python || echo python3)
	$$python tools/simulate --sides 1.1e5 8.2e5 --updates 1
	for each in halo waves output-of-waves stealing processes fock counters scattered multigrid; do $$python tools/simulate --$$each; done

## lint       format and static checks of C++ and Python
.PHONY: lint
lint: build
	@failed=""
	$(BIN)/clang-format --dry-run -Werror $(FORMATTED) || failed="$$failed clang-format"
	$(BIN)/ruff format --check || failed="$$failed ruff-format"
	$(BIN)/ruff check || failed="$$failed ruff-check"
	$(BIN)/python tools/check_storeys || failed="$$failed storeys"
	PYTHONPATH=python $(BIN)/lint-imports --no-cache --no-logo || failed="$$failed rooms"
	$(BIN)/python tools/check_prose || failed="$$failed prose"
	$(BIN)/python tools/check_links || failed="$$failed links"
	$(BIN)/python tools/check_locks || failed="$$failed locks"
	$(BIN)/python tools/check_licences || failed="$$failed licences"
	$(BIN)/python tools/check_packaging || failed="$$failed packaging"
	$(BIN)/interrogate --quiet python/craton python/craton_studies || failed="$$failed docstrings"
	$(BIN)/mypy || failed="$$failed types"
	if [ -n "$$failed" ]; then echo "lint: FAILED:$$failed (make format rewrites what can be rewritten)"; exit 1; fi
	echo "lint: clean"

## lock       the files of locks/ anew, as pyproject.toml asks (UPGRADE=1: the newest versions that it admits)
.PHONY: lock
lock: build/supply-chain/ready
	$(BIN)/python tools/make_locks --uv build/supply-chain/bin/uv $(if $(UPGRADE),--upgrade)

## licences   the locked packages with their licences, and whether pyproject.toml allows them
.PHONY: licences
licences: .venv/craton-bootstrapped
	$(BIN)/python tools/check_licences --table

## sbom       build/sbom.json: the locked packages and the system's libraries that Craton is made of (CycloneDX)
.PHONY: sbom
sbom: build build/supply-chain/ready
	$(BIN)/python tools/sbom build/sbom.json
	build/supply-chain/bin/python tools/validate_sbom build/sbom.json

## format     rewrite C++ and Python in the house format
.PHONY: format
format: .venv/craton-bootstrapped
	$(BIN)/clang-format -i $(FORMATTED)
	$(BIN)/ruff check --fix --exit-zero
	$(BIN)/ruff format

## clean      remove what was built; `make distclean` removes .venv too
.PHONY: clean distclean
clean:
	rm -rf build
distclean: clean
	rm -rf .venv

.PHONY: help
help:
	@sed -n 's/^## /  make /p' Makefile

# ---------------------------------------------------------------------------------------------------------------- stamps

# Written by tools/bootstrap when system packages and .venv are as locks/ has them: for development, and for the demo alone.
ASKED_FOR := tools/bootstrap tools/requirements tools/requirement_groups.py pyproject.toml locks/build.lock locks/demo.lock
.venv/craton-bootstrapped: $(ASKED_FOR) locks/development.lock locks/alone.lock
	tools/bootstrap
.venv/craton-demo: $(ASKED_FOR)
	tools/bootstrap --demo

# What writes the locks and examines the bill of materials is no part of .venv.
build/supply-chain/ready: locks/supply-chain.lock | .venv/craton-demo
	rm -rf $(@D)
	$(BIN)/python -m venv $(@D)
	$(@D)/bin/python -m pip install --disable-pip-version-check --quiet --require-hashes --only-binary :all: -r $<
	touch $@

# A preset is configured once; after that its own build notices what changed.
build/%/build.ninja: CMakePresets.json .venv/craton-bootstrapped
	cmake --preset $*
	@touch $@

# Changes only where a module has come or gone.
build/python/modules.txt: FORCE
	@mkdir -p $(@D)
	find python/craton python/craton_studies -name '*.py' | sort >$@.new
	if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi
FORCE:

# Python files are used where they stand; only a change in C++, in the packaging or of the list of modules comes here, and
# build/python keeps the objects.
build/python/installed: .venv/craton-bootstrapped $(EXTENSION_SOURCES)
	@export CRATON_STUDIES=ON
	$(INSTALL_CRATON)
	$(BIN)/python -c "import craton, craton_studies.extension"
	@touch $@

# Without the studies, which the demo does not need.
build/python/installed-for-demo: .venv/craton-demo $(EXTENSION_SOURCES)
	@$(INSTALL_CRATON)
	$(BIN)/python -c "import craton"
	@touch $@

# Verbose: the lines in which ninja counts pass through pip.
INSTALL_CRATON = CRATON_WARNINGS_AS_ERRORS=$(WERROR) tools/progress "compiling Craton" build/python.log -- \
    $(BIN)/python -m pip install --disable-pip-version-check --verbose --no-index \
    --no-build-isolation --no-deps --config-settings=build-dir=build/python --editable .
