"""What a statement's query says becomes: which positions go, which rows come."""

from __future__ import annotations

import resource
from collections.abc import Iterator

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import Duck, duckdb
from bergsql.engine.table.row_changes import RowChanges, collect_changes


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck()
    yield made
    made.close()


def values(*rows: str) -> str:
    """A change query of (file, position, clause, row_id, columns…)."""
    return f"SELECT * FROM (VALUES {', '.join(f'({r})' for r in rows)}) AS v"


def gone(changes: RowChanges) -> dict[int, list[int]]:
    return {file: list(positions) for file, positions in changes.gone.items()}


def coming(changes: RowChanges) -> list[tuple[object, ...]]:
    assert changes.rows is not None
    return sorted(changes.cursor.execute(changes.rows.sql).fetchall(), key=str)


def test_positions_of_rows_that_go(duck: Duck) -> None:
    sql = "SELECT i % 3, i, 0, NULL FROM range(10) AS t(i)"
    with collect_changes(duck, sql, {}, tasks=(), clauses=["delete"], unique=False) as changes:
        assert gone(changes) == {0: [0, 3, 6, 9], 1: [1, 4, 7], 2: [2, 5, 8]}
        assert changes.rows is None
        assert changes.counts == (10,)


def test_clauses_are_counted_and_rows_without_one_left_alone(duck: Duck) -> None:
    sql = values(
        "0, 5, 0, 105, NULL, NULL",
        "0, 6, 1, 106, 'b', 2",
        "1, 0, NULL, 7, 'never', 0",
        "NULL, NULL, 2, NULL, 'c', 3",
        "NULL, NULL, 2, NULL, NULL, NULL",
        "NULL, NULL, NULL, NULL, 'never', 0",
    )
    for unique in (False, True):
        kinds = ("delete", "update", "insert")
        with collect_changes(duck, sql, {}, tasks=(), clauses=kinds, unique=unique) as changes:
            assert gone(changes) == {0: [5, 6]}
            assert changes.counts == (1, 1, 2)
            assert coming(changes) == [("b", 2, 106), ("c", 3, None), (None, None, None)]
            assert changes.rows is not None
            assert changes.rows.lineage
            assert changes.rows.rows == 3


def test_rows_without_numbers_have_no_lineage(duck: Duck) -> None:
    sql = values("0, 5, 0, CAST(NULL AS BIGINT), 1")
    with collect_changes(duck, sql, {}, tasks=(), clauses=["update"], unique=False) as changes:
        assert changes.rows is not None
        assert not changes.rows.lineage


def test_no_row_comes_where_no_clause_was_met_that_writes(duck: Duck) -> None:
    sql = values("0, 5, 0, NULL, NULL")
    with collect_changes(duck, sql, {}, tasks=(), clauses=["delete", "insert"], unique=True) as changes:
        assert changes.rows is None
        assert changes.counts == (1, 0)


def test_columns_may_be_called_anything(duck: Duck) -> None:
    sql = 'SELECT 0, 1, 0, 2, 10 AS file, 20 AS clause, 30 AS "row_id", 40 AS FILE, 50 AS "a ""b"'
    with collect_changes(duck, sql, {}, tasks=(), clauses=["update"], unique=False) as changes:
        assert coming(changes) == [(10, 20, 30, 40, 50, 2)]


def test_variables_reach_the_query(duck: Duck) -> None:
    sql = "SELECT 0, getvariable('place'), 0, NULL"
    with collect_changes(duck, sql, {"place": 12}, tasks=(), clauses=["delete"], unique=False) as changes:
        assert gone(changes) == {0: [12]}


@pytest.mark.parametrize("second", ["0, 5, 1, NULL, 1", "0, 5, NULL, NULL, 1"])
def test_a_row_matched_twice_is_refused(duck: Duck, second: str) -> None:
    sql = values("0, 5, 1, NULL, 1", "1, 5, 0, NULL, NULL", second)
    with pytest.raises(BergError, match="more than one row of the source") as raised:
        collect_changes(duck, sql, {}, tasks=(), clauses=["delete", "update"], unique=True)
    assert raised.value.code is ErrorCode.CARDINALITY
    assert not duck._open


def test_a_row_deleted_twice_counts_once_where_that_is_allowed(duck: Duck) -> None:
    sql = values("0, 5, 0, NULL", "0, 5, 0, NULL", "0, 6, 0, NULL")
    with collect_changes(duck, sql, {}, tasks=(), clauses=["delete"], unique=False) as changes:
        assert gone(changes) == {0: [5, 6]}
        assert changes.counts == (2,)


def test_a_position_too_far_is_refused(duck: Duck) -> None:
    last = (1 << 32) - 1
    sql = values(f"0, {last}, 0, NULL")
    with collect_changes(duck, sql, {}, tasks=(), clauses=["delete"], unique=False) as changes:
        assert gone(changes) == {0: [last]}
    with pytest.raises(BergError, match="4294967296 of a data file"):
        collect_changes(duck, values(f"0, {last + 1}, 0, NULL"), {}, tasks=(), clauses=["delete"], unique=False)


def test_what_the_query_raises_leaves_nothing_open(duck: Duck) -> None:
    with pytest.raises(duckdb.Error):
        collect_changes(duck, "SELECT 0, 1, 0, error('no')", {}, tasks=(), clauses=["update"], unique=False)
    assert not duck._open


@pytest.mark.parametrize("order", ["", " ORDER BY hash(i)"])
def test_ten_million_positions_take_little(duck: Duck, order: str) -> None:
    sql = f"SELECT i % 50, i // 5, 0, NULL FROM range(10_000_000) AS t(i){order}"
    before = resource.getrusage(resource.RUSAGE_SELF)
    with collect_changes(duck, sql, {}, tasks=(), clauses=["delete"], unique=False) as changes:
        after = resource.getrusage(resource.RUSAGE_SELF)
        assert changes.counts == (10_000_000,)
        assert sum(map(len, changes.gone.values())) == 10_000_000
    assert after.ru_utime - before.ru_utime < 20


@pytest.mark.parametrize("late", [0, 5_000_000])
def test_what_fails_at_any_row_is_duckdbs_error(duck: Duck, late: int) -> None:
    """Arrow hands an error on as one of its own when some rows have been streamed."""
    sql = f"SELECT 0, i, CASE WHEN i >= {late} THEN error('boom') ELSE 0 END, NULL FROM range(6000000) AS t(i)"
    with pytest.raises(duckdb.InvalidInputException, match="boom"):
        collect_changes(duck, sql, {}, tasks=(), clauses=["delete"], unique=False)
