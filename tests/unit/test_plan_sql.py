"""What DuckDB is given: plain columns stay plain, and a rewriting costs no more than it must."""

from __future__ import annotations

import pytest

from bergsql.engine.sql.flavour import Flavour
from tests.support.planning import FLINK, SPARK, plan

T = "(VALUES (1, CAST(2 AS BIGINT), 'x', 1e0)) AS t(i, l, s, d)"
FROM = """ FROM (VALUES (1, 2, 'x', 1.0)) AS "t"("i", "l", "s", "d")"""

PAIRS: list[tuple[str, str, str | None]] = [
    # written, DuckDB's in flink, DuckDB's in spark (None: the same)
    ("i, l, s", '"t"."i" AS "c0", "t"."l" AS "c1", "t"."s" AS "c2"', None),
    ("count(*), count(s), min(d)", 'count(*) AS "c0", count("t"."s") AS "c1", min("t"."d") AS "c2"', None),
    ("i = 5", '("t"."i" = 5) AS "c0"', None),
    ("i < 5 AND l >= 7 AND s = 'a'", '(("t"."i" < 5) AND ("t"."l" >= 7) AND ("t"."s" = \'a\')) AS "c0"', None),
    ("i IN (1, 2)", '("t"."i" IN (1, 2)) AS "c0"', None),
    ("i = '5'", '("t"."i" = 5) AS "c0"', None),
    ("i BETWEEN 1 AND 3", '(("t"."i" >= 1) AND ("t"."i" <= 3)) AS "c0"', None),
    ("s LIKE 'a%'", '("t"."s" LIKE \'a%\') AS "c0"', None),
    ("d + 1", '("t"."d" + CAST(1.0 AS DOUBLE)) AS "c0"', None),
    ("d / 2", '("t"."d" / CAST(2.0 AS DOUBLE)) AS "c0"', None),
    ("i / 2", 'CAST("t"."i" // 2 AS INTEGER) AS "c0"', '(CAST("t"."i" AS DOUBLE) / CAST(2.0 AS DOUBLE)) AS "c0"'),
    ("1 + 2", '(1 + 2) AS "c0"', None),
    ("trim(s) || 'x'", """(trim("t"."s", ' ') || 'x') AS "c0\"""", None),
    ("CAST(i AS BIGINT), CAST(i AS DOUBLE)", 'CAST("t"."i" AS BIGINT) AS "c0", CAST("t"."i" AS DOUBLE) AS "c1"', None),
    ("CAST(s AS STRING)", '"t"."s" AS "c0"', None),
    (
        "sum(i)",
        'CAST((xor(sum("t"."i") & 4294967295, 2147483648) - 2147483648) AS INTEGER) AS "c0"',
        'CAST(sum("t"."i") AS BIGINT) AS "c0"',
    ),
    (
        "i + 1",
        'coalesce(TRY(CAST(("t"."i" + 1) AS INTEGER)), CAST((xor((CAST("t"."i" AS BIGINT) + CAST(1 AS BIGINT)) & '
        '4294967295, 2147483648) - 2147483648) AS INTEGER)) AS "c0"',
        None,
    ),
]


@pytest.mark.parametrize(("written", "flink", "spark"), PAIRS, ids=[p[0] for p in PAIRS])
@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_sql(written: str, flink: str, spark: str | None, flavour: Flavour) -> None:
    wanted = flink if flavour is FLINK or spark is None else spark
    sql = plan(f"SELECT {written} FROM {T}", flavour).sql
    assert sql.partition(" FROM (VALUES")[0] == f"SELECT {wanted}"


def test_a_chain_of_additions_does_not_double_with_each() -> None:
    """Every sum is tried and, if it overflows, wrapped; written out at each step the text would have 2^200 parts."""
    short = len(plan("SELECT " + " + ".join(["i"] * 20) + f" FROM {T}", FLINK).sql)
    long = len(plan("SELECT " + " + ".join(["i"] * 200) + f" FROM {T}", FLINK).sql)
    assert long < 15 * short


def test_nested_casts_do_not_double_with_each() -> None:
    expression = "d"
    for _ in range(12):
        expression = f"CAST(CAST({expression} AS STRING) AS DOUBLE)"
    assert len(plan(f"SELECT {expression} FROM {T}", SPARK).sql) < 40_000


def test_a_long_condition_stays_flat() -> None:
    written = " OR ".join(f"i = {n}" for n in range(2000))
    sql = plan(f"SELECT i FROM {T} WHERE {written}", FLINK).sql
    assert "((((" not in sql


@pytest.mark.parametrize("flavour", [FLINK, SPARK])
def test_the_same_query_has_the_same_sql(flavour: Flavour) -> None:
    written = f"SELECT CAST(d + 1 AS STRING), CAST(s AS DATE), 1.5 / i FROM {T}"
    assert plan(written, flavour).sql == plan(written, flavour).sql


def test_names_that_differ_only_in_case_stay_apart() -> None:
    sql = plan("SELECT q.a, q.A FROM (SELECT 1 AS a, 2 AS A) AS q", FLINK).sql
    assert '"q"."a" AS "c0", "q"."A_1" AS "c1"' in sql


def test_null_order_is_written_out() -> None:
    sql = plan(f"SELECT i, l FROM {T} ORDER BY i, l DESC, s", FLINK).sql
    assert sql.endswith('ORDER BY 1 ASC NULLS FIRST, 2 DESC NULLS LAST, "t"."s" ASC NULLS FIRST')
