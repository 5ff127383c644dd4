"""Queries without tables give what Spark 3.5.8 gave: column names, types and rows (``data/spark_answers*.json``).

The answers were taken from Spark itself with ANSI off, in UTC or the ``zone`` that a case names (its instants are in UTC
even so); the type of an interval is that of all its fields, and one of months is their number. Rows are compared in
order where the query orders.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError
from tests.support.planning import SPARK, Tables, ask

ANSWERS: list[dict[str, Any]] = [
    case
    for path in sorted((Path(__file__).parent / "data").glob("spark_answers*.json"))
    for case in json.loads(path.read_text())
]


def _flat(rows: list[list[Any]]) -> list[Any]:
    return [value for row in rows for value in row]


@pytest.mark.parametrize("case", ANSWERS, ids=lambda case: case["sql"][:60])
def test_as_spark(case: dict[str, Any]) -> None:
    sql = case["sql"]
    tables = Tables(SPARK, time_zone=case.get("zone", "UTC"))
    if case.get("error"):
        with pytest.raises((BergError, duckdb.Error)):
            ask(sql, SPARK, tables)
        return
    answer = ask(sql, SPARK, tables)
    if "columns" in case:  # the names of Iceberg's functions are those of Java classes
        assert answer.names == case["columns"]
    assert answer.types == case["types"]
    if case.get("close"):  # DuckDB adds up in another order
        assert _flat(answer.rows) == pytest.approx(_flat(case["rows"]), rel=1e-13)
    elif "order by" in sql:
        assert answer.rows == case["rows"]
    else:
        assert sorted(map(repr, answer.rows)) == sorted(map(repr, case["rows"]))
