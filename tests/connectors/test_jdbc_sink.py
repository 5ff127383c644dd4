"""Tables of databases as sinks: what is written, once, whatever ends in between."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.jdbc.sink import JdbcSink
from bergsql.engine.connectors.jdbc.writer import JdbcWriter
from bergsql.engine.duck import Duck
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import INT, STRING, DataType, Kind
from bergsql.engine.streaming.changelog import Batch, ChangelogMode
from tests.support.databases import KINDS, Place, place_in
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.sinks import HandContext, changes, checkpoint

PAIR = (("id", INT), ("name", STRING))
CREATE = "CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10))"
NO_KEY = "CREATE TABLE {t} (id INT, name VARCHAR(10))"
ROWS = "SELECT id, name FROM {t} ORDER BY id, name"


@pytest.fixture
def duck() -> Iterator[Duck]:
    made = Duck()
    yield made
    made.close()


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place_in(request.param, request, tmp_path)


def sink_of(place: Place, *, key: tuple[int, ...] = (0,), mode: ChangelogMode = ChangelogMode.RETRACT) -> JdbcSink:
    sink = JdbcSink(place.table("t", PAIR, key, {"sink.max-retries": "1"}))
    sink.check(mode if key else ChangelogMode.INSERT_ONLY, key or None)
    return sink


def writer_of(place: Place, context: HandContext, **how: Any) -> JdbcWriter:
    writer = sink_of(place, **how).writer(context, 0)
    assert isinstance(writer, JdbcWriter)
    return writer


def test_changes_go_by_key(place: Place, duck: Duck) -> None:
    place.run(CREATE)
    writer = writer_of(place, HandContext(duck))
    writer.write(changes(("+I", 1, "a"), ("+I", 2, "中文"), ("+I", 3, "c"), ("+I", 4, "gone"), ("-D", 4, "gone")))
    writer.write(changes(("-U", 1, "a"), ("+U", 1, 'b"%s\\')))
    assert checkpoint(writer, 1)
    assert place.run(ROWS) == [(1, 'b"%s\\'), (2, "中文"), (3, "c")]
    writer.write(changes(("-D", 2, "中文"), ("-D", 3, "c"), ("+I", 3, "d"), ("-U", 1, 'b"%s\\'), ("+U", 1, 'b"%s\\')))
    assert checkpoint(writer, 2)
    assert place.run(ROWS) == [(1, 'b"%s\\'), (3, "d")]
    writer.write(changes(("-U", 3, "d"), ("+U", 3, "e"), ("-U", 3, "e"), ("+U", 3, "d")))
    assert not checkpoint(writer, 3)
    writer.close()


def test_upserts_and_deletions_by_key_alone(place: Place, duck: Duck) -> None:
    place.run(CREATE, "INSERT INTO {t} VALUES (1, 'old'), (2, 'old')")
    writer = writer_of(place, HandContext(duck), mode=ChangelogMode.UPSERT)
    writer.write(changes(("+U", 1, "new"), ("-D", 2, None), ("+I", 3, None), ("-D", 9, None)))
    assert checkpoint(writer, 1)
    assert place.run(ROWS) == [(1, "new"), (3, None)]
    writer.close()


def test_a_deletion_may_hold_the_key_alone(place: Place, duck: Duck) -> None:
    place.run(
        "CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10) NOT NULL)", "INSERT INTO {t} VALUES (1, 'a')"
    )
    writer = writer_of(place, HandContext(duck), mode=ChangelogMode.UPSERT)
    writer.write(changes(("-D", 1, None)))
    assert checkpoint(writer, 1)
    assert place.run(ROWS) == []
    writer.close()


def test_keys_that_are_texts_here_alone(request: pytest.FixtureRequest, tmp_path: Path, duck: Duck) -> None:
    place = place_in("postgres", request, tmp_path)
    place.run(
        "CREATE TYPE {mood} AS ENUM ('good', 'bad')",
        "CREATE TABLE {t} (k UUID PRIMARY KEY)",
        "CREATE TABLE {u} (k UUID, m {mood}, PRIMARY KEY (k, m))",
    )
    some = "0f8fad5b-d9cb-469f-a165-70867728950e"
    for name, columns, key in (("t", (("k", STRING),), (some,)), ("u", (("k", STRING), ("m", STRING)), (some, "bad"))):
        sink = JdbcSink(place.table(name, columns, range(len(key))))
        sink.check(ChangelogMode.RETRACT, tuple(range(len(key))))
        writer = sink.writer(HandContext(duck), 0)
        for number, kind in ((1, "+I"), (2, "-D")):
            writer.write(changes((kind, *key)))
            assert checkpoint(writer, number)
            assert place.run(f"SELECT count(*) FROM {{{name}}}") == [(2 - number,)]
        writer.close()


def test_a_binary_of_a_fixed_length_is_found_again(request: pytest.FixtureRequest, tmp_path: Path, duck: Duck) -> None:
    """MySQL fills it up when it is written, and not what it is compared with."""
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (k BINARY(3) NOT NULL PRIMARY KEY)")
    sink = JdbcSink(place.table("t", (("k", DataType(Kind.BYTES)),), (0,)))
    sink.check(ChangelogMode.RETRACT, (0,))
    writer = sink.writer(HandContext(duck), 0)
    for number, kind in ((1, 0), (2, 3)):
        writer.write(Batch(f"(SELECT 'a'::BLOB AS c0, {kind}::TINYINT AS op)"))
        assert checkpoint(writer, number)
        assert place.run("SELECT k FROM {t}") == ([(b"a\0\0",)] if kind == 0 else [])
    writer.close()


def test_many_rows_of_one_checkpoint(place: Place, duck: Duck) -> None:
    place.run(CREATE)
    writer = writer_of(place, HandContext(duck))
    writer.write(Batch("(SELECT i::INT AS c0, 'n' || i AS c1, 0::TINYINT AS op FROM range(5000) AS r(i))"))
    assert checkpoint(writer, 1)
    assert place.run("SELECT count(*), min(id), max(id) FROM {t}") == [(5000, 0, 4999)]
    writer.write(Batch("(SELECT i::INT AS c0, 'n' || i AS c1, 3::TINYINT AS op FROM range(4000) AS r(i))"))
    assert checkpoint(writer, 2)
    assert place.run("SELECT count(*), min(id) FROM {t}") == [(1000, 4000)]
    writer.close()


@pytest.mark.parametrize("key", [(0,), ()])
def test_a_prepared_checkpoint_is_there_once(place: Place, duck: Duck, key: tuple[int, ...]) -> None:
    """The process ends before and behind each durable step; the next one does again what is not known to be done."""
    place.run(CREATE if key else NO_KEY)
    context = HandContext(duck)
    first = writer_of(place, context, key=key)
    first.write(changes(("+I", 1, "lost")))
    first.close()  # before it was prepared: the rows come again
    assert place.run(ROWS) == []
    second = writer_of(place, context, key=key)
    second.write(changes(("+I", 1, "a"), ("+I", 2, "b")))
    kept = second.prepare(1)
    assert place.run(ROWS) == []
    second.close()  # prepared, and not committed
    third = writer_of(place, context, key=key)
    third.commit(1, kept)
    assert place.run(ROWS) == [(1, "a"), (2, "b")]
    third.close()  # committed, and not known to be
    fourth = writer_of(place, context, key=key)
    fourth.commit(1, kept)
    assert place.run(ROWS) == [(1, "a"), (2, "b")]
    fourth.write(changes(("+I", 3, "c")))
    assert checkpoint(fourth, 2)
    fourth.commit(1, kept) if not key else None  # an older process, which does not know of it
    assert place.run(ROWS) == [(1, "a"), (2, "b"), (3, "c")]
    fourth.close()
    assert not context.notes


def test_what_does_not_fit_is_not_half_written(place: Place, duck: Duck) -> None:
    place.run("CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10) CHECK (name <> 'bad'))")
    writer = writer_of(place, HandContext(duck))
    writer.write(changes(*(("+I", n, "good") for n in range(1500)), ("+I", 1500, "bad")))
    kept = writer.prepare(1)
    with pytest.raises(BergError, match=r"A row does not fit .*c\.d\.t") as told:
        writer.commit(1, kept)
    assert told.value.code == "INVALID"
    assert "INSERT" not in told.value.message
    assert place.run("SELECT count(*) FROM {t}") == [(0,)]
    writer.close()


def test_a_null_that_the_database_has_not_is_refused_before_it_is_prepared(place: Place, duck: Duck) -> None:
    place.run("CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10) NOT NULL)")
    writer = writer_of(place, HandContext(duck))
    writer.write(changes(("+I", 1, None)))
    with pytest.raises(BergError, match="NULL in column 'name'"):
        writer.prepare(1)
    writer.close()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ((2**31, "a"), "Out of range value for column 'id'"),
        ((1, "longer than ten"), "column 'name' of c.d.t: Data too long"),
    ],
)
def test_mariadb_never_cuts_values(
    request: pytest.FixtureRequest, tmp_path: Path, duck: Duck, row: tuple[int, str], said: str
) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run(CREATE)
    sink = JdbcSink(place.table("t", (("id", DataType(Kind.BIGINT)), ("name", STRING)), (0,)))
    writer = sink.writer(HandContext(duck), 0)
    writer.write(changes(("+I", *row)))
    with pytest.raises(BergError, match=said):
        checkpoint(writer, 1)
    assert place.run(ROWS) == []
    writer.close()


@pytest.mark.parametrize(
    ("kind", "there", "here", "value"),
    [
        ("mariadb", "DECIMAL(10, 2)", DataType(Kind.DECIMAL, 10, 4), "9.9951"),
        ("mariadb", "INT", DataType(Kind.DECIMAL, 10, 1), "1.5"),
        ("postgres", "NUMERIC(10, 2)", DataType(Kind.DECIMAL, 10, 4), "9.9951"),
        ("postgres", "TEXT", STRING, "'a' || chr(0)"),
        ("sqlite", "DOUBLE", DataType(Kind.DOUBLE), "'NaN'::DOUBLE"),
    ],
)
def test_what_a_database_would_change_is_refused(
    kind: str, there: str, here: DataType, value: str, request: pytest.FixtureRequest, tmp_path: Path, duck: Duck
) -> None:
    place = place_in(kind, request, tmp_path)
    place.run(f"CREATE TABLE {{t}} (id INT, v {there})")
    writer = JdbcSink(place.table("t", (("id", INT), ("v", here)))).writer(HandContext(duck), 0)
    for n, given in enumerate(("NULL", "1", value), 1):
        batch = Batch(f"(SELECT {n} AS c0, CAST({given} AS {duckdb_name(here)}) AS c1, 0::TINYINT AS op)")
        if given == value:
            with pytest.raises(BergError, match=r"column 'v' of c\.d\.t, which is .* it does not fit"):
                writer.write(batch)
        else:
            writer.write(batch)
            assert checkpoint(writer, n)
    assert place.run("SELECT id FROM {t} ORDER BY id") == [(1,), (2,)]
    writer.close()


def test_the_beginnings_of_texts_are_no_key(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Rows of other keys with the same beginning would be changed in MySQL."""
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (id INT, name VARCHAR(10), UNIQUE KEY (name(2)))")
    with pytest.raises(BergError, match="no primary key or unique index of just these columns"):
        sink_of(place, key=(1,))


