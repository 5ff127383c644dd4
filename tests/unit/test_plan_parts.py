"""A part of a query that planning does not read is refused by name."""

from __future__ import annotations

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from tests.support.planning import SPARK, ask, plan

T = "(VALUES (1, 'a'), (2, 'b')) AS t(i, s)"

REFUSED = [
    (f"SELECT i FROM {T} GROUP BY i WITH TOTALS", "GROUP BY … WITH TOTALS"),
    (
        f"SELECT sum(i) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE CURRENT ROW) FROM {T}",
        "EXCLUDE in a window's frame",
    ),
]


@pytest.mark.parametrize(("sql", "form"), REFUSED, ids=[r[1] for r in REFUSED])
def test_what_is_not_read_is_refused(sql: str, form: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(sql, SPARK)
    assert raised.value.code is ErrorCode.UNSUPPORTED
    assert raised.value.message == f"{form} is not supported yet."
    assert raised.value.span is not None


@pytest.mark.parametrize("clause", ["INTO x FROM", "FROM"], ids=["SELECT INTO", "FOR UPDATE"])
def test_what_means_nothing_here_is_refused_with_a_reason(clause: str) -> None:
    with pytest.raises(BergError) as raised:
        plan(f"SELECT i {clause} {T}{' FOR UPDATE' if clause == 'FROM' else ''}", SPARK)
    assert raised.value.code is ErrorCode.INVALID
    assert raised.value.hint


def test_distribute_by_does_nothing_but_its_keys_must_be_there() -> None:
    assert ask(f"SELECT i FROM {T} DISTRIBUTE BY s SORT BY i", SPARK).rows == [[1], [2]]
    with pytest.raises(BergError, match="Column 'nope' was not found"):
        plan(f"SELECT i FROM {T} DISTRIBUTE BY nope", SPARK)
