"""A part of a query that planning does not read is refused by name."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import SPARK, ask, plan

T = "(VALUES (1, 'a'), (2, 'b')) AS t(i, s)"

REFUSED = [
    (f"SELECT * FROM {T} PIVOT (sum(i) FOR s IN ('a'))", "PIVOT"),
    (f"SELECT * FROM {T} TABLESAMPLE (1 ROWS)", "TABLESAMPLE"),
    ("SELECT * FROM (SELECT 1) TABLESAMPLE (10 PERCENT)", "TABLESAMPLE"),
    (f"SELECT i FROM {T} FOR UPDATE", "FOR UPDATE"),
    (f"SELECT DISTINCT ON (i) i FROM {T}", "DISTINCT ON"),
    (f"SELECT i FROM {T} GROUP BY i WITH TOTALS", "GROUP BY … WITH TOTALS"),
    (
        f"SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM {T}",
        "EXCLUDE in a window's frame",
    ),
    (f"SELECT i FROM {T} UNION BY NAME SELECT 1", "UNION BY NAME"),
]


@pytest.mark.parametrize(("sql", "form"), REFUSED, ids=[r[1] for r in REFUSED])
def test_what_is_not_read_is_refused(sql: str, form: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(sql, SPARK)
    assert raised.value.code is ErrorCode.UNSUPPORTED
    assert raised.value.message == f"{form} is not supported yet."
    assert raised.value.span is not None


def test_distribute_by_does_nothing_but_its_keys_must_be_there() -> None:
    assert ask(f"SELECT i FROM {T} DISTRIBUTE BY s SORT BY i", SPARK).rows == [[1], [2]]
    with pytest.raises(BergError, match="Column 'nope' was not found"):
        plan(f"SELECT i FROM {T} DISTRIBUTE BY nope", SPARK)