def test_another_unique_index_of_mysql_is_no_key(request: pytest.FixtureRequest, tmp_path: Path, duck: Duck) -> None:
    """ON DUPLICATE KEY UPDATE would change the row that has the name, whatever its key."""
    place = place_in("mariadb", request, tmp_path)
    place.run(
        "CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10) UNIQUE)", "INSERT INTO {t} VALUES (1, 'a')"
    )
    writer = writer_of(place, HandContext(duck))
    writer.write(changes(("+I", 2, "a")))
    with pytest.raises(BergError, match="Duplicate entry"):
        checkpoint(writer, 1)
    assert place.run(ROWS) == [(1, "a")]
    writer.discard()
    writer.write(changes(("-U", 1, "a"), ("+U", 1, "b"), ("+I", 2, "a")))
    assert checkpoint(writer, 2)
    assert place.run(ROWS) == [(1, "b"), (2, "a")]
    writer.close()


def test_rows_without_a_key_may_come_twice_where_no_table_can_be_made(
    request: pytest.FixtureRequest, tmp_path: Path, duck: Duck
) -> None:
    place = place_in("postgres", request, tmp_path)
    role = f"r_{place.prefix.rstrip('.')}"
    place.run(
        NO_KEY,
        f"CREATE ROLE {role} LOGIN",
        f"GRANT USAGE ON SCHEMA {place.prefix.rstrip('.')} TO {role}",
        f"GRANT INSERT, SELECT ON {place.prefix}t TO {role}",
    )
    context = HandContext(duck)
    sink = JdbcSink(place.table("t", PAIR, (), {"username": role}))
    writer = sink.writer(context, 0)
    (note,) = context.notes
    assert "bergsql_commits cannot be made" in note
    assert "may be there twice" in note
    writer.write(changes(("+I", 1, "a")))
    kept = writer.prepare(1)
    writer.commit(1, kept)
    assert place.run(ROWS) == [(1, "a")]
    writer.close()


