# What a developer runs. `make test` is what CI runs, on a fresh machine too: it installs what it needs.

.DEFAULT_GOAL := help
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
WORKERS ?= 3
SHARED := $(or $(BERGSQL_SHARED),$(abspath ../shared))
SOURCES := shell engine catalog
CODE := $(SOURCES) tests benchmarks docs

# What is tested is what is installed, whatever else the environment would import.
unexport PYTHONPATH MYPYPATH

.PHONY: help venv java cc services spark lint types imports check test test-long coverage rewrite docs bench bench-spark format clean FORCE

help: ## What there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

venv: $(VENV)/.installed ## The virtual environment with bergsql (editable) and the development tools

# A strict editable install links file by file, so it is made again when a file comes or goes.
$(VENV)/.installed: pyproject.toml $(VENV)/.files
	$(BIN)/pip install --quiet --disable-pip-version-check -e '.[dev,test-services]' --config-settings editable_mode=strict
	@touch $@

$(VENV)/.files: FORCE
	@[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	@find $(SOURCES) -name '*.py' | sort > $@.new
	@if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

java:
	@command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; } \
	  || { echo "The tests with Spark need Java 17 (Debian: openjdk-17-jre-headless)." >&2; exit 1; }
	@command -v java > /dev/null || { apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless > /dev/null; }

cc:
	@command -v cc > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; } \
	  || { echo "The tests with faults below the files need a C compiler (Debian: gcc, libc6-dev)." >&2; exit 1; }
	@command -v cc > /dev/null || { apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends gcc libc6-dev > /dev/null; }

services: ## MariaDB and PostgreSQL, for the tests with real services (the others come with pip)
	@command -v mariadbd > /dev/null && [ -x /usr/lib/postgresql/15/bin/postgres ] \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; } \
	  || { echo "The tests with services need MariaDB and PostgreSQL 15 (Debian: mariadb-server, postgresql-15)." >&2; exit 1; }
	@command -v mariadbd > /dev/null && [ -x /usr/lib/postgresql/15/bin/postgres ] || { apt-get update -qq \
	  && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends mariadb-server postgresql-15 > /dev/null; }

spark: java ## The real Spark with Iceberg for the interop tests, once, into ~/.cache/spark-oracle
	@bash $(SHARED)/recipes/spark_oracle.sh --install-only > /dev/null

lint: venv ## ruff: rules and format
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)

types: venv ## mypy --strict
	$(BIN)/mypy -p bergsql.catalog -p bergsql.engine -p bergsql.shell
	$(BIN)/mypy tests benchmarks docs

imports: venv ## Imports run shell, engine, catalog, and inside the engine downwards, never back
	$(BIN)/lint-imports --no-cache

check: lint types imports

test: check spark cc services ## All checks and tests with bounded seeds, interop with the real Spark included
	BERGSQL_SHARED=$(SHARED) $(BIN)/pytest -n $(WORKERS) -m 'not long'

test-long: check spark cc services ## The same with all seeds
	BERGSQL_SHARED=$(SHARED) $(BIN)/pytest -n $(WORKERS)

coverage: check spark cc services ## What test covers, line by line: it takes half as long again
	BERGSQL_SHARED=$(SHARED) $(BIN)/pytest -n $(WORKERS) -m 'not long' --cov --cov-report=term:skip-covered

rewrite: venv ## Write what is printed into FILES=tests/sql/x.test, to be read over
	$(BIN)/python -m tests.sqltest --rewrite $(FILES)

docs: venv ## Write the pages that come from the code
	$(BIN)/python docs/generate.py

bench: venv ## The benchmarks: ratios to DuckDB measured in one run
	for b in startup scans merge_on_read equality_deletes planning inserts commits streaming_append streaming_delay streaming_state kafka_append mysql_binlog mysql_snapshot services_delay; do $(BIN)/python benchmarks/$$b.py || exit 1; done

bench-spark: venv ## Row-level statements beside the real Spark: KIT=folder WAREHOUSE=folder, KIT_ENV (benchmarks/row_level.py)
	$(BIN)/python benchmarks/row_level.py $(KIT) $(WAREHOUSE) --spark-runs 2

format: venv ## ruff format and the fixes that are safe
	$(BIN)/ruff check --fix $(CODE)
	$(BIN)/ruff format $(CODE)

clean: ## Remove what was built
	rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .coverage*
