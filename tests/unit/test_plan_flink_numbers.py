"""Flink's functions of numbers, and Spark's where only Spark has them."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import FLINK, ask, plan

ANSWERS: list[tuple[str, Any, str]] = [
    ("TRUNCATE(42.345, 2)", "42.34", "DECIMAL(5, 2)"),
    ("TRUNCATE(42.345)", "42", "DECIMAL(3, 0)"),
    ("TRUNCATE(-42.345, 1)", "-42.3", "DECIMAL(4, 1)"),
    ("TRUNCATE(CAST(42.324 AS DOUBLE), 2)", 42.32, "DOUBLE"),
    ("TRUNCATE(1234, -2)", 1200, "INT"),
    ("CEIL(-1.5)", "-1", "DECIMAL(2, 0)"),
    ("FLOOR(CAST(-1.5 AS DOUBLE))", -2.0, "DOUBLE"),
    ("MOD(-7, 3)", -1, "INT"),
    ("conv('ff', 16, 10)", "255", "STRING"),
    ("try_add(2147483647, 1)", None, "INT"),
    ("try_divide(1, 0)", None, "DOUBLE"),
    ("try_mod(7, 0)", None, "INT"),
    ("shiftright(-4, 1)", -2, "INT"),
    ("RAND_INTEGER(5) BETWEEN 0 AND 4", True, "BOOLEAN"),
    ("uniform(1, 5) BETWEEN 1 AND 4", True, "BOOLEAN"),
]


@pytest.mark.parametrize(("written", "value", "type_"), ANSWERS, ids=[a[0] for a in ANSWERS])
def test_as_flink(written: str, value: object, type_: str) -> None:
    answer = ask(f"SELECT {written}", FLINK)
    assert answer.rows == [[value]]
    assert answer.types == [type_]


def test_random_numbers_differ_from_row_to_row() -> None:
    sql = "SELECT COUNT(DISTINCT RAND_INTEGER(1000000)), COUNT(DISTINCT randn()) FROM (VALUES 1, 2, 3, 4) AS t(x)"
    (row,) = ask(sql, FLINK).rows
    assert all(n > 1 for n in row)


def test_aggregates() -> None:
    sql = "SELECT BIT_AND(x), BIT_OR(x), BIT_XOR(x), ANY_VALUE(x), COVAR_POP(x, x) FROM (VALUES 3, 3) AS t(x)"
    assert ask(sql, FLINK).rows == [[3, 3, 0, 3, 0.0]]


REFUSED = [
    ("RAND_INTEGER(x, 10)", ErrorCode.UNSUPPORTED, "RAND_INTEGER with a seed"),
    ("randn(x)", ErrorCode.UNSUPPORTED, "RANDN with a seed"),
    ("negative('a')", ErrorCode.TYPE, "NEGATIVE takes a number"),
    ("bit_count(1.5)", ErrorCode.TYPE, "BIT_COUNT takes a whole number"),
    ("FLOOR(1.5, x)", ErrorCode.UNSUPPORTED, "digits that is not a literal"),
]


@pytest.mark.parametrize(("written", "code", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_refused(written: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(BergError, match=message) as raised:
        plan(f"SELECT {written} FROM (VALUES 1) AS t(x)", FLINK)
    assert raised.value.code is code
    assert raised.value.span is not None