def test_rows_wait_for_locks_of_others(request: pytest.FixtureRequest, tmp_path: Path, duck: Duck) -> None:
    """Who holds them too long ends the run, which begins again by its strategy: what was prepared is kept."""
    import sqlite3

    place = place_in("sqlite", request, tmp_path)
    place.run(CREATE)
    context = HandContext(duck)
    more = {"sink.max-retries": "1", "connection.max-retry-timeout": "1 ms"}
    sink = JdbcSink(place.table("t", PAIR, (0,), more))
    writer = sink.writer(context, 0)
    writer.write(changes(("+I", 1, "a")))
    kept = writer.prepare(1)
    other = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(BergError, match="is locked by others: database is locked") as told:
        writer.commit(1, kept)
    assert told.value.code == "CONNECTION"
    assert [note.rpartition(". ")[2] for note in context.notes] == ["It is tried again."]
    other.rollback()
    other.close()
    writer.commit(1, kept)
    assert place.run(ROWS) == [(1, "a")]
    writer.close()


def test_a_deadlock_is_tried_again(
    request: pytest.FixtureRequest, tmp_path: Path, duck: Duck, mariadb: MariaDB
) -> None:
    """A row that another transaction holds, until the server gives up waiting; then it is free."""
    import threading

    place = place_in("mariadb", request, tmp_path)
    place.run(CREATE, "INSERT INTO {t} VALUES (1, 'a')")
    context = HandContext(duck)
    holder = mariadb.connect(autocommit=False)
    try:
        mariadb.run("SET GLOBAL innodb_lock_wait_timeout = 1")
        with holder.cursor() as cursor:
            cursor.execute(f"UPDATE {place.prefix}t SET name = 'b'")
        writer = writer_of(place, context)
        writer.write(changes(("-U", 1, "a"), ("+U", 1, "c")))
        free = threading.Timer(1.2, holder.rollback)
        free.start()
        assert checkpoint(writer, 1)
        free.join()
        writer.close()
    finally:
        mariadb.run("SET GLOBAL innodb_lock_wait_timeout = 50")
        holder.close()
    assert place.run(ROWS) == [(1, "c")]
    (note,) = context.notes
    assert "Lock wait timeout exceeded" in note


