"""A connection that is cut in the middle of a snapshot, and a server whose files are others."""

from __future__ import annotations

import json

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.types import INT, STRING
from tests.support.mysql_streams import Reading, options, reading, rows_of, source
from tests.support.services.mariadb import PASSWORD, MariaDB
from tests.support.wire_proxy import proxied

COLUMNS = {"k": INT, "v": STRING}


def made(server: MariaDB, database: str, rows: int) -> None:
    server.run(f"CREATE DATABASE {database}", f"CREATE TABLE {database}.t (k INT PRIMARY KEY, v VARCHAR(90))")
    server.run_many(f"INSERT INTO {database}.t VALUES (%s, %s)", [(n, f"v{n}") for n in range(rows)])


def test_a_connection_that_is_cut_in_the_middle_of_a_snapshot(mariadb: MariaDB) -> None:
    made(mariadb, "cut_off", 400)
    with proxied("mysql", mariadb.port) as proxy:
        given = options(
            mariadb, "cut_off", "t", {"port": str(proxy.port), "scan.incremental.snapshot.chunk.size": "50"}
        )
        with reading(source(given, COLUMNS)) as run:
            for after in (False, True):
                run.until(lambda: len(run.changes) > 0)
                run.checkpoint()
                fault = proxy.arm("^SELECT .* FROM `cut_off`", after=after)
                mariadb.run(
                    "UPDATE cut_off.t SET v = concat(v, '+') WHERE k % 3 = 0", "DELETE FROM cut_off.t WHERE k % 50 = 7"
                )
                with pytest.raises(BergError) as caught:
                    run.until(lambda: False)
                assert fault.fired.is_set()
                assert caught.value.code is ErrorCode.CONNECTION
                assert PASSWORD not in caught.value.message.replace("mysql-cdc", "")
                run.restart()
            run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM cut_off.t"))


def test_where_the_files_are_others_gtids_tell_where_to_go_on(mariadb: MariaDB) -> None:
    """As on a replica that has taken the server's place."""
    made(mariadb, "elsewhere", 20)
    with reading(source(options(mariadb, "elsewhere", "t"), COLUMNS)) as run:
        run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM elsewhere.t"))
        mariadb.run("INSERT INTO elsewhere.t VALUES (100, 'a')")
        run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM elsewhere.t"))
        run.checkpoint()
        count, offset = run.kept
        text = json.dumps(offset)
        assert '"binlog.0' in text
        run.kept = count, json.loads(text.replace('"binlog.0', '"other-bin.9'))
        mariadb.run("UPDATE elsewhere.t SET v = 'b' WHERE k = 100", "DELETE FROM elsewhere.t WHERE k = 1")
        run.restart()
        run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM elsewhere.t"))
        assert len(run.changes) == 20 + 1 + 2 + 1


def test_two_jobs_that_call_themselves_the_same(mariadb: MariaDB) -> None:
    """The server hangs up on the first one, which says why: it would not do better by beginning again."""
    made(mariadb, "clash", 20)
    given = options(mariadb, "clash", "t", {"server-id": "5400"})
    with reading(source(given, COLUMNS)) as first:
        first.until_rows(lambda: rows_of(mariadb, "SELECT * FROM clash.t"))
        mariadb.run("INSERT INTO clash.t VALUES (100, 'a')")
        first.until_rows(lambda: rows_of(mariadb, "SELECT * FROM clash.t"))
        first.checkpoint()
        with reading(source(given, COLUMNS)) as second:
            mariadb.run("UPDATE clash.t SET v = 'b' WHERE k = 100")
            second.until_rows(lambda: rows_of(mariadb, "SELECT * FROM clash.t"))
            mariadb.run("INSERT INTO clash.t VALUES (101, 'c')")
            second.until_rows(lambda: rows_of(mariadb, "SELECT * FROM clash.t"))
            with pytest.raises(BergError, match="another reader has its 'server-id'") as caught:
                first.until(lambda: False)
            assert caught.value.code is ErrorCode.CONFIG
            assert "of its own" in str(caught.value.hint)
        first.source = source({**given, "server-id": "5401"}, COLUMNS)
        first.restart()
        first.until_rows(lambda: rows_of(mariadb, "SELECT * FROM clash.t"))
        assert len(first.changes) == 20 + 1 + 2 + 1


def test_what_is_kept_moves_on_while_tables_are_idle(mariadb: MariaDB) -> None:
    """Else the binlog would be deleted up to behind it. ``heartbeat.interval`` says how often."""
    made(mariadb, "idle", 5)
    mariadb.run("CREATE TABLE idle.other (k INT)")
    often, seldom = (
        source(options(mariadb, "idle", "t", {"heartbeat.interval": interval}), COLUMNS)
        for interval in ("50 ms", "1 h")
    )
    with reading(often) as quick, reading(seldom) as slow:
        for run in (quick, slow):
            run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM idle.t"))
        mariadb.run("UPDATE idle.t SET v = 'x' WHERE k = 1")
        for run in (quick, slow):
            run.until_rows(lambda: rows_of(mariadb, "SELECT * FROM idle.t"))
        before = [position(run) for run in (quick, slow)]
        for n in range(20):
            mariadb.run(f"INSERT INTO idle.other VALUES ({n})")
        end = mariadb.run("SHOW MASTER STATUS")[0][:2]
        slow.until(lambda: quick.poll() or position(quick) == end)
        assert position(quick) > before[0]
        assert position(slow) <= before[1]


def position(run: Reading) -> tuple[str, int]:
    """What a checkpoint would keep now."""
    found = json.loads(json.dumps(run.reader.offset))["position"]
    return found["file"], found["pos"]


@pytest.mark.parametrize("kind", ["TIME", "DATETIME(3)", "TIMESTAMP(6)"])
def test_times_of_an_old_format_are_refused_until_they_are_written_anew(mariadb: MariaDB, kind: str) -> None:
    """Also of a column that is not declared: in the binlog, others stand behind it."""
    mariadb.run("CREATE DATABASE IF NOT EXISTS old_times", "SET GLOBAL mysql56_temporal_format = OFF")
    try:
        mariadb.run(f"CREATE OR REPLACE TABLE old_times.t (k INT PRIMARY KEY, t {kind}, v VARCHAR(9))")
    finally:
        mariadb.run("SET GLOBAL mysql56_temporal_format = ON")
    given = options(mariadb, "old_times", "t")
    with pytest.raises(BergError, match=r"MariaDB 5\.3's format") as refused:
        source(given, COLUMNS)
    assert refused.value.code is ErrorCode.CONFIG
    mariadb.run("ALTER TABLE old_times.t FORCE")
    with reading(source(given, COLUMNS)) as run:
        mariadb.run("INSERT INTO old_times.t VALUES (1, NULL, 'a')")
        run.until(lambda: len(run.changes) > 0)
