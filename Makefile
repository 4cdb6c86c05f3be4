# The build interface; CONTRIBUTING.md describes the targets.
PYTHON ?= python3
# The revision that `make same` compares with.
REVISION ?= HEAD
# `--values` compares numbers and keys alone.
VALUES ?=
# The commit that chooses the tests of `make quarter`.
COMMIT ?= $(shell git rev-parse HEAD)
# More jobs than cores: most tests wait for servers, budgets and timeouts.
JOBS ?= 3
VENV := .venv
BIN := $(VENV)/bin

# Without bytecode, every program compiles its modules at each start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: setup demo check test full quarter golden slowest tools lint audit same bench baseline charts clean

setup: $(VENV)/.ready

# The stamp depends on compiled and locked files; Python sources are used in place.
$(VENV)/.ready: requirements-dev.lock pyproject.toml Cargo.toml Cargo.lock $(shell find driver wheel -name '*.rs' -o -name Cargo.toml -o -name slowdust)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.lock
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

demo: setup
	$(BIN)/slowdust compare postgres@15.8 postgres@17.6 --suite quick --budget 100s --count-budget 75s
	$(BIN)/slowdust report --html report.html

# Excludes the tests that are only in `make full`; property tests try a quarter of their examples.
QUICK := -m "not full" --hypothesis-profile quick
# Each file runs in one process, because its tests share a browser or servers; long files start first.
PYTEST := $(BIN)/pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
UNIT := $(BIN)/pytest -n logical --dist loadfile -o testpaths=tests/unit

check: lint
	cargo test --quiet --locked
	$(UNIT) -m "not full and not slow" --hypothesis-profile quick --snapshot-warn-unused

test: setup
	cargo test --quiet --locked
	$(PYTEST) $(QUICK)

full: setup
	cargo test --quiet --locked
	$(PYTEST)

# A quarter of the tests that only `make full` has; the commit chooses the quarter.
quarter: setup
	$(PYTEST) --snapshot-warn-unused --quarter $(COMMIT)

# It sets testpaths: with a path as an argument, syrupy would keep unused golden texts.
golden: setup
	$(BIN)/python -m tests.reference
	$(UNIT) $(QUICK) --snapshot-update

slowest: setup
	$(BIN)/python -m tests.tiers.durations

tools:
	$(PYTHON) -m tests.tiers.programs --install

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff check --quiet --preview --select PLC2701 .
	! git grep -nE 'setattr\(.*"(slowdust\.[a-z_.]*\.)?_[a-zA-Z]|^ +"slowdust\.[a-z_.]*\._' tests
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m tests.lint.docstrings src bench tests
	$(BIN)/python -m tests.lint.voice src driver bench tests examples docs $(wildcard *.md)
	$(BIN)/hadolint Containerfile
	cargo fmt --check
	cargo clippy --quiet --all-targets --locked -- -D warnings

audit: setup
	$(BIN)/python -m tests.lint.audit

same: setup
	$(BIN)/python -m tests.same_output $(VALUES) $(REVISION)

bench: setup
	$(BIN)/python -m bench.run

# `make baseline RECORD=--record` updates the recorded baseline.
baseline: setup
	$(BIN)/python -m bench.baseline $(RECORD)

# The chart library of the pages, pinned by its package-lock.json.
UPLOT := src/slowdust/report/html/uplot

charts:
	rm -rf target/charts
	mkdir -p target/charts
	cp $(UPLOT)/package.json $(UPLOT)/package-lock.json target/charts
	npm ci --prefix target/charts --ignore-scripts --no-audit --no-fund
	cd target/charts/node_modules/uplot && cp LICENSE dist/uPlot.iife.min.js dist/uPlot.min.css $(CURDIR)/$(UPLOT)
	cd $(UPLOT) && sha256sum LICENSE uPlot.iife.min.js uPlot.min.css > SHA256SUMS

clean:
	rm -rf $(VENV) target
