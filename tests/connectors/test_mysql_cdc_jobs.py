"""Whole jobs from MySQL into an upsert table of Iceberg, whose server and connections fail: at the end both are the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, Jobs, jobs_of, process
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.services.server import until
from tests.support.wire_proxy import WireProxy, proxied

KEYED = "id INT NOT NULL, k INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
RESTARTING = (
    "SET 'execution.checkpointing.interval' = '50 ms'",
    "SET 'restart-strategy.type' = 'fixed-delay'",
    "SET 'restart-strategy.fixed-delay.delay' = '50 ms'",
    "SET 'restart-strategy.fixed-delay.attempts' = '10000'",
)
ROWS = 600


class Copy:
    """A table and the job that copies it, over a proxy."""

    def __init__(self, server: MariaDB, proxy: WireProxy, berg: Berg, jobs: Jobs) -> None:
        self.server, self.proxy, self.jobs = server, proxy, jobs
        self.session = Session(SessionConfig(home=berg.home))
        self.catalog = (
            f"CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{berg.warehouse}')"
        )
        for statement in (self.catalog, "CREATE DATABASE c.d"):
            self.session.execute(statement).close()
        server.run("CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, k INT, v VARCHAR(20))")
        server.run_many("INSERT INTO d.t VALUES (%s, %s, %s)", [(n, n % 5, f"v{n}") for n in range(ROWS)])
        self.id = ""

    def start(self, sink: str = "t") -> None:
        options = {
            "connector": "mysql-cdc",
            "hostname": "127.0.0.1",
            "port": self.proxy.port,
            "username": USER,
            "password": PASSWORD,
            "database-name": "d",
            "table-name": "t",
            "scan.incremental.snapshot.chunk.size": 20,
        }
        text = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
        self.id = self.jobs.submit(
            *RESTARTING,
            self.catalog,
            f"CREATE TABLE src ({KEYED}) WITH ({text})",
            f"CREATE TABLE c.d.{sink} ({KEYED}) WITH ('format-version'='2')",
            f"INSERT INTO c.d.{sink} SELECT * FROM src",
        ).id

    def change(self, n: int) -> None:
        """Rows come, go, become others and move behind all others by their keys."""
        self.server.run(
            f"INSERT INTO d.t VALUES ({100_000 + n}, {n}, 'new'), ({-1 - n}, {n}, 'before all')",
            f"UPDATE d.t SET v = concat(v, '+') WHERE k = {n % 5}",
            f"DELETE FROM d.t WHERE id % 37 = {n}",
            f"UPDATE d.t SET id = id + 200000 WHERE id BETWEEN {11 * n + 5} AND {11 * n + 7}",
        )

    def settle(self, sink: str = "t") -> None:
        """Wait until the sink is as the source."""

        def same() -> bool:
            result = self.session.execute(f"SELECT id, k, v FROM c.d.{sink}")
            try:
                found: list[Any] = sorted(tuple(row) for row in result.rows())
            finally:
                result.close()
            return found == sorted(self.server.run("SELECT id, k, v FROM d.t"))

        until("sink that is as the source", same, DEADLINE)

    def restarts(self) -> int:
        return self.jobs.job(self.id).status.restarts

    def purge(self) -> None:
        """Let the server delete what the job, which is dead, would read on from."""
        self.server.run("FLUSH BINARY LOGS")
        self.change(9)
        self.server.run("FLUSH BINARY LOGS")

        def gone() -> bool:
            last = self.server.run("SHOW BINARY LOGS")[-1][0]
            self.server.run(f"PURGE BINARY LOGS TO '{last}'")
            return len(self.server.run("SHOW BINARY LOGS")) == 1

        until("end of what reads the old files", gone)


def serve(server: MariaDB) -> None:
    """Start a server that loses nothing when it is killed."""
    server.start()
    server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")


@pytest.fixture
def copy(berg: Berg) -> Iterator[Copy]:
    server = MariaDB()
    try:
        serve(server)
        with proxied("mysql", server.port) as proxy, jobs_of(berg) as jobs:
            made = Copy(server, proxy, berg, jobs)
            yield made
            made.session.close()
    finally:
        server.close()


def test_a_job_outlives_its_connections_and_its_server_and_says_when_it_cannot(copy: Copy) -> None:
    faults = [copy.proxy.arm("^SELECT .* FROM `d`", nth, after=nth % 2 == 0) for nth in (9, 32)]
    copy.start()
    for n, fault in enumerate(faults):
        assert fault.fired.wait(DEADLINE), "the snapshot was not cut off"
        copy.change(n)
    copy.settle()
    assert copy.restarts() >= len(faults)
    fault = copy.proxy.arm("BINLOG DUMP", after=True)
    copy.proxy.cut()
    copy.change(3)
    assert fault.fired.wait(DEADLINE)
    copy.settle()
    copy.change(4)
    copy.server.kill()
    copy.jobs.until_state(copy.id, JobState.RESTARTING)
    serve(copy.server)
    copy.change(5)
    copy.settle()
    with suppress(psutil.NoSuchProcess):
        run = process(copy.jobs.job(copy.id))
        run.kill()
        run.wait(DEADLINE)
    copy.jobs.until_state(copy.id, JobState.LOST)
    copy.purge()
    assert copy.jobs.command("resume", copy.id).code == 0
    error = copy.jobs.until_state(copy.id, JobState.FAILED).status.error
    assert error is not None
    assert "is gone from MySQL" in str(error["message"])
    assert "new snapshot" in str(error["hint"])
    assert "binlog_expire_logs_seconds" in str(error["hint"])
    assert PASSWORD not in str(error).replace("mysql-cdc", "")
    copy.start("anew")
    copy.settle("anew")


def wait_for(jobs: Jobs, job: str, rows: int) -> None:
    jobs.until(job, lambda job: job.status.metrics.get("rows_in") == rows)


def _peak(pid: int) -> int:
    """The most memory that a process ever had, in MiB."""
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) // 1024


@pytest.mark.parametrize("key", ["id", "none"])
def test_a_table_of_wide_rows_is_read_in_little_memory(berg: Berg, mariadb: MariaDB, key: str) -> None:
    """However many rows are to be in a chunk; also where it is read in one go."""
    columns = f"id INT {'PRIMARY KEY' if key == 'id' else ''}, v LONGTEXT"
    mariadb.run(
        "CREATE DATABASE IF NOT EXISTS wide", f"CREATE OR REPLACE TABLE wide.narrow_{key} ({columns}) ENGINE=MyISAM"
    )
    with mariadb.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_log_bin = 0")
        cursor.execute(f"CREATE OR REPLACE TABLE wide.wide_{key} LIKE wide.narrow_{key}")
        cursor.execute(f"INSERT INTO wide.narrow_{key} VALUES (1, 'a')")
        cursor.execute(f"INSERT INTO wide.wide_{key} SELECT seq, repeat(md5(seq), 1024) FROM wide.seq_1_to_8000")
    peaks = {}
    with jobs_of(berg) as jobs:
        for table, rows in (("narrow", 1), ("wide", 8000)):
            options = {
                "connector": "mysql-cdc",
                "hostname": "127.0.0.1",
                "port": mariadb.port,
                "username": USER,
                "password": PASSWORD,
                "database-name": "wide",
                "table-name": f"{table}_{key}",
            }
            text = ", ".join(f"'{name}'='{value}'" for name, value in options.items())
            job = jobs.submit(
                "SET 'execution.checkpointing.interval' = '50 ms'",
                f"CREATE TABLE src (id INT, v STRING) WITH ({text})",
                "CREATE TABLE nowhere (id INT, v STRING) WITH ('connector'='blackhole')",
                "INSERT INTO nowhere SELECT * FROM src",
            )
            wait_for(jobs, job.id, rows)
            peaks[table] = _peak(jobs.job(job.id).status.pid)
    # A chunk takes about 120 MiB at its most, whatever the table has; all rows at once take 1000.
    assert peaks["wide"] < peaks["narrow"] + 250, "the table has 250 MiB"
