"""MariaDB's binlog as a stream of changes: what it gives, where it goes on, and what it refuses."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.binlog import MOST_WAITING, Binlog
from bergsql.engine.connectors.mysql.events import Change, ChangeKind, Event, Moved, SchemaChange
from bergsql.engine.connectors.mysql.position import Position
from bergsql.engine.connectors.mysql.statements import Means, meaning
from bergsql.engine.connectors.mysql.transactions import Transactions
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until as wait_until

DATABASE = "mysql_binlog"
_ids = count(4_100_000)


@pytest.fixture
def table(mariadb: MariaDB) -> str:
    mariadb.run(
        f"CREATE DATABASE IF NOT EXISTS {DATABASE}",
        f"DROP TABLE IF EXISTS {DATABASE}.t, {DATABASE}.other",
        f"CREATE TABLE {DATABASE}.t (i INT PRIMARY KEY, v VARCHAR(10))",
        f"CREATE TABLE {DATABASE}.other (i INT PRIMARY KEY)",
    )
    return f"{DATABASE}.t"


def end(mariadb: MariaDB, *, gtid: bool = False) -> Position:
    file, pos, *_ = mariadb.run("SHOW MASTER STATUS")[0]
    executed = str(mariadb.run("SELECT @@gtid_binlog_pos")[0][0]) if gtid else None
    return Position(str(file), int(pos), executed)


def translated(error: Exception) -> BergError:
    return BergError(ErrorCode.CONNECTION, " ".join(map(str, error.args)))


@contextmanager
def followed(mariadb: MariaDB, start: Position, **more: Any) -> Iterator[Binlog]:
    settings = {"host": "127.0.0.1", "port": mariadb.port, "user": USER, "password": PASSWORD, "charset": "utf8mb4"}
    made = Binlog(
        settings,
        start,
        lambda schema, name: (schema, name) == (DATABASE, "t"),
        server_id=next(_ids),
        is_mariadb=True,
        translate=translated,
        **more,
    )
    with closing(made):
        yield made


def until(binlog: Binlog, holds: Callable[[list[Event]], object], most: int = 1000) -> list[Event]:
    found: list[Event] = []
    deadline = time.monotonic() + 30
    while not holds(found):
        assert time.monotonic() < deadline, found
        found += binlog.read(most, 0.1)
    return found


def rows(events: list[Event]) -> list[tuple[str, list[Any], list[Any]]]:
    return [(e.kind.value, [*e.before], [*e.after]) for e in events if isinstance(e, Change)]


def total(events: list[Event]) -> int:
    return sum(e.rows for e in events if isinstance(e, Change))


def test_what_statements_did_to_rows(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb)
    mariadb.run(
        f"INSERT INTO {table} VALUES (1, 'a'), (2, NULL)",
        f"INSERT INTO {DATABASE}.other VALUES (1)",
        f"UPDATE {table} SET v = 'b' WHERE i = 1",
        f"REPLACE INTO {table} VALUES (2, 'c')",
        f"DELETE FROM {table} WHERE i = 1",
    )
    with followed(mariadb, start) as binlog:
        found = until(binlog, lambda events: total(events) == 5)
    assert rows(found) == [
        ("insert", [], [(1, "a"), (2, None)]),
        ("update", [(1, "a")], [(1, "b")]),
        ("update", [(2, None)], [(2, "c")]),
        ("delete", [(1, "b")], []),
    ]


def test_it_goes_on_anywhere_in_a_transaction(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb, gtid=True)
    with mariadb.connect(autocommit=False) as connection, connection.cursor() as cursor:
        for n in range(30):
            cursor.execute(f"INSERT INTO {table} VALUES ({2 * n}, 'x'), ({2 * n + 1}, 'y')")
        cursor.execute(f"INSERT INTO {DATABASE}.other VALUES (1)")
        connection.commit()
    mariadb.run(f"INSERT INTO {table} VALUES (60, 'z')")
    seen: list[int] = []
    at = start
    while len(seen) < 61:
        with followed(mariadb, Position.from_json(at.to_json())) as binlog:
            found = until(binlog, lambda events: total(events) > 0, most=7)
            for event in found:
                at = event.position
                if isinstance(event, Change):
                    seen += [row[0] for row in event.after]
    assert seen == list(range(61))


def test_it_goes_on_by_gtid(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb, gtid=True)
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')")
    with followed(mariadb, start) as binlog:
        found = until(binlog, lambda events: events and isinstance(events[-1], Moved) and total(events))
    behind = found[-1].position
    assert behind.gtid == str(mariadb.run("SELECT @@gtid_binlog_pos")[0][0])
    mariadb.run(f"INSERT INTO {table} VALUES (2, 'b')")
    elsewhere = Position("nowhere.000009", 4, behind.gtid)
    with followed(mariadb, elsewhere, by_gtid=True) as binlog:
        assert rows(until(binlog, total)) == [("insert", [], [(2, "b")])]


def test_changed_tables_and_new_files(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb)
    mariadb.run(f"ALTER TABLE {table} ADD COLUMN w INT", "FLUSH BINARY LOGS", f"INSERT INTO {table} VALUES (1, 'a', 7)")
    with followed(mariadb, start) as binlog:
        found = until(binlog, total)
    (change,) = [e for e in found if isinstance(e, Change)]
    assert (change.kind, change.columns, change.after) == (ChangeKind.INSERT, ("i", "v", "w"), [(1, "a", 7)])
    assert [e.sql for e in found if isinstance(e, SchemaChange)] == [f"ALTER TABLE {table} ADD COLUMN w INT"]
    assert start < change.position


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("SET SESSION binlog_row_image = 'MINIMAL'", "only a part of the columns"),
        ("SET SESSION binlog_format = 'STATEMENT'", "as a text, not as rows"),
    ],
)
def test_rows_that_are_not_told_whole_are_refused(mariadb: MariaDB, table: str, setting: str, told: str) -> None:
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')")
    start = end(mariadb)
    with mariadb.connect() as connection, connection.cursor() as cursor:
        cursor.execute(setting)
        cursor.execute(f"UPDATE {table} SET v = 'b' WHERE i = 1")
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match=told):
        until(binlog, total)


@pytest.mark.parametrize(
    "statement",
    [
        "/* of a tool */ UPDATE {table} SET v = 'b' WHERE i = 1",
        "# of a tool\nUPDATE {table} SET v = 'b' WHERE i = 1",
        "SET STATEMENT sort_buffer_size = 100000 FOR DELETE FROM {table}",
        "LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table}",
    ],
)
def test_however_a_text_begins_it_is_refused(mariadb: MariaDB, table: str, statement: str, tmp_path: Path) -> None:
    (file := tmp_path / "rows").write_text("5\tx\n")
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')")
    start = end(mariadb)
    with mariadb.connect(local_infile=True) as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION binlog_format = 'STATEMENT'")
        cursor.execute(statement.format(table=table, file=file))
    mariadb.run(f"INSERT INTO {table} VALUES (2, 'b')")
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match="as a text, not as rows"):
        until(binlog, total)


@pytest.mark.parametrize("by_gtid", [False, True])
def test_a_table_that_is_made_of_rows(mariadb: MariaDB, table: str, by_gtid: bool) -> None:
    """The statement and its rows are one transaction: it is not passed before its end."""
    start = end(mariadb, gtid=True)
    mariadb.run(
        f"CREATE OR REPLACE TABLE {table} (i INT PRIMARY KEY, v VARCHAR(10)) SELECT seq i, 'x' v FROM {DATABASE}.seq_1_to_9",
        f"INSERT INTO {table} VALUES (10, 'y')",
    )
    seen: list[int] = []
    at = start
    for wanted in (SchemaChange, Change, SchemaChange, Change):
        with followed(mariadb, Position.from_json(at.to_json()), by_gtid=by_gtid) as binlog:
            found: list[Event] = []
            while not any(isinstance(event, wanted) for event in found):
                found = until(binlog, bool, 1)
                for event in found:
                    at = event.position
                    if isinstance(event, Change):
                        seen += [row[0] for row in event.after]
                    if isinstance(event, wanted):
                        break
    assert seen == list(range(1, 11))


def test_changes_that_are_taken_back_in_the_binlog_are_refused(mariadb: MariaDB, table: str) -> None:
    mariadb.run(f"CREATE OR REPLACE TABLE {DATABASE}.aside (i INT) ENGINE=MyISAM")
    start = end(mariadb)
    with mariadb.connect(autocommit=False) as connection, connection.cursor() as cursor:
        for statement in (
            f"INSERT INTO {table} VALUES (1, 'a')",
            "SAVEPOINT s",
            f"INSERT INTO {table} VALUES (2, 'b')",
            f"INSERT INTO {DATABASE}.aside VALUES (1)",
            "ROLLBACK TO s",
            f"INSERT INTO {table} VALUES (3, 'c')",
            "COMMIT",
        ):
            cursor.execute(statement)
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match="took back changes"):
        until(binlog, lambda _: False)


def test_transactions_in_two_phases_are_refused(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb)
    with mariadb.connect() as connection, connection.cursor() as cursor:
        for statement in (
            "XA START 'x'",
            f"INSERT INTO {table} VALUES (1, 'a')",
            "XA END 'x'",
            "XA PREPARE 'x'",
            "XA COMMIT 'x'",
        ):
            cursor.execute(statement)
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match="XA transactions"):
        until(binlog, total)


def test_what_comes_behind_a_transaction_in_two_phases(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb)
    with mariadb.connect() as connection, connection.cursor() as cursor:
        for statement in (
            "XA START 'x'",
            f"INSERT INTO {DATABASE}.other VALUES (1)",
            "XA END 'x'",
            "XA PREPARE 'x'",
        ):
            cursor.execute(statement)
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')", "XA COMMIT 'x'", f"INSERT INTO {table} VALUES (2, 'b')")
    with followed(mariadb, start) as binlog:
        found = until(binlog, lambda events: total(events) == 2)
    assert [row for e in found if isinstance(e, Change) for row in e.after] == [(1, "a"), (2, "b")]


def test_a_server_without_gtids_says_where_two_phases_begin_and_end() -> None:
    at = Transactions(Position("b.000001", 4))
    for phase in ("XA START 'x'", "XA END 'x'"):
        if meaning(phase) is Means.BEGIN_XA:
            at.begin(in_two_phases=True)
    assert at.in_two_phases
    assert not at.passed("b.000001", 50)
    at.end("b.000001", 100)
    at.begin()
    assert not at.in_two_phases
    assert meaning("XA COMMIT X'78',X'',1") is Means.END


def test_a_server_that_crashes_writing_a_transaction_leaves_a_part_of_it() -> None:
    at = Transactions(Position("b.000001", 4, "0-1-5"))
    at.begin()
    assert at.turned("b.000002", 4), "nothing of it was read"
    at.begin()
    assert at.add(3) == 3
    assert not at.turned("b.000003", 4)


def test_wide_rows_wait_in_little_memory(mariadb: MariaDB, table: str) -> None:
    mariadb.run(f"ALTER TABLE {table} MODIFY v LONGTEXT")
    start = end(mariadb)
    mariadb.run(*[f"INSERT INTO {table} VALUES ({n}, repeat('x', 1 << 20))" for n in range(80)])
    with followed(mariadb, start) as binlog:
        wait_until("that much", lambda: binlog.waiting >= MOST_WAITING)
        found = binlog.read(1_000_000)
        assert (
            MOST_WAITING <= sum(event.size for event in found if isinstance(event, Change)) >> 10 < MOST_WAITING + 2000
        )
        until(binlog, lambda events: total(found) + total(events) == 80)


def test_a_file_that_is_gone_is_told(mariadb: MariaDB, table: str) -> None:
    start = end(mariadb)
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')", "FLUSH BINARY LOGS")
    deadline = time.monotonic() + 30
    while any(name == start.file for name, *_ in mariadb.run("SHOW BINARY LOGS")):
        assert time.monotonic() < deadline, "readers that are gone hold the file"
        mariadb.run(f"INSERT INTO {DATABASE}.other VALUES ({time.monotonic_ns() % 2**31})", "FLUSH BINARY LOGS")
        mariadb.run(f"PURGE BINARY LOGS TO '{end(mariadb).file}'")
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match="1236"):
        until(binlog, total)


def test_a_table_that_is_not_read_may_be_what_it_will(mariadb: MariaDB, table: str) -> None:
    mariadb.run(f"ALTER TABLE {DATABASE}.other ADD c TEXT COMPRESSED, ADD v VARCHAR(300) COMPRESSED, ADD b BIT(3)")
    start = end(mariadb)
    mariadb.run(
        f"INSERT INTO {DATABASE}.other VALUES (1, repeat('x', 1000), 'y', b'101')",
        f"INSERT INTO {table} VALUES (1, 'a')",
        f"UPDATE {DATABASE}.other, {table} SET c = 'z', t.v = 'b'",
    )
    with followed(mariadb, start) as binlog:
        found = until(binlog, lambda events: total(events) == 2)
    assert rows(found) == [("insert", [], [(1, "a")]), ("update", [(1, "a")], [(1, "b")])]


def test_compressed_columns_among_others(mariadb: MariaDB, table: str) -> None:
    """However the server was told to pack them."""
    mariadb.run(f"ALTER TABLE {table} ADD c TEXT COMPRESSED FIRST, ADD e ENUM('p', 'q'), ADD d VARCHAR(9) COMPRESSED")
    start = end(mariadb)
    with mariadb.connect() as connection, connection.cursor() as cursor:
        for wrap in ("OFF", "ON"):
            cursor.execute(f"SET column_compression_zlib_wrap = {wrap}, column_compression_threshold = 5")
            cursor.execute(f"REPLACE INTO {table} VALUES (repeat('{wrap}', 500), 1, 'v', 'q', 'dddddddd')")
    with followed(mariadb, start) as binlog:
        found = until(binlog, lambda events: total(events) == 2)
    first, second = ("OFF" * 500, 1, "v", "q", "dddddddd"), ("ON" * 500, 1, "v", "q", "dddddddd")
    assert rows(found) == [("insert", [], [first]), ("update", [first], [second])]


def test_an_event_that_cannot_be_read_is_no_lost_connection(mariadb: MariaDB, table: str) -> None:
    mariadb.run("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        mariadb.run(f"ALTER TABLE {table} ADD s TIMESTAMP(6) NOT NULL, ADD w TEXT")
    finally:
        mariadb.run("SET GLOBAL mysql56_temporal_format = ON")
    start = end(mariadb)
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a', '2020-02-02 02:02:02.123456', 'w')")
    with followed(mariadb, start) as binlog, pytest.raises(BergError, match="could not be read") as failed:
        until(binlog, total)
    assert failed.value.code is ErrorCode.INTERNAL
    assert start.file in failed.value.message


def test_a_connection_that_breaks_is_told_and_nothing_goes_on_behind_it(mariadb: MariaDB, table: str) -> None:
    with followed(mariadb, end(mariadb)) as binlog:
        mariadb.run(f"INSERT INTO {table} VALUES (1, 'a')")
        assert total(until(binlog, total)) == 1
        for (number,) in mariadb.run("SELECT id FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%'"):
            mariadb.run(f"KILL {number}")
        with pytest.raises(BergError) as failed:
            until(binlog, lambda _: False)
    assert failed.value.code is ErrorCode.CONNECTION


@pytest.mark.usefixtures("table")
def test_closing_ends_a_wait_at_once(mariadb: MariaDB) -> None:
    began = time.monotonic()
    with followed(mariadb, end(mariadb)) as binlog:
        until(binlog, lambda events: events)
    assert time.monotonic() - began < 10
    assert not [t for t in threading.enumerate() if t.name == "binlog"]
