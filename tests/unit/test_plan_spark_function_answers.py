"""Functions give what Spark 3.5.8 gave: types, rows, and column names where they are noted.

The answers in ``data/spark_function_answers.json`` were taken from Spark itself with ANSI off and in UTC. Cases whose
text begins alike run together. The entries of a map have no order.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest

from bergsql.catalog.errors import BergError
from tests.support.planning import SPARK, ask

ANSWERS: list[dict[str, Any]] = json.loads((Path(__file__).parent / "data/spark_function_answers.json").read_text())
BY_FUNCTION: dict[str, list[dict[str, Any]]] = defaultdict(list)
for _case in ANSWERS:
    BY_FUNCTION[re.split(r"[( ]", _case["sql"])[1]].append(_case)


def unordered(value: Any) -> Any:
    if isinstance(value, dict) and "$map" in value:
        return {"$map": sorted(map(repr, unordered(value["$map"])))}
    if isinstance(value, dict):
        return {k: unordered(v) for k, v in value.items()}
    return [unordered(v) for v in value] if isinstance(value, list) else value


@pytest.mark.parametrize("function", BY_FUNCTION)
def test_as_spark(function: str) -> None:
    for case in BY_FUNCTION[function]:
        sql = case["sql"]
        if case.get("error"):
            with pytest.raises((BergError, duckdb.Error)):
                ask(sql, SPARK)
            continue
        answer = ask(sql, SPARK)
        assert (sql, answer.types) == (sql, case["types"])
        assert (sql, sorted(map(repr, unordered(answer.rows)))) == (sql, sorted(map(repr, unordered(case["rows"]))))
        if "columns" in case:
            assert answer.names == case["columns"]
