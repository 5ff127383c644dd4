"""Where reading MySQL begins, goes on, and cannot go on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.client import Server
from bergsql.engine.sql.types import INT, STRING, DataType, Kind
from tests.support.berg import Berg
from tests.support.mysql_streams import Reading, options, reading, rows_of, source
from tests.support.services.mariadb import PASSWORD, MariaDB

COLUMNS = {"k": INT, "v": STRING}


@pytest.fixture
def database(mariadb: MariaDB, request: pytest.FixtureRequest) -> str:
    name = f"places_{abs(hash(request.node.name)) % 10**8}"
    table = f"{name}.t"
    mariadb.run(f"CREATE DATABASE {name}", f"CREATE TABLE {table} (k INT PRIMARY KEY, v VARCHAR(90))")
    mariadb.run(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    return name


def _until_changes(run: Reading, count: int) -> None:
    run.until(lambda: len(run.changes) >= count)


def _go_on(run: Reading) -> None:
    run.restart()
    run.until(lambda: False)


def test_each_startup_mode(mariadb: MariaDB, database: str) -> None:
    time.sleep(1.1)  # times of the binlog are whole seconds
    since = int(time.time()) * 1000
    file, pos = mariadb.run("SHOW MASTER STATUS")[0][:2]
    ((gtids,),) = mariadb.run("SELECT @@gtid_binlog_pos")
    mariadb.run(f"UPDATE {database}.t SET v = 'z' WHERE k = 1", f"DELETE FROM {database}.t WHERE k = 2")
    later = [("-U", 1, "a"), ("+U", 1, "z"), ("-D", 2, "b")]
    first = [("+I", 1, "a"), ("+I", 2, "b"), ("+I", 3, "c")]
    mode, offset = "scan.startup.mode", "scan.startup.specific-offset"
    for more, expected in (
        ({mode: "initial"}, [("+I", 1, "z"), ("+I", 3, "c")]),
        ({mode: "snapshot"}, [("+I", 1, "z"), ("+I", 3, "c")]),
        ({mode: "earliest-offset"}, [*first, *later]),
        ({mode: "specific-offset", f"{offset}.file": file, f"{offset}.pos": str(pos)}, later),
        ({mode: "specific-offset", f"{offset}.gtid-set": gtids}, later),
        ({mode: "timestamp", "scan.startup.timestamp-millis": str(since)}, later),
    ):
        with reading(source(options(mariadb, database, "t", more), COLUMNS)) as run:
            _until_changes(run, len(expected))
            assert run.changes == expected, more
            if more[mode] == "snapshot":
                run.until(lambda: run.reader.finished)
    with reading(source(options(mariadb, database, "t", {mode: "latest-offset"}), COLUMNS)) as run:
        mariadb.run(f"INSERT INTO {database}.t VALUES (9, 'new')")
        run.until(lambda: run.changes)
        assert run.changes == [("+I", 9, "new")]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("TRUNCATE TABLE t", "went with TRUNCATE"),
        ("DROP TABLE t", "was dropped"),
        ("RENAME TABLE t TO u", "was renamed"),
        ("SET STATEMENT lock_wait_timeout = 9 FOR TRUNCATE TABLE t", "went with TRUNCATE"),
        ("ALTER TABLE t RENAME = u", "was renamed"),
        ("ALTER TABLE t DROP COLUMN v", "column 'v' was dropped or renamed"),
        ("ALTER TABLE t CHANGE v w VARCHAR(90)", "column 'v' was dropped or renamed"),
        ("ALTER TABLE t ADD w INT COMMENT 'DROP k', DROP v, ADD `v` VARCHAR(90)", "column 'v' was dropped or renamed"),
        ("ALTER TABLE t CHANGE `v` w VARCHAR(90), ADD v INT", "column 'v' was dropped or renamed"),
        ("ALTER IGNORE TABLE t ADD UNIQUE (v)", "went or came"),
        (
            "CREATE TABLE p LIKE t; ALTER TABLE p PARTITION BY RANGE (k) (PARTITION a VALUES LESS THAN (10)); "
            "ALTER TABLE p EXCHANGE PARTITION a WITH TABLE t",
            "went or came",
        ),
        (
            "ALTER TABLE t PARTITION BY RANGE (k) (PARTITION a VALUES LESS THAN (2), PARTITION b VALUES LESS THAN (9)); "
            "ALTER TABLE t CONVERT PARTITION a TO TABLE u",
            "went or came",
        ),
        ("SET sql_mode = ''; ALTER TABLE t MODIFY v CHAR(1)", r"was varchar\(90\) and is char\(1\)"),
    ],
)
def test_what_takes_rows_or_columns_away_unseen(mariadb: MariaDB, database: str, statement: str, told: str) -> None:
    with reading(source(options(mariadb, database, "t"), COLUMNS)) as run:
        run.until(lambda: len(run.changes) == 3)
        mariadb.run(f"USE {database}")
        with mariadb.connect(database=database) as connection, connection.cursor() as cursor:
            cursor.execute("INSERT INTO t VALUES (4, 'd')")
            for part in statement.split("; "):
                cursor.execute(part)
        with pytest.raises(BergError, match=told) as caught:
            run.until(lambda: False)
        assert caught.value.code is ErrorCode.INVALID
        assert caught.value.hint
        assert run.changes[-1] == ("+I", 4, "d")


@pytest.mark.parametrize(
    ("before", "after", "declared", "kept"),
    [
        ("DECIMAL(10,3)", "DECIMAL(12,4)", DataType(Kind.DECIMAL, 20, 5), True),
        ("DECIMAL(10,3)", "DECIMAL(10,1)", DataType(Kind.DECIMAL, 20, 5), False),
        ("DATETIME(3)", "DATETIME", DataType(Kind.TIMESTAMP, 6), False),
        ("INT", "SMALLINT UNSIGNED", INT, True),
        ("BIT(8)", "BIT(16)", DataType(Kind.BYTES), False),
    ],
)
def test_a_column_becomes_another_type(
    mariadb: MariaDB, database: str, before: str, after: str, declared: DataType, kept: bool
) -> None:
    """What a strict server changes in silence is not passed over."""
    mariadb.run(f"ALTER TABLE {database}.t ADD n {before}")
    with reading(source(options(mariadb, database, "t"), {"k": INT, "n": declared})) as run:
        run.until(lambda: len(run.changes) == 3)
        mariadb.run(f"ALTER TABLE {database}.t MODIFY n {after}", f"INSERT INTO {database}.t VALUES (9, '', NULL)")
        if kept:
            run.until_rows(lambda: rows_of(mariadb, f"SELECT k, n FROM {database}.t"))
        else:
            with pytest.raises(BergError, match="which values changed is not in the binlog"):
                run.until(lambda: False)


def test_a_new_column_is_noted(mariadb: MariaDB, database: str) -> None:
    with reading(source(options(mariadb, database, "t"), COLUMNS)) as run:
        run.until(lambda: len(run.changes) == 3)
        mariadb.run(
            f"INSERT INTO {database}.t VALUES (4, 'd')",
            f"ALTER TABLE {database}.t ADD COLUMN n INT FIRST",
            f"INSERT INTO {database}.t VALUES (1, 5, 'e')",
        )
        run.until_rows(lambda: rows_of(mariadb, f"SELECT k, v FROM {database}.t"))
        assert any("new column 'n'" in note for note in run.place.notes)


def _durable(server: MariaDB) -> None:
    """Start a server that loses nothing when it is killed."""
    server.start()
    server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")


@pytest.fixture
def own() -> Iterator[MariaDB]:
    made = MariaDB()
    try:
        _durable(made)
        made.run("CREATE DATABASE d", "CREATE TABLE d.t (k INT PRIMARY KEY, v VARCHAR(90))")
        made.run_many("INSERT INTO d.t VALUES (%s, %s)", [(n, f"v{n}") for n in range(300)])
        yield made
    finally:
        made.close()


def test_a_server_that_is_killed_and_a_binlog_that_is_purged(own: MariaDB) -> None:
    of = source(options(own, "d", "t", {"scan.incremental.snapshot.chunk.size": "50"}), COLUMNS)
    with reading(of) as run:
        run.until(lambda: len(run.changes) >= 100)
        run.checkpoint()
        own.kill()
        with pytest.raises(BergError) as caught:
            run.until(lambda: False)
        assert caught.value.code is ErrorCode.CONNECTION
        assert PASSWORD not in caught.value.message.replace("mysql-cdc", "")
        _durable(own)
        own.run("UPDATE d.t SET v = 'w' WHERE k < 100", "DELETE FROM d.t WHERE k = 299")
        run.restart()
        run.until_rows(lambda: rows_of(own, "SELECT * FROM d.t"))
        run.checkpoint()
        own.kill()
        with pytest.raises(BergError) as caught:
            run.until(lambda: False)
        assert caught.value.code is ErrorCode.CONNECTION
        _durable(own)
        run.restart()
        own.run("INSERT INTO d.t VALUES (1000, 'x')")
        run.until_rows(lambda: rows_of(own, "SELECT * FROM d.t"))
        run.checkpoint()
        run.reader.close()
        own.run("INSERT INTO d.t VALUES (1001, 'x')", "FLUSH BINARY LOGS", "INSERT INTO d.t VALUES (1002, 'x')")
        last = own.run("SHOW BINARY LOGS")[-1][0]
        own.run("FLUSH BINARY LOGS", f"PURGE BINARY LOGS TO '{last}'")
        with pytest.raises(BergError, match=r"is gone from MySQL .* it begins with") as caught:
            _go_on(run)
        assert "new snapshot" in str(caught.value.hint)


def test_what_a_server_must_have(mariadb: MariaDB, database: str) -> None:
    for key, wrong, code, told in (
        ("table-name", "tt", ErrorCode.NOT_FOUND, "has no table 'tt'"),
        ("password", "s3cr3t-wrong", ErrorCode.CONFIG, "Access denied"),
        ("port", "1", ErrorCode.CONNECTION, "could not be connected"),
    ):
        with pytest.raises(BergError, match=told) as caught:
            source({**options(mariadb, database, "t"), key: wrong}, COLUMNS)
        assert caught.value.code is code
        assert "s3cr3t" not in caught.value.message
    with pytest.raises(BergError, match="k") as caught:
        source(options(mariadb, database, "t"), {"k": DataType(Kind.TINYINT)})
    assert caught.value.code is ErrorCode.TYPE
    enough = {"log_bin": "ON", **{f"binlog_row_{part}": "FULL" for part in ("image", "metadata")}}
    for variables, told in (
        ({"binlog_format": "MIXED"}, "binlog_format = MIXED"),
        ({"binlog_format": "ROW", "binlog_row_value_options": "PARTIAL_JSON"}, "what changed within JSON"),
    ):
        with pytest.raises(BergError, match=told):
            Server("8.4.3", {**enough, **variables}).check_binlog(
                source(options(mariadb, database, "t"), COLUMNS).options
            )


def test_a_snapshot_at_once(mariadb: MariaDB, database: str, tmp_path: Path) -> None:
    given = options(mariadb, database, "t", {"scan.startup.mode": "snapshot"})
    listed = ", ".join(f"'{key}'='{value}'" for key, value in given.items())
    made = f"CREATE TABLE s (k INT, v STRING) WITH ('connector'='mysql-cdc', {listed})"
    done = Berg(tmp_path / "home", tmp_path / "wh").run(
        "--format", "csv", "-e", made, "-e", "SELECT * FROM s ORDER BY k"
    )
    assert done.out.splitlines()[-3:] == ["1,a", "2,b", "3,c"], done.err
