"""What is kept of a place in MySQL's binlog is gone on from on the server that it is of, or another that has it too."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.types import INT, STRING
from tests.support.mysql_streams import Reading, options, reading, rows_of, source
from tests.support.services.mariadb import MariaDB
from tests.support.services.server import until

COLUMNS = {"k": INT, "v": STRING}
_rows = count(100)


@pytest.fixture(scope="module")
def own() -> Iterator[MariaDB]:
    made = MariaDB()
    try:
        made.start()
        yield made
    finally:
        made.close()


@contextmanager
def kept(server: MariaDB, database: str) -> Iterator[Reading]:
    """A reader that has read a table and one change, kept that, and is closed."""
    server.run(
        f"CREATE OR REPLACE DATABASE {database}",
        f"CREATE TABLE {database}.t (k INT PRIMARY KEY, v VARCHAR(90))",
        f"INSERT INTO {database}.t VALUES (1, 'a'), (2, 'b')",
    )
    with reading(source(options(server, database, "t"), COLUMNS)) as run:
        run.until_rows(lambda: rows_of(server, f"SELECT * FROM {database}.t"))
        server.run(f"INSERT INTO {database}.t VALUES ({next(_rows)}, 'c')")
        run.until_rows(lambda: rows_of(server, f"SELECT * FROM {database}.t"))
        run.checkpoint()
        run.reader.close()
        yield run


def offset_of(run: Reading) -> dict[str, Any]:
    """A copy of what is kept."""
    made: dict[str, Any] = json.loads(json.dumps(run.kept[1]))
    return made


def changed(run: Reading, how: Callable[[dict[str, Any]], object]) -> None:
    """Change what is kept."""
    made = offset_of(run)
    how(made)
    run.kept = run.kept[0], made


def goes_on(server: MariaDB, database: str, run: Reading) -> None:
    """Everything that came meanwhile is read, once."""
    server.run(f"UPDATE {database}.t SET v = 'z' WHERE k = 1", f"DELETE FROM {database}.t WHERE k = 2")
    before = len(run.changes)
    run.restart()
    run.until_rows(lambda: rows_of(server, f"SELECT * FROM {database}.t"))
    assert len(run.changes) == before + 3


def test_a_binlog_that_was_begun_anew_is_not_taken_for_the_one_that_was_read(own: MariaDB) -> None:
    """Its file has the same name, and its transactions have the same GTIDs."""
    with kept(own, "anew") as run:
        begun = offset_of(run)["position"]["begun"]
        until("another second", lambda: time.time() > begun + 2)
        own.run("RESET MASTER")
        own.run_many("INSERT INTO anew.t VALUES (%s, 'lost')", [(next(_rows),) for _ in range(200)])
        for _ in range(30):
            own.run(f"INSERT INTO anew.t VALUES ({next(_rows)}, 'lost')")
        for file in ("binlog.000001", "binlog.000009"):
            changed(run, lambda offset: offset["position"].update(file=file))  # noqa: B023
            with pytest.raises(BergError, match=f"began its binlog anew: its {file} is not the one") as caught:
                run.open()
            assert caught.value.code is ErrorCode.INVALID
            assert "new snapshot" in str(caught.value.hint)


def test_another_server_is_gone_on_with_by_gtids_only(own: MariaDB) -> None:
    with kept(own, "other") as run:
        own.run("SET GLOBAL server_id = 7")
        try:
            with_gtids = run.kept
            changed(run, lambda offset: offset["position"].pop("gtid"))
            with pytest.raises(BergError, match="is another server than the one that was read") as caught:
                run.open()
            assert caught.value.code is ErrorCode.INVALID
            run.kept = with_gtids
            goes_on(own, "other", run)
            run.checkpoint()
            assert offset_of(run)["server"] == "server-id 7"
        finally:
            own.run("SET GLOBAL server_id = 1")


def test_another_server_that_never_had_what_was_read_is_refused(own: MariaDB, mariadb: MariaDB) -> None:
    with kept(own, "strange") as run:
        mariadb.run("CREATE DATABASE strange", "CREATE TABLE strange.t (k INT PRIMARY KEY, v VARCHAR(90))")
        changed(run, lambda offset: offset.update(server="server-id 8"))
        changed(run, lambda offset: offset["position"].update(gtid="0-8-4000000000"))
        run.source = source(options(mariadb, "strange", "t"), COLUMNS)
        run.open()
        with pytest.raises(BergError) as caught:
            run.until(lambda: False)
        assert caught.value.code is ErrorCode.INVALID
        assert "new snapshot" in str(caught.value.hint)


def test_what_an_earlier_version_kept_is_gone_on_from(own: MariaDB) -> None:
    with kept(own, "earlier") as run:
        changed(run, lambda offset: (offset.pop("server"), offset["position"].pop("begun")))
        goes_on(own, "earlier", run)


def test_gtids_of_all_that_was_before_are_kept(own: MariaDB) -> None:
    """Else a server with several domains would send from their beginnings what was read."""
    own.run(
        "CREATE OR REPLACE DATABASE domains",
        "CREATE TABLE domains.t (k INT PRIMARY KEY, v VARCHAR(90))",
    )
    with own.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET SESSION gtid_domain_id = 5")
        cursor.execute("INSERT INTO domains.t VALUES (1, 'a')")
    own.run("FLUSH BINARY LOGS")
    file, pos = own.run("SHOW MASTER STATUS")[0][:2]
    offset = "scan.startup.specific-offset"
    given = {"scan.startup.mode": "specific-offset", f"{offset}.file": file, f"{offset}.pos": str(pos)}
    own.run("INSERT INTO domains.t VALUES (2, 'b')")
    with reading(source(options(own, "domains", "t", given), COLUMNS)) as run:
        run.until(lambda: ("+I", 2, "b") in run.changes)
        run.checkpoint()
        before = len(run.changes)
        own.run("INSERT INTO domains.t VALUES (3, 'c')")
        run.restart()
        run.until(lambda: ("+I", 3, "c") in run.changes)
        assert run.changes[before:] == [("+I", 3, "c")]
