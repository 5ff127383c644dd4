"""Statements that another session is quicker than, at the last moment."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.engine.session import Session, SessionConfig


def run(session: Session, sql: str) -> list[list[object]]:
    result = session.execute(sql)
    return [list(row) for rows in result.chunks for row in rows]


@pytest.fixture
def sessions(tmp_path: Path) -> tuple[Session, Session]:
    made = [Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh"))) for _ in range(2)]
    return made[0], made[1]


def before(monkeypatch: pytest.MonkeyPatch, method: str, action: Callable[[], object]) -> None:
    """Let ``action`` happen once, just before a method of the catalog."""
    original = getattr(HadoopCatalog, method)

    def late(*arguments: object, **named: object) -> object:
        monkeypatch.undo()
        action()
        return original(*arguments, **named)

    monkeypatch.setattr(HadoopCatalog, method, late)


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("CREATE TABLE IF NOT EXISTS t AS SELECT 2 AS a", [[1]]),
        ("CREATE TABLE IF NOT EXISTS t (b STRING)", [[1]]),
        ("CREATE OR REPLACE TABLE t AS SELECT 2 AS a", [[2]]),
        ("CREATE OR REPLACE TABLE t (a INT)", []),
    ],
)
def test_a_table_that_another_session_just_made(
    sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch, sql: str, rows: list[list[object]]
) -> None:
    one, other = sessions
    before(monkeypatch, "create_table", lambda: run(other, "CREATE TABLE t AS SELECT 1 AS a"))
    run(one, sql)
    for session in sessions:
        assert run(session, "SELECT a FROM t") == rows


def test_a_table_that_must_be_new(sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = sessions
    before(monkeypatch, "create_table", lambda: run(other, "CREATE TABLE t AS SELECT 1 AS a"))
    with pytest.raises(BergError) as caught:
        run(one, "CREATE TABLE t AS SELECT 2 AS a")
    assert caught.value.code is ErrorCode.ALREADY_EXISTS
    assert run(one, "SELECT a FROM t") == [[1]]


@pytest.mark.parametrize("sql", ["DROP TABLE IF EXISTS t", "DROP TABLE t"])
def test_a_table_that_another_session_just_dropped(
    sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    one, other = sessions
    run(one, "CREATE TABLE t (a INT)")
    before(monkeypatch, "drop_table", lambda: run(other, "DROP TABLE t"))
    if "IF EXISTS" in sql:
        run(one, sql)
    else:
        with pytest.raises(BergError, match="was not found"):
            run(one, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM t), (SELECT COUNT(*) FROM v)",
        "SELECT COUNT(*), MAX(b.n), MAX(b.n) FROM t AS a, (SELECT COUNT(*) AS n FROM t) AS b",
        "SELECT COUNT(*), (SELECT COUNT(*) FROM t.snapshots), (SELECT COUNT(*) FROM `t$history`) FROM t",
    ],
)
def test_a_statement_reads_a_table_in_one_state(
    sessions: tuple[Session, Session], monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    one, other = sessions
    run(other, "CREATE TABLE t AS SELECT 1 AS a")
    run(one, "CREATE TEMPORARY VIEW v AS SELECT * FROM t")
    original = HadoopCatalog.load_table

    def busy(catalog: HadoopCatalog, ident: TableIdent) -> LoadedTable:
        found = original(catalog, ident)
        with monkeypatch.context() as quiet:
            quiet.setattr(HadoopCatalog, "load_table", original)
            run(other, "INSERT INTO t VALUES (2)")
        return found

    monkeypatch.setattr(HadoopCatalog, "load_table", busy)
    (row,) = run(one, sql)
    assert set(row) == {1}
