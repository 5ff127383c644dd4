"""Planning takes time in proportion to the query, and what nests too deeply is refused in words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.plan.query import plan_query
from bergsql.engine.sql.parser import parse
from tests.support.planning import FLINK, Tables, ask

T = "(VALUES (1, DATE '2024-01-01', 'a')) AS t(i, d, s)"


LONG = {
    "IN of dates as text": f"SELECT i FROM {T} WHERE d IN ([['#-01-01'|, ]])",
    "IN of mixed numbers": f"SELECT i FROM {T} WHERE i IN (0.5, [[#|, ]])",
    "VALUES": "VALUES [[(#, 'x#', DATE '2024-01-01')|, ]]",
    "VALUES of mixed numbers": "VALUES (1.5, NULL), [[(#, #)|, ]]",
    "AND": f"SELECT i FROM {T} WHERE [[i <> #| AND ]]",
    "OR of dates and text": f"SELECT i FROM {T} WHERE [[d = '#-01-01'| OR ]]",
    "CASE": f"SELECT CASE [[WHEN d = '#-01-01' THEN #| ]] END FROM {T}",
    "CONCAT": "SELECT CONCAT([[CAST(# AS STRING)|, ]])",
    "COALESCE": "SELECT COALESCE([[NULLIF(#, 1)|, ]])",
    "items and keys": f"SELECT [[i + # AS a#|, ]] FROM {T} ORDER BY [[a#|, ]]",
    "items of one name": f"SELECT [[i|, ]] FROM {T}",
    "columns": "SELECT [[c#|, ]] FROM (SELECT [[# AS c#|, ]]) AS q",
    "joins": "SELECT 1 FROM (SELECT 1 AS a) AS j [[JOIN (SELECT 1 AS a) AS j# ON j#.a = j.a| ]]",
    "subqueries without names": "SELECT 1 FROM [[(SELECT 1)|, ]]",
    "WITH": "WITH [[w# AS (SELECT # AS a)|, ]] SELECT * FROM [[w#|, ]]",
}
"""``[[item|separator]]`` stands for many items, and # in them for a number."""


def long(template: str, n: int) -> str:
    return re.sub(
        r"\[\[(.*?)\|(.*?)\]\]", lambda m: m[2].join(m[1].replace("#", str(k)) for k in range(1000, 1000 + n)), template
    )


def steps(sql: str) -> int:
    """How many lines planning runs, every turn of a loop counted (a clock would depend on the machine)."""
    count = 0

    def tick(frame: FrameType, event: str, argument: Any) -> Any:  # noqa: ARG001
        nonlocal count
        count += 1
        return tick

    statement: Any = parse(sql, FLINK)
    before = sys.gettrace()
    sys.settrace(tick)
    try:
        plan_query(statement.query, Tables(FLINK))
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("template", LONG.values(), ids=list(LONG))
def test_a_query_four_times_as_long_takes_four_times_as_long(template: str) -> None:
    steps(long(template, 2))  # imports
    assert steps(long(template, 240)) < 5 * steps(long(template, 60))


DEEP: dict[str, Callable[[int], str]] = {
    "parentheses": lambda n: "SELECT " + "(" * n + "1" + ")" * n,
    "calls": lambda n: "SELECT " + "UPPER(" * n + "'a'" + ")" * n,
    "NOT": lambda n: "SELECT " + "NOT " * n + "TRUE",
    "minus": lambda n: "SELECT " + "- " * n + f"i FROM {T}",
    "CASE": lambda n: "SELECT " + "CASE WHEN TRUE THEN " * n + "1" + " END" * n,
    "arrays": lambda n: "SELECT " + "ARRAY[" * n + "1" + "]" * n,
    "casts": lambda n: "SELECT " + "CAST(" * n + "1" + " AS BIGINT)" * n,
    "types": lambda n: "SELECT CAST(NULL AS " + "ARRAY<" * n + "INT" + ">" * n + ")",
    "scalar queries": lambda n: "SELECT " + "(SELECT " * n + "1" + ")" * n,
    "derived tables": lambda n: "SELECT 1 FROM " + "(SELECT 1 FROM " * n + T + ") AS q" * n,
    "EXISTS": lambda n: "SELECT 1 WHERE " + "EXISTS (SELECT 1 WHERE " * n + "TRUE" + ")" * n,
    "joins": lambda n: "SELECT 1 FROM " + "(" * n + T + " CROSS JOIN (SELECT 2) AS z)" * n,
    "set operations": lambda n: "(" * n + "SELECT 1" + " UNION SELECT 1)" * n,
    "WITH": lambda n: "WITH q AS (" * n + "SELECT 1 AS a" + ") SELECT * FROM q" * n,
    "additions": lambda n: f"SELECT {' + '.join(['i'] * n)} FROM {T}",
}


@pytest.mark.parametrize("make", DEEP.values(), ids=list(DEEP))
def test_what_nests_is_planned(make: Callable[[int], str]) -> None:
    assert len(ask(make(12), FLINK).rows) == 1 or "UNION" in make(1)


@pytest.mark.parametrize("depth", [150, 600, 3000])
@pytest.mark.parametrize("make", DEEP.values(), ids=list(DEEP))
def test_what_nests_too_deeply_is_refused_in_words(make: Callable[[int], str], depth: int) -> None:
    try:
        ask(make(depth), FLINK)
    except BergError as error:
        message = error.message
    except duckdb.Error as error:
        message = from_duckdb_error(error).message
    else:
        return
    assert "nested too deeply" in message
