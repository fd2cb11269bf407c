# Every target fetches what it needs, into .venv and Go's caches.
PYTHON ?= python3
FUZZTIME ?= 20s
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
VENV := .venv/bin
C_FILES = $(shell git ls-files '*.c' '*.h' '*.hpp' '*.cuh' 'examples/*.cu' ':!testdata/')
export DLAUNCH_LIBRARY ?= $(CURDIR)/build/libdlaunch.so
export PYTHONPATH := $(CURDIR)/python/src
export PYTHONDONTWRITEBYTECODE := 1
.DEFAULT_GOAL := help
.PHONY: help build wheel demo test lint format clean bench test-gpu bench-gpu fuzz

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 14

build: ## Build build/libdlaunch.so and the files that go with it
	@go run ./cmd/build-so -o build

wheel: ## Build the Python wheel too
	@go run ./cmd/build-so -o build -wheel

demo: build .venv/test ## Launch the same kernel from Python and from C, and render build/demo.png
	@$(VENV)/python examples/saxpy.py
	@gcc -std=c99 -Ibuild/include examples/saxpy.c -o build/saxpy -Lbuild -ldlaunch -Wl,-rpath,$(CURDIR)/build
	@build/saxpy
	@$(VENV)/python examples/mandelbrot.py build/demo.png

test: wheel .venv/test ## Run the Go, C and Python tests
	go test -race $$(go list ./... | grep -v /capi)
	PYTHON=$(CURDIR)/$(VENV)/python go test -count=1 ./capi
	$(VENV)/python -m pytest -q python/tests

lint: .venv/lint ## Check format, vet and types; fail if the working tree changes meanwhile
	@before="$$(git status --porcelain)"; set -x; \
	test -z "$$(gofmt -l . | tee /dev/stderr)" && go vet ./... && go run $(STATICCHECK) ./... && \
	$(VENV)/clang-format --dry-run -Werror $(C_FILES) && \
	$(VENV)/ruff check --config python/pyproject.toml python examples bench && \
	$(VENV)/ruff format --check --config python/pyproject.toml python examples bench && \
	$(VENV)/mypy --strict --config-file python/pyproject.toml python/src && \
	{ set +x; test "$$before" = "$$(git status --porcelain)" || { git status; exit 1; }; }

format: .venv/lint ## Format Go, C and Python in place
	gofmt -w .
	$(VENV)/clang-format -i $(C_FILES)
	$(VENV)/ruff format --config python/pyproject.toml python examples bench

fuzz: ## Fuzz each parser for FUZZTIME
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9]+' . | while IFS=: read -r file name; do \
	go test -run='^$$' -fuzz="^$${name#func }$$" -fuzztime=$(FUZZTIME) "$$(dirname $$file)" || exit 1; done

bench: build .venv/test ## Time launches on this machine's CPU against a driver that does nothing
	@bench/run.sh

test-gpu: build .venv/test ## Stage the tests in build/gpu for a machine with a GPU; run them if this is one
	@tests/gpu/stage.sh build/gpu

bench-gpu: build .venv/test ## Stage the benchmarks in build/gpu; run them if this machine has a GPU
	@tests/gpu/stage.sh build/gpu bench

.venv/%: python/requirements-%.txt
	@test -d .venv || $(PYTHON) -m venv .venv
	@$(VENV)/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

clean: ## Remove everything that was built, the virtual environment included
	rm -rf build .venv
