"""Statements that others make wrong at the last moment: run again on the table as it is then, and told."""

from __future__ import annotations

import os
from collections.abc import Callable
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import SetProperties
from bergsql.engine.execute import run_again
from bergsql.engine.session import Session, SessionConfig

Sessions = tuple[Session, Session]
Press = pytest.MonkeyPatch
AGAIN = "The statement ran 2 times. Another writer"


def run(session: Session, sql: str) -> list[list[object]]:
    result = session.execute(sql)
    return [list(row) for rows in result.chunks for row in rows]


def said(session: Session, sql: str) -> list[str]:
    """What a statement told."""
    return list(session.execute(sql).messages)


def make(session: Session, properties: str = "") -> None:
    given = "'commit.retry.min-wait-ms' = '1'" + (f", {properties}" if properties else "")
    run(session, f"CREATE TABLE t (id BIGINT, v STRING) WITH ({given})")
    run(session, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    made = [Session(SessionConfig(home=tmp_path, warehouse=str(tmp_path / "wh"))) for _ in range(2)]
    return made[0], made[1]


def meanwhile(monkeypatch: Press, action: Callable[[int], object], times: int = 1) -> Callable[[], int]:
    """Let ``action`` happen just before each of the first commits; how many commits there were, its own aside."""
    original = HadoopCatalog.commit
    commits, inside = 0, False

    def late(catalog: HadoopCatalog, base: LoadedTable, updates: list[object]) -> LoadedTable:
        nonlocal commits, inside
        if not inside:
            commits += 1
            if commits <= times:
                inside = True
                action(commits)
                inside = False
        return original(catalog, base, updates)  # type: ignore[arg-type]

    monkeypatch.setattr(HadoopCatalog, "commit", late)
    return lambda: commits


def data_files(tmp_path: Path) -> set[str]:
    return {p.name for p in tmp_path.rglob("data/**/*") if p.is_file()}


def rows(session: Session) -> list[list[object]]:
    return run(session, "SELECT * FROM t ORDER BY id, v")


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
@pytest.mark.parametrize(
    ("sql", "left"),
    [
        ("DELETE FROM t WHERE v = 'a'", [[2, "b"]]),
        ("UPDATE t SET v = v || '!' WHERE id = 1", [[1, "a!"], [1, "a!"], [2, "b"]]),
        ("INSERT OVERWRITE t SELECT id + 10, v FROM t", [[11, "a"], [11, "a"], [12, "b"]]),
    ],
)
def test_rows_came_that_the_statement_is_about(
    sessions: Sessions, monkeypatch: Press, mode: str, sql: str, left: list[list[object]]
) -> None:
    one, other = sessions
    make(one, ", ".join(f"'write.{command}.mode' = '{mode}'" for command in ("delete", "update")))
    commits = meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (1, 'a')"))
    messages = said(one, sql)
    assert sum(AGAIN in m and "added rows" in m for m in messages) == 1
    assert commits() == 2  # the first met the rows: its files were for nothing, and the plan too
    assert rows(one) == rows(other) == left


@pytest.mark.parametrize(("patience", "alone"), [(60.0, True), (0.0, False)])
def test_others_wait_for_the_second_run(
    sessions: Sessions, monkeypatch: Press, tmp_path: Path, patience: float, alone: bool
) -> None:
    """Of eight writers of the same rows one that is slower lost each time, and failed when its tries were over."""
    one, other = sessions
    make(one)
    meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (1, 'early')"))
    monkeypatch.setattr(run_again, "PATIENCE", patience)
    (metadata,) = tmp_path.rglob("metadata")
    original = HadoopCatalog.check_writable
    locked: list[bool] = []

    def begun(catalog: HadoopCatalog, table: LoadedTable) -> None:
        locked.append(is_locked(metadata))
        original(catalog, table)

    monkeypatch.setattr(HadoopCatalog, "check_writable", begun)
    run(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert locked == [False, True, alone]  # the one between is the INSERT, in the turn of the first commit
    assert not is_locked(metadata)


def is_locked(directory: Path) -> bool:
    fd = os.open(directory, os.O_RDONLY)
    try:
        flock(fd, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def test_rows_went_from_a_file_that_is_rewritten(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one, "'write.delete.mode' = 'merge-on-read', 'write.update.isolation-level' = 'snapshot'")
    meanwhile(monkeypatch, lambda _: run(other, "DELETE FROM t WHERE id = 2"))
    messages = said(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert any(AGAIN in m and "deleted rows" in m for m in messages)
    assert rows(one) == [[1, "new"]]


def test_nothing_that_matters_happened(sessions: Sessions, monkeypatch: Press, tmp_path: Path) -> None:
    """The commit is made anew, the statement is not run again: its files are used."""
    one, other = sessions
    make(one)
    written: list[set[str]] = []

    def action(_: int) -> None:
        written.append(data_files(tmp_path))
        run(other, "ALTER TABLE t SET TBLPROPERTIES ('x' = 'y')")

    commits = meanwhile(monkeypatch, action)
    messages = said(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert commits() == 2
    assert not any("ran" in m for m in messages)
    assert data_files(tmp_path) == written[0]
    assert rows(one) == [[1, "new"], [2, "b"]]


def test_rows_came_that_snapshot_isolation_does_not_mind(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one, "'write.update.isolation-level' = 'snapshot'")
    meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (1, 'theirs')"))
    messages = said(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert not any("ran" in m for m in messages)
    assert rows(one) == [[1, "new"], [1, "theirs"], [2, "b"]]


@pytest.mark.parametrize(
    ("retries", "says"), [(0, "Another writer added rows"), (2, "The statement failed 3 times: Another")]
)
def test_others_are_in_the_way_each_time(
    sessions: Sessions, monkeypatch: Press, tmp_path: Path, retries: int, says: str
) -> None:
    one, other = sessions
    make(one, f"'commit.retry.num-retries' = '{max(retries, 1)}'")
    if retries == 0:
        # One more attempt of the commit finds the rows; the statement is given up where no time is left.
        run(one, "ALTER TABLE t SET TBLPROPERTIES ('commit.retry.total-timeout-ms' = '1')")
    commits = meanwhile(monkeypatch, lambda i: run(other, f"INSERT INTO t VALUES (1, 'n{i}')"), times=99)
    before = data_files(tmp_path)
    with pytest.raises(BergError, match=says if retries else "added rows|failed once") as caught:
        run(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert caught.value.code is ErrorCode.CONFLICT
    assert "commit.retry.num-retries" in str(caught.value.hint) or retries == 0
    theirs = len(data_files(tmp_path) - before)
    assert theirs == commits() == retries + 1  # nothing of the statement's own files is left
    assert len(rows(one)) == 2 + theirs


def test_a_table_made_anew_is_another(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one)

    def action(_: int) -> None:
        run(other, "DROP TABLE t")
        make(other)

    meanwhile(monkeypatch, action)
    with pytest.raises(BergError, match="dropped and created anew"):
        run(one, "DELETE FROM t WHERE id = 1")
    assert rows(other) == [[1, "a"], [2, "b"]]


def test_a_table_made_anew_between_two_tries(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one)
    meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (1, 'x')"))
    original = HadoopCatalog.load_table
    seen: list[str] = []

    def late(catalog: HadoopCatalog, *arguments: object) -> LoadedTable:
        if seen == ["rows of others"] and catalog is one.catalog("default_catalog"):
            seen.append("dropped")
            run(other, "DROP TABLE t")
            make(other)
        table = original(catalog, *arguments)  # type: ignore[arg-type]
        if not seen and len(table.metadata.snapshots) == 2 and catalog is one.catalog("default_catalog"):
            seen.append("rows of others")
        return table

    monkeypatch.setattr(HadoopCatalog, "load_table", late)
    with pytest.raises(BergError, match="Another writer added rows"):
        run(one, "DELETE FROM t WHERE id = 1")
    assert seen == ["rows of others", "dropped"]
    assert rows(other) == [[1, "a"], [2, "b"]]


def test_a_table_dropped_while_its_changes_are_looked_at(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one)
    meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (1, 'x')"))
    original = HadoopCatalog.load_table

    def late(catalog: HadoopCatalog, *arguments: object) -> LoadedTable:
        table = original(catalog, *arguments)  # type: ignore[arg-type]
        if len(table.metadata.snapshots) == 2 and catalog is one.catalog("default_catalog"):
            run(other, "DROP TABLE t")
        return table

    monkeypatch.setattr(HadoopCatalog, "load_table", late)
    with pytest.raises(BergError, match=r"Table default_catalog.default_database.t was not found"):
        run(one, "DELETE FROM t WHERE id = 1")


def test_the_columns_are_those_of_now(sessions: Sessions, monkeypatch: Press) -> None:
    """What was planned for the columns of then is planned anew."""
    one, other = sessions
    make(one)

    def action(_: int) -> None:
        run(other, "ALTER TABLE t ADD COLUMN w STRING")
        run(other, "INSERT INTO t VALUES (1, 'x', 'kept')")

    meanwhile(monkeypatch, action)
    messages = said(one, "UPDATE t SET v = 'new' WHERE id = 1")
    assert any(AGAIN in m for m in messages)
    assert run(one, "SELECT * FROM t ORDER BY id, w") == [[1, "new", None], [1, "new", "kept"], [2, "b", None]]


def test_a_branch(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one)
    one_table = one.catalog("default_catalog").load_table(_ident(one))
    from bergsql.catalog.metadata.changes import SetSnapshotRef
    from bergsql.catalog.metadata.snapshots import SnapshotRef

    head = one_table.metadata.current_snapshot_id
    assert head is not None
    one.catalog("default_catalog").commit(one_table, [SetSnapshotRef("b", SnapshotRef(head))])

    def action(_: int) -> None:
        run(other, "INSERT INTO t VALUES (1, 'main')")  # which is in nobody's way
        run(other, "INSERT INTO t.branch_b VALUES (1, 'branch')")

    meanwhile(monkeypatch, action)
    messages = said(one, "UPDATE t.branch_b SET v = v || '!' WHERE id = 1")
    assert sum(AGAIN in m for m in messages) == 1
    assert run(one, "SELECT v FROM t.branch_b ORDER BY v") == [["a!"], ["b"], ["branch!"]]
    assert [v for _, v in rows(one)] == ["a", "main", "b"]


def _ident(session: Session) -> TableIdent:
    from bergsql.engine.names import table_name

    return table_name(session, ("t",)).ident


def test_a_statement_set_reads_its_tables_as_they_were(sessions: Sessions, monkeypatch: Press) -> None:
    """None of its INSERTs is run again: it would see what those before it did."""
    one, other = sessions
    make(one)
    meanwhile(monkeypatch, lambda _: run(other, "INSERT INTO t VALUES (3, 'c')"))
    with pytest.raises(BergError, match="Another writer added rows"):
        run(one, "EXECUTE STATEMENT SET BEGIN INSERT OVERWRITE t SELECT id, 'x' FROM t; END")
    assert rows(one) == [[1, "a"], [2, "b"], [3, "c"]]


def test_a_race_for_the_properties_alone(sessions: Sessions, monkeypatch: Press) -> None:
    one, other = sessions
    make(one)

    def action(i: int) -> None:
        catalog = other.catalog("default_catalog")
        table = catalog.load_table(_ident(other))
        catalog.commit(table, [SetProperties({"n": str(i)})])

    commits = meanwhile(monkeypatch, action, times=3)
    said(one, "DELETE FROM t WHERE id = 1")
    assert commits() == 4
    assert rows(one) == [[2, "b"]]
