# Every command a person needs. Each one first installs what it needs into .venv, once.

PYTHON ?= python3
UV := uv==0.13.7
BIN := .venv/bin
INSTALLED := .venv/.installed
ENGINE_IS_BUILT = $(BIN)/python -c 'import sys; from fleetqueue.real import layout; sys.exit(layout.find() is None)'
ENGINE ?= embedded
BROWSER_IS_INSTALLED = $(BIN)/python -c 'import sys; from fleetqueue.testing import browser; sys.exit(browser.find() is None)'
MADE_OF = $(if $(filter kubernetes,$(ENGINE)),engine,install)
SOURCES := src tests tools $(wildcard benchmarks)
# One more than there are cores: some tests wait for a process or a socket.
WORKERS = $(shell $(PYTHON) -c "import os; print((os.cpu_count() or 1) + 1)")
APT_GET = DEBIAN_FRONTEND=noninteractive apt-get --yes --quiet --quiet --no-install-recommends -o DPkg::Lock::Timeout=120
EMBEDDED_LANE = $(BIN)/pytest -n $(WORKERS) --dist worksteal -m "not real and not records"
REAL_LANE = $(BIN)/pytest -n 2 --dist loadfile -m

# Where it is set, every process of a test compiles all modules again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help install engine tools browser manifests alerts demo check types unit test real picture stories records kill faults properties fence bench versions fix docs changelog build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(INSTALLED) ## make the virtual environment .venv from uv.lock (all others do this by themselves)

$(INSTALLED): pyproject.toml uv.lock
	@$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 11) else "fleetqueue needs Python 3.11 or newer; name one with: make PYTHON=python3.12")'
	@echo "installing the locked packages into .venv"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check $(UV)
	@VIRTUAL_ENV=$(CURDIR)/.venv UV_PYTHON_DOWNLOADS=never $(BIN)/uv sync --frozen --active --inexact --quiet
	@touch $@

engine: install ## build the real engine: etcd, Kubernetes, Kueue, OCM (about 20 minutes, once)
	@$(BIN)/fleetqueue engine build

tools: install ## build Helm, which renders and tests the chart, and Kueue's own client (four minutes, once)
	@$(BIN)/python tools/build_tools.py helm kueuectl

browser: install ## install Chromium, in which tests look at the dashboard, or say how
	@$(BROWSER_IS_INSTALLED) || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && $(APT_GET) update && $(APT_GET) install chromium fonts-noto-cjk; } || \
		{ echo "install Chromium or Chrome with your package manager, such as: sudo apt-get install chromium fonts-noto-cjk"; exit 1; }

manifests: tools ## write the plain manifests of deploy/ from the Helm chart
	@$(BIN)/python tools/render_manifests.py

alerts: install ## let Prometheus' own promtool, built first, judge the alerts of the chart
	@$(BIN)/python tools/build_tools.py promtool
	$(BIN)/pytest tests/deploy/test_alerts.py

demo: $(MADE_OF) ## run the three stories on embedded clusters; on real ones, built first if need be: make demo ENGINE=kubernetes
	@$(BIN)/fleetqueue demo all --engine $(ENGINE)

check: install ## lint, types, import contracts and unit tests: before every commit
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	@$(BIN)/python tools/check_tests.py
	@$(MAKE) --no-print-directory --jobs 2 types unit

types: install
	@found=$$($(BIN)/mypy 2>&1 && $(BIN)/lint-imports 2>&1) || { echo "$$found"; exit 1; }
	@echo "types and import contracts hold"

unit: install
	$(EMBEDDED_LANE) tests/unit tests/invariants tests/deploy tests/docs

test: check ## check, the embedded fleet as a whole, and most tests on the real engine where it is built
	$(EMBEDDED_LANE) tests/system tests/conformance
	@if $(ENGINE_IS_BUILT); then \
		set -x; $(REAL_LANE) "real and not long"; \
	else \
		echo "NOT RUN: the tests on the real engine, since it is not built. 'make engine' builds it, then 'make test' runs them."; \
	fi
	@$(BROWSER_IS_INSTALLED) || echo "NOT RUN: the tests that look at the dashboard, since there is no browser. 'make browser' installs it, then 'make test' runs them."

real: engine ## all tests on the real engine, an hour
	$(REAL_LANE) real

picture: install ## draw what the demo, submit and explain print and, where there is a browser, the dashboard
	@$(BIN)/python tools/draw_demo.py docs/pictures/demo.svg
	@$(BIN)/python tools/draw_commands.py docs/pictures
	@$(BIN)/python tools/draw_dashboard.py docs/pictures

stories: $(MADE_OF) ## only the three stories, as fast as they go
	@$(BIN)/fleetqueue demo all --engine $(ENGINE) --fast

records: engine ## ask the real parts again all that is recorded of them, an hour: it must still be so
	$(BIN)/pytest -m records

kill: install ## kill -9 an embedded server under 16 writers, again and again: make kill ROUNDS=40
	FLEETQUEUE_KILL_ROUNDS=$(or $(ROUNDS),40) $(BIN)/pytest tests/system/sockets/test_kill.py tests/unit/embedded/apiserver/storage/test_kill.py

faults: install ## live through seeds of faults on the whole embedded system: make faults SEEDS=200
	FLEETQUEUE_SEEDS=$(or $(SEEDS),200) $(BIN)/pytest tests/system/faults/test_seeds.py

properties: install ## search with new examples for one that breaks a property: make properties RUNS=20
	@for run in $$(seq $(or $(RUNS),20)); do \
		FLEETQUEUE_EXAMPLES=search $(BIN)/pytest -q -n $(WORKERS) -m hypothesis tests/unit || exit 1; \
	done

fence: engine ## cut workers off at a dozen moments on the real engine, and explore more of the fence's model, twenty minutes
	FLEETQUEUE_MODEL=all $(BIN)/pytest -m "not real" tests/system/fence
	FLEETQUEUE_FENCE=1 $(BIN)/pytest -m real tests/real/product/test_fence.py

bench: $(if $(filter dashboard newcomer,$(ONLY)),install,engine) ## measure, each number beside its peer; one question alone with ONLY=apiserver
	@for question in benchmarks/$(or $(ONLY),*).py; do \
		test -e "$$question" || { echo "there is no benchmark yet"; exit 1; }; \
		echo "$$question"; $(BIN)/python "$$question" || exit 1; \
	done

versions: engine ## the stories, windows and job kinds on other versions of Kueue and Kubernetes, hours; one alone with ONLY=0.16.6
	$(BIN)/python tools/run_versions.py $(ONLY)

fix: install ## repair what tools can repair
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

docs: tools ## render the CLI reference, list stale translations, check that the docs tell the truth
	$(BIN)/python tools/render_cli_reference.py
	$(BIN)/python tools/check_translations.py
	$(BIN)/pytest tests/docs tests/deploy

changelog: install ## compile the fragments of changelog.d into CHANGELOG.md, for the version in src/fleetqueue/__init__.py
	$(BIN)/towncrier build --version $$($(BIN)/python -c 'import fleetqueue; print(fleetqueue.__version__)')

build: install ## the wheel and the source distribution, in dist/
	$(BIN)/uv build

clean: ## remove what the targets made here; the engine in the user's cache stays
	rm -rf .venv dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
