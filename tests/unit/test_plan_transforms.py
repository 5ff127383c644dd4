"""Iceberg's transforms as functions give what Spark 3.5 with Iceberg 1.10 gave, at the edges too."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.planning import SPARK, ask

CASES: list[tuple[str, str, Any]] = [
    ("years(timestamp'1969-12-31 23:00:00')", "int", -1),
    ("months(timestamp'1969-12-31 23:00:00')", "int", -1),
    ("days(timestamp'1969-12-31 23:00:00.5')", "date", "1969-12-31"),
    ("hours(timestamp'1969-12-31 22:59:59.999999')", "int", -2),
    ("years(date'1968-05-01')", "int", -2),
    ("months(date'1968-05-01')", "int", -20),
    ("days(date'1968-05-01')", "date", "1968-05-01"),
    ("hours(timestamp_ntz'1968-05-01 01:02:03')", "int", -14639),
    ("truncate(10, cast(-2147483648 as int))", "int", 2147483646),
    ("truncate(10, -9223372036854775808L)", "bigint", 9223372036854775806),
    ("truncate(7, cast(-128 as tinyint))", "tinyint", 123),
    ("truncate(7, cast(-32767 as smallint))", "smallint", -32767),
    ("truncate(2147483647, 5)", "int", -2147483647),
    ("truncate(2147483647, -5)", "int", -2147483647),
    ("truncate(50, cast(-10.65 as decimal(9,2)))", "decimal(9,2)", "-11.00"),
    (
        "truncate(3, cast(123456789012345678901234567890.12345678 as decimal(38,8)))",
        "decimal(38,8)",
        "123456789012345678901234567890.12345678",
    ),
    ("truncate(1, 0.5BD)", "decimal(1,1)", "0.5"),
    ("truncate(2, cast(null as int))", "int", None),
    ("truncate(2, '中文字')", "string", "中文"),
    ("truncate(1, X'')", "binary", {"$hex": ""}),
]


@pytest.mark.parametrize(("written", "type_", "value"), CASES, ids=[c[0] for c in CASES])
def test_a_transform(written: str, type_: str, value: Any) -> None:
    answer = ask(f"SELECT c.system.{written}", SPARK)
    assert answer.types == [type_]
    assert answer.rows == [[value]]


def test_transforms_of_aggregates() -> None:
    written = (
        "SELECT max(c.system.years(t)), c.system.months(max(t)), c.system.truncate(10, sum(i)), c.system.bucket(4, max(i)) "
        "FROM VALUES (timestamp'2024-05-06 07:08:09', 15) AS x(t, i)"
    )
    assert ask(written, SPARK).rows == [[54, 652, 10, 0]]
