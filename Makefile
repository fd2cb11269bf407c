# Every target fetches what it needs, into .venv and Go's caches.
PYTHON ?= python3
PYTHONS ?= python3.10 python3.11 python3.12 python3.13 python3.14
FUZZTIME ?= 20s
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VENV := .venv/bin
C_FILES = $(shell git ls-files -s '*.c' '*.h' '*.cpp' '*.hpp' '*.cuh' '*.cu' ':!testdata/' | awk '/^100/ {print $$4}') # no links
PYTHON_FOLDERS := python examples bench tests
export DLAUNCH_LIBRARY := $(CURDIR)/build/libdlaunch.so
export PYTHONPATH := $(CURDIR)/python/src
export PYTHONDONTWRITEBYTECODE := 1
.DEFAULT_GOAL := help
.PHONY: help build demo test test-pythons lint format clean bench test-gpu bench-gpu fuzz

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16
build: ## Build build/libdlaunch.so, the files that go with it, and the Python wheel
	@go run ./cmd/build-so -o build -wheel
demo: build .venv/test ## Launch a kernel from Python and from C, and render build/demo.png with one
	@$(VENV)/python examples/saxpy.py
	@gcc -std=c99 -Ibuild/include examples/saxpy.c -o build/saxpy -Lbuild -ldlaunch -Wl,-rpath,$(CURDIR)/build
	@build/saxpy
	@$(VENV)/python examples/mandelbrot.py build/demo.png
test: build .venv/test ## Run the Go, C and Python tests
	go test -race $$(go list ./... | grep -v '/capi$$')
	PYTHON=$(CURDIR)/$(VENV)/python go test -count=1 ./capi
	$(VENV)/python -m pytest -q -m 'not gpu' python/tests
test-pythons: build ## Run the Python tests on those of PYTHONS that are here, with builtins and without
	@tested=; for python in $(PYTHONS); do \
	tag=$$($$python -c 'import sys; print(sys.implementation.cache_tag)' 2>/dev/null) || { echo "$$python: not here"; continue; }; \
	test -d build/venv-$$tag || $$python -m venv build/venv-$$tag || exit 1; \
	build/venv-$$tag/bin/python -m pip install -q --disable-pip-version-check -r python/requirements-test.txt || exit 1; \
	for fastcall in 1 0; do echo "$$tag, DLAUNCH_FASTCALL=$$fastcall"; DLAUNCH_FASTCALL=$$fastcall \
	build/venv-$$tag/bin/python -m pytest -q -m 'not gpu' python/tests || exit 1; done; tested=$$tag; done; test -n "$$tested"
lint: .venv/lint .venv/test ## Check format, vet and types; fail if that changes the working tree
	@before="$$(git status --porcelain)"; set -ex; test -z "$$(gofmt -l . | tee /dev/stderr)"; \
	go vet ./...; go run $(STATICCHECK) ./...; $(VENV)/clang-format --dry-run -Werror $(C_FILES); \
	$(VENV)/ruff check $(PYTHON_FOLDERS); $(VENV)/ruff format --check $(PYTHON_FOLDERS); \
	$(VENV)/mypy --config-file python/pyproject.toml --strict python/src; \
	test "$$before" = "$$(git status --porcelain)"
format: .venv/lint ## Format Go, C and Python in place
	gofmt -w .
	$(VENV)/clang-format -i $(C_FILES)
	$(VENV)/ruff format $(PYTHON_FOLDERS)
fuzz: ## Fuzz each parser for FUZZTIME
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | while IFS=: read -r file name; do \
	go test -run='^$$' -fuzz="^$${name#func }$$" -fuzztime=$(FUZZTIME) -fuzzminimizetime=50x "$$(dirname $$file)" || exit 1; done
bench: build .venv/test .venv/bench ## Time launches on this machine, with a driver that does nothing
	@bench/build.sh build/bench
	@mkdir -p build/bench/stub
	@gcc -O2 -shared -fPIC bench/stub/libcuda.c -o build/bench/stub/libcuda.so.1
	@for what in launch_cost growth; do LD_LIBRARY_PATH=$(CURDIR)/build/bench/stub DLAUNCH_DRIVER=cuda \
	$(VENV)/python bench/$$what.py --libraries build/bench --out build/bench || exit 1; done
test-gpu: build .venv/test ## Stage the tests in build/gpu for a machine with a GPU; run them if this is one
	@tests/gpu/stage.sh build/gpu test
bench-gpu: build .venv/test .venv/bench ## The same for the benchmarks
	@tests/gpu/stage.sh build/gpu bench
clean: ## Remove all that was built or fetched into this folder
	rm -rf build .venv
.venv/%: python/requirements-%.txt
	@test -d .venv || $(PYTHON) -m venv .venv
	@$(VENV)/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@