def test_a_table_without_transactions_is_told_of(request: pytest.FixtureRequest, tmp_path: Path, duck: Duck) -> None:
    place = place_in("mariadb", request, tmp_path)
    place.run("CREATE TABLE {t} (id INT NOT NULL PRIMARY KEY, name VARCHAR(10)) ENGINE = MyISAM")
    context = HandContext(duck)
    writer_of(place, context).close()
    (note,) = context.notes
    assert "knows no transactions" in note


def test_the_binlog_shows_the_changed_keys_alone(
    request: pytest.FixtureRequest, tmp_path: Path, duck: Duck, mariadb: MariaDB
) -> None:
    """Scenario 4: one INSERT, then one UPDATE, nothing else; a checkpoint that is done again changes nothing."""
    place = place_in("mariadb", request, tmp_path)
    place.run(
        "CREATE TABLE {t} (dt INT NOT NULL PRIMARY KEY, pv INT)", "INSERT INTO {t} VALUES (20220601, 7), (20220602, 8)"
    )
    ((file, position, *_),) = mariadb.run("SHOW MASTER STATUS")
    sink = JdbcSink(place.table("t", (("dt", INT), ("pv", INT)), (0,)))
    sink.check(ChangelogMode.RETRACT, (0,))
    writer = sink.writer(HandContext(duck), 0)
    writer.write(changes(("+I", 20220617, 1)))
    assert checkpoint(writer, 1)
    writer.write(changes(("-U", 20220617, 1), ("+U", 20220617, 2)))
    kept = writer.prepare(2)
    writer.commit(2, kept)
    writer.commit(2, kept)
    writer.write(changes(("-U", 20220617, 2), ("+U", 20220617, 2)))
    assert not checkpoint(writer, 3)
    writer.close()
    assert list(_events(mariadb, file, position, place.prefix.rstrip("."))) == [
        ("insert", {"dt": 20220617, "pv": 1}),
        ("update", {"dt": 20220617, "pv": 1}, {"dt": 20220617, "pv": 2}),
    ]


def _events(server: MariaDB, file: str, position: int, database: str) -> Iterator[tuple[Any, ...]]:
    """The changes of rows that a binlog holds behind a position."""
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.row_event import DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent

    stream = BinLogStreamReader(
        {"host": "127.0.0.1", "port": server.port, "user": USER, "passwd": PASSWORD},
        server_id=7401,
        log_file=file,
        log_pos=position,
        resume_stream=True,
        only_events=[DeleteRowsEvent, UpdateRowsEvent, WriteRowsEvent],
        only_schemas=[database],
    )
    try:
        for event in stream:
            for row in event.rows:
                if isinstance(event, UpdateRowsEvent):
                    yield "update", row["before_values"], row["after_values"]
                else:
                    yield "insert" if isinstance(event, WriteRowsEvent) else "delete", row["values"]
    finally:
        stream.close()
