"""Whatever is made of an aggregate, a subquery or rand() may stand where a sum is tried: TRY itself takes none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.planning import FLINK, SPARK, ask

FROM = (
    " FROM (VALUES (1, 'a', DATE '2024-01-01', TIMESTAMP_LTZ '2024-01-01 00:00:00'), "
    "(2, 'b', DATE '2024-02-01', TIMESTAMP_LTZ '2024-03-01 00:00:00')) AS t(x, s, d, ts)"
)

SPARK_CASES: list[tuple[str, Any]] = [
    ("array_agg(x)[1] + 1", 3),
    ("array_agg(x)[max(x) - 1] + 1", 3),
    ("(array_agg(x) || array(max(x)))[2] + 1", 3),
    ("concat(array_agg(x), array(7))[2] + 1", 8),
    ("map('a', max(x))['a'] + 1", 3),
    ("struct(max(x)).col1 + 1", 3),
    ("array_agg(struct(x AS y)).y[0] + 1", 2),
    ("transform(array_agg(x), a -> a + 1)[0] + 1", 3),
    ("transform(array(5), a -> a + max(x))[0] + 1", 8),
    ("filter(array_agg(x), a -> a > 1)[0] + 1", 3),
    ("CAST(exists(array_agg(x), a -> a > 1) AS INT) + 1", 2),
    ("CAST((max(x) IS NULL) AS INT) + 1", 1),
    ("CAST((max(x) > 1) IS TRUE AS INT) + 1", 2),
    ("CAST(max(s) RLIKE 'a' AS INT) + 1", 1),
    ("CAST('b' LIKE max(s) AS INT) + 1", 2),
    ("CAST(max(x) IN (1, 2) AS INT) + 1", 2),
    ("nullif(max(x), 1) + 1", 3),
    ("~max(x) + 1", -2),
    ("max(x) % 2 + 1", 1),
    ("datediff(max(d), min(d)) + 1", 32),
    ("day(max(d) + 1) + 1", 3),
    ("day(max(d) - INTERVAL '1' DAY) + 1", 32),
    ("day(min(d) + INTERVAL 1 DAY * max(x)) + 1", 4),
    ("day(timestampadd(DAY, max(x), max(ts))) + 1", 4),
    ("timestampdiff(DAY, min(ts), max(ts)) + 1", 61),
    ("day(max(ts) AT TIME ZONE 'UTC') + 1", 2),
    ("CAST(((SELECT 1)) IS NULL AS INT) + 1", 1),
    ("CAST((1 IN (SELECT 1)) IS TRUE AS INT) + 1", 2),
    ("CAST(floor(rand()) IS NULL AS INT) + 1", 1),
]
FLINK_CASES: list[tuple[str, Any]] = [
    ("ARRAY_AGG(x)[1] + 1", 2),
    ("ARRAY_AGG(x)[max(x)] + 1", 3),
    ("ROW(max(x), 1).EXPR$0 + 1", 3),
    ("EXTRACT(DAY FROM max(d) + INTERVAL '1' DAY) + 1", 3),
    ("TIMESTAMPDIFF(DAY, min(ts), max(ts)) + 1", 61),
    ("CHAR_LENGTH(max(s) || max(s)) + 1", 3),
]


@pytest.mark.parametrize(("written", "value"), SPARK_CASES, ids=[c[0] for c in SPARK_CASES])
def test_spark(written: str, value: Any) -> None:
    assert ask(f"SELECT {written}{'' if 'SELECT' in written or 'rand' in written else FROM}", SPARK).rows == [[value]]


@pytest.mark.parametrize(("written", "value"), FLINK_CASES, ids=[c[0] for c in FLINK_CASES])
def test_flink(written: str, value: Any) -> None:
    assert ask(f"SELECT {written}{FROM}", FLINK).rows == [[value]]


def test_the_index_of_a_lambda_leaves_text_alone() -> None:
    written = "SELECT transform(array(7, 8), (v, i) -> concat('l0_1 l1_1 ', CAST(i AS STRING)))"
    assert ask(written, SPARK).rows == [[["l0_1 l1_1 0", "l0_1 l1_1 1"]]]


def test_lambdas_with_an_index_nest() -> None:
    written = "SELECT transform(array(7, 8), (v, i) -> transform(array(v), (w, j) -> w * 100 + i * 10 + j))"
    assert ask(written, SPARK).rows == [[[[700], [810]]]]
