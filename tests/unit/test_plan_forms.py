"""Queries put together of any forms give rows or one error of ours: never a traceback, never an internal error."""

from __future__ import annotations

import duckdb
from hypothesis import given, settings
from hypothesis import strategies as st

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.sql.flavour import Flavour
from tests.support.planning import FLINK, SPARK, ask

TABLE = "(VALUES (1, 'a', ARRAY[1, 2]), (2, CAST(NULL AS STRING), ARRAY[3])) AS t(i, s, xs)"
SOURCES = [
    TABLE,
    f"{TABLE} PIVOT (SUM(i) FOR s IN ('a', 'b' AS bee))",
    "(SELECT 1 AS i, 2 AS s) UNPIVOT (v FOR n IN (i, s)) AS u",
    f"{TABLE} TABLESAMPLE (50 PERCENT)",
    f"{TABLE} CROSS JOIN UNNEST(xs) WITH ORDINALITY AS u(x, n)",
    f"{TABLE}, LATERAL (SELECT i + 1 AS j) AS l",
    f"{TABLE} LATERAL VIEW OUTER posexplode(xs) e AS p, x",
    f"({TABLE} JOIN (VALUES (1)) AS u(k) ON i = k) AS j",
    f"{TABLE} ASOF LEFT JOIN (VALUES (0)) AS u(k) ON i >= k",
    f"{TABLE}, (VALUES (1)) AS u(k) FULL JOIN (VALUES (2)) AS v(m) ON k = m",
    f"{TABLE} NATURAL JOIN (VALUES (1)) AS u(i)",
]
ITEMS = ["*", "i", "* EXCEPT (i)", "* REPLACE (i + 1 AS i)", "t.*", "COUNT(*)", "s, GROUPING(s)", "explode(xs)",
         "ROW_NUMBER() OVER (ORDER BY i) AS r", "stack(2, 1, 2)"]  # fmt: skip
WHERE = ["", "WHERE i = ANY (1, 2)", "WHERE s LIKE ANY ('a%', 'b')", "WHERE (i, s) IN ((1, 'a'))", "WHERE s IS JSON",
         "WHERE s SIMILAR TO 'a|b'", "WHERE EXISTS (SELECT 1)"]  # fmt: skip
GROUP = ["", "GROUP BY ALL", "GROUP BY ROLLUP (s)", "GROUP BY i, s GROUPING SETS ((i), (s))", "GROUP BY 1"]
TAIL = ["", "ORDER BY ALL", "ORDER BY 1 FETCH FIRST 1 ROW WITH TIES", "QUALIFY RANK() OVER (ORDER BY i) = 1", "LIMIT 1",
        "UNION BY NAME SELECT 1 AS i", "UNION ALL SELECT 1"]  # fmt: skip


@given(*(st.sampled_from(x) for x in (ITEMS, SOURCES, WHERE, GROUP, TAIL)), st.sampled_from([FLINK, SPARK]))
@settings(max_examples=40, deadline=None)
def test_any_forms_together(item: str, source: str, where: str, group: str, tail: str, flavour: Flavour) -> None:
    sql = f"SELECT {item} FROM {source} {where} {group} {tail}"
    error = outcome(sql, flavour)
    if error is not None:
        assert error.code is not ErrorCode.INTERNAL, sql
        assert "cannot be run" not in error.message, sql


def outcome(sql: str, flavour: Flavour) -> BergError | None:
    """What it fails with; anything but an error of ours or one that DuckDB raises fails the test."""
    try:
        ask(sql, flavour)
    except BergError as error:
        return error
    except duckdb.Error as error:
        return from_duckdb_error(error)
    return None
