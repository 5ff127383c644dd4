"""What start-up does not pay for, and that everything which is imported late is there."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest
from sqlglot import exp

from bergsql.engine.execute import HANDLERS as STATEMENTS
from bergsql.engine.plan.expressions import BINARY, HANDLERS, imported
from bergsql.engine.sql import statements
from bergsql.shell.render.formats import FORMATS, layout
from tests.support.berg import Berg

LIBRARIES = (
    *("pyiceberg", "pyarrow", "prompt_toolkit", "rich", "fastavro", "pygments", "wcwidth"),
    *("duckdb", "tomllib", "zoneinfo", "secrets", "uuid"),
)
"""Neither these nor what is in them. (DuckDB's core is ``_duckdb``.)"""

OURS = (
    *("catalog.base", "catalog.hadoop", "catalog.metadata", "catalog.registry", "catalog.secrets", "catalog.storage"),
    *("engine.execute.insert", "engine.names", "engine.table", "engine.sql.functions", "engine.sql.hints"),
    *("engine.sql.type_names", "engine.sql.type_parser", "engine.sql.variables", "engine.sql.statements.tables"),
    *("engine.plan.aggregate_calls", "engine.plan.arithmetic", "engine.plan.calls", "engine.plan.case"),
    *("engine.plan.casts", "engine.plan.columns", "engine.plan.comparison", "engine.plan.constants"),
    *("engine.plan.ctes", "engine.plan.decimals", "engine.plan.duck_errors", "engine.plan.fold"),
    *("engine.plan.from_clause", "engine.plan.grouping", "engine.plan.intervals", "engine.plan.joins"),
    *("engine.plan.ordering", "engine.plan.pushdown", "engine.plan.relations", "engine.plan.set_operations"),
    *("engine.plan.subqueries", "engine.plan.table_functions", "engine.plan.times", "engine.plan.values"),
    *("shell.highlight", "shell.history", "shell.progress", "shell.repl", "shell.render.errors"),
    *("shell.render.csv", "shell.render.jsonl"),
)
"""Modules of bergsql that ``SELECT 1`` has no use for."""

MOST_MODULES = 62
"""How many modules of bergsql it may import: each costs half a millisecond, or several where no bytecode is cached."""

PROBE = """
import sys
from bergsql.shell.cli import main
try:
    code = main(sys.argv[1:])
finally:
    print("\\n".join(sorted(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


def imports(berg: Berg, *arguments: str) -> set[str]:
    """The modules that a run has imported at its end."""
    # Without the measuring of coverage, which imports things of its own.
    env = {key: value for key, value in berg.env().items() if not key.startswith("COVERAGE_")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1" in done.stdout.splitlines()[-1]
    return set(done.stderr.splitlines())


def within(modules: set[str], names: tuple[str, ...]) -> list[str]:
    """The modules that are one of ``names`` or below."""
    return sorted(m for m in modules if m in names or m.startswith(tuple(f"{name}." for name in names)))


def test_a_simple_query_imports_only_what_it_needs(berg: Berg) -> None:
    modules = imports(berg, "-e", "SELECT 1")
    ours = within(modules, ("bergsql",))
    assert "bergsql.engine.execute.select" in ours
    assert within(modules, LIBRARIES) == []
    assert within(modules, tuple(f"bergsql.{name}" for name in OURS)) == []
    assert len(ours) <= MOST_MODULES, ours


def test_a_query_of_a_table_imports_no_big_library(berg: Berg) -> None:
    modules = imports(berg, "--format", "csv", "-e", "CREATE TABLE t (id INT); SELECT count(*) + 1 FROM t WHERE id > 1")
    assert "bergsql.engine.table.scan" in modules
    big = ("pyiceberg", "pyarrow", "prompt_toolkit", "rich", "fastavro", "duckdb")
    assert within(modules, big) == []


@pytest.mark.parametrize("name", OURS)
def test_what_is_not_imported_exists(name: str) -> None:
    assert import_module(f"bergsql.{name}").__name__ == f"bergsql.{name}"


@pytest.mark.parametrize(("node", "place"), {**BINARY, **HANDLERS}.items())
def test_what_binds_an_expression_exists(node: str, place: str) -> None:
    assert issubclass(getattr(exp, node), exp.Expr)
    assert callable(imported(place))


@pytest.mark.parametrize(("statement", "place"), STATEMENTS.items())
def test_what_carries_out_a_statement_exists(statement: str, place: str) -> None:
    assert issubclass(getattr(statements, statement), statements.Statement)
    module, _, name = place.partition(".")
    assert callable(getattr(import_module(f"bergsql.engine.execute.{module}"), name))


@pytest.mark.parametrize("name", FORMATS)
def test_what_draws_a_format_exists(name: str) -> None:
    assert callable(layout(name))
