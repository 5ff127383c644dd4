"""OPTIONS hints: checked wherever a table is read, and never dropped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.query import plan_query
from bergsql.engine.sql.parser import parse
from bergsql.engine.sql.statements import TableHint
from tests.support.planning import FLINK, Tables, iceberg_tables, plan


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    return iceberg_tables(tmp_path, FLINK, t="id INT")


@pytest.mark.parametrize(
    "written",
    [
        "SELECT * FROM t #",
        "SELECT * FROM t AS x #",
        "SELECT * FROM t # AS x",
        "SELECT 1 WHERE 1 IN (SELECT id FROM t #)",
        "SELECT (SELECT max(id) FROM t #)",
        "SELECT x.id FROM t AS x JOIN t # AS y ON x.id = y.id",
        "WITH c AS (SELECT * FROM t #) SELECT 1",
        "SELECT * FROM t ORDER BY (SELECT max(id) FROM t #)",
    ],
)
def test_an_unknown_option_is_refused_wherever_a_table_is_read(written: str, tables: Tables) -> None:
    sql = written.replace("#", "/*+ OPTIONS('snapshot-idd' = '1') */")
    with pytest.raises(BergError) as raised:
        plan(sql, FLINK, tables)
    error = raised.value
    assert error.code is ErrorCode.OPTION
    assert error.hint == "Did you mean 'snapshot-id'?"
    assert error.span is not None
    assert sql[error.span.start : error.span.end] == "'snapshot-idd' = '1'"


def test_a_query_of_with_has_no_options(tables: Tables) -> None:
    sql = "WITH c AS (SELECT * FROM t) SELECT * FROM c /*+ OPTIONS('streaming' = 'false') */"
    with pytest.raises(BergError, match="'c' is a query of WITH: it has no options") as raised:
        plan(sql, FLINK, tables)
    assert raised.value.span == Span(sql.index("/*+"), len(sql))


def test_a_key_that_is_given_twice_is_refused(tables: Tables) -> None:
    with pytest.raises(BergError, match="'streaming' is given twice"):
        plan("SELECT * FROM t /*+ OPTIONS('streaming' = 'true', 'streaming' = 'false') */", FLINK, tables)


def test_a_hint_that_no_table_takes_is_refused(tables: Tables) -> None:
    statement: Any = parse("SELECT * FROM t", FLINK)
    astray = statement.query._replace(hints=(TableHint(3, (), Span(4, 9)),))
    with pytest.raises(BergError, match="No table reads this hint") as raised:
        plan_query(astray, tables)
    assert raised.value.span == Span(4, 9)
