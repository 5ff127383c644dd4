"""Functions whose arguments say how they work: IGNORE NULLS, a limit, an order, a seed. Spark's rows are Spark 3.5's."""

from __future__ import annotations

from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import FLINK, SPARK, ask, plan

GAPS = " FROM (VALUES (1, CAST(NULL AS INT)), (2, 5), (3, 6), (4, NULL)) AS t(o, x)"


def test_spark_first_and_last_leave_nulls_out_if_told_so() -> None:
    answer = ask(
        "SELECT last(x, true), first(x, true), last(x), first(x), any_value(x, true), any_value(x), "
        f"first_value(x, true), last_value(x, false){GAPS}",
        SPARK,
    )
    assert answer.rows == [[6, 5, None, None, 5, None, 5, None]]
    assert answer.names == [
        *("last(x)", "first(x)", "last(x)", "first(x)", "any_value(x)", "any_value(x)"),
        *("first_value(x)", "last_value(x)"),
    ]


def test_spark_ignore_nulls() -> None:
    answer = ask(
        "SELECT first(x) IGNORE NULLS, last_value(x) IGNORE NULLS, any_value(x) IGNORE NULLS, first(x IGNORE NULLS), "
        f"last(x, true) FILTER (WHERE x < 6){GAPS}",
        SPARK,
    )
    assert answer.rows == [[5, 6, 5, 5, 5]]
    assert answer.names[:3] == ["first(x)", "last(x)", "any_value(x)"]


def test_spark_ignore_nulls_in_windows() -> None:
    answer = ask(
        "SELECT x, first(x, true) OVER w, last(x, true) OVER (ORDER BY o ROWS BETWEEN UNBOUNDED PRECEDING AND "
        "UNBOUNDED FOLLOWING), last_value(x) IGNORE NULLS OVER w, nth_value(x, 2) IGNORE NULLS OVER w, "
        f"lag(x) IGNORE NULLS OVER w, any_value(x) IGNORE NULLS OVER w{GAPS} WINDOW w AS (ORDER BY o) ORDER BY o",
        SPARK,
    )
    assert answer.rows == [
        [None, None, 6, None, None, None, None],
        [5, 5, 6, 5, None, None, 5],
        [6, 5, 6, 6, 6, 5, 5],
        [None, 5, 6, 6, 6, 6, 5],
    ]
    assert answer.names[4].startswith("nth_value(x, 2) ignore nulls OVER (ORDER BY o ASC NULLS FIRST")


def test_flink_first_and_last_leave_nulls_out() -> None:
    assert ask(f"SELECT FIRST_VALUE(x), LAST_VALUE(x){GAPS}", FLINK).rows == [[5, 6]]
    running = ask(f"SELECT LAST_VALUE(x) OVER (ORDER BY o){GAPS} ORDER BY o", FLINK).rows
    assert running == [[None], [5], [6], [6]]


REFUSED = [
    ("first(x, o > 1)", ErrorCode.INVALID, "is TRUE or FALSE"),
    ("sum(x) IGNORE NULLS", ErrorCode.INVALID, "SUM does not take IGNORE NULLS"),
    ("row_number() IGNORE NULLS OVER (ORDER BY o)", ErrorCode.INVALID, "ROW_NUMBER does not take IGNORE NULLS"),
    ("sort_array(array(2, 1), x > 5)", ErrorCode.INVALID, "The order of SORT_ARRAY is TRUE or FALSE"),
    ("rand(x)", ErrorCode.UNSUPPORTED, "RAND with a seed"),
    ("date_part(CAST(x AS STRING), current_date())", ErrorCode.INVALID, "The unit must be a literal"),
]


@pytest.mark.parametrize(("written", "code", "message"), REFUSED, ids=[r[0] for r in REFUSED])
def test_what_must_be_a_literal_is_refused(written: str, code: ErrorCode, message: str) -> None:
    with pytest.raises(BergError, match=message) as raised:
        plan(f"SELECT {written}{GAPS}", SPARK)
    assert raised.value.code is code
    assert "object at 0x" not in raised.value.message
    assert raised.value.span is not None


SPLITS: list[tuple[str, Any]] = [
    ("split('a1b2c', '[0-9]', 2)", ["a", "b2c"]),
    ("split('a1b2c', '[0-9]', 1)", ["a1b2c"]),
    ("split('a1b2c', '[0-9]', 0)", ["a", "b", "c"]),
    ("split('a1b2c1', '[0-9]', -1)", ["a", "b", "c", ""]),
    ("split('a1b2c', '[0-9]', 9)", ["a", "b", "c"]),
    ("split('a,b,c', ',', 2)", ["a", "b,c"]),
    ("split('a||b||c', '\\\\|\\\\|', 2)", ["a", "b||c"]),
    ("split('a.b.c', '.', 2)", ["", ".b.c"]),
    ("split('a  b', ' +', 2)", ["a", "b"]),
    ("split('abc', '', 2)", ["a", "b"]),
    ("split('abc', '', 0)", ["a", "b", "c"]),
    ("split('', ',', 2)", [""]),
    ("split('1a', '[0-9]')", ["", "a"]),
]


@pytest.mark.parametrize(("written", "parts"), SPLITS, ids=[s[0] for s in SPLITS])
def test_split(written: str, parts: list[str]) -> None:
    assert ask(f"SELECT {written}", SPARK).rows == [[parts]]


def test_split_with_a_limit_that_is_a_column() -> None:
    written = "SELECT n, split('a1b2c', '[0-9]', n) FROM VALUES (-1), (0), (1), (2), (3), (4), (NULL) AS t(n)"
    whole = ["a", "b", "c"]
    assert ask(written, SPARK).rows == [
        *([-1, whole], [0, whole], [1, ["a1b2c"]], [2, ["a", "b2c"]], [3, whole], [4, whole], [None, None]),
    ]


def test_the_order_of_flinks_array_sort_may_be_a_column() -> None:
    written = "SELECT ARRAY_SORT(ARRAY[2, 1], b) FROM (VALUES (TRUE), (FALSE), (CAST(NULL AS BOOLEAN))) AS t(b)"
    assert ask(written, FLINK).rows == [[[1, 2]], [[2, 1]], [None]]


def test_sparks_units_that_it_does_not_know_give_null() -> None:
    written = (
        "SELECT date_trunc('foo', TIMESTAMP '2024-05-17 10:11:12'), date_trunc('MON', TIMESTAMP '2024-05-17 10:11:12'), "
        "trunc(DATE '2024-05-17', 'day'), trunc(DATE '2024-05-17', 'quarter'), trunc(DATE '2024-05-17', 'YY')"
    )
    assert ask(written, SPARK).rows == [[None, "2024-05-01 00:00:00.000000", None, "2024-04-01", "2024-01-01"]]
