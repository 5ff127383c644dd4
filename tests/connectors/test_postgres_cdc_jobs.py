"""Jobs from PostgreSQL into an Iceberg table: at the end both hold the same, whatever is killed meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.change_reader import ChangeReader
from tests.support.jobs import Jobs, jobs_of, process
from tests.support.postgres_cdc import dropped, options, own_name, source
from tests.support.services.postgres import Postgres
from tests.support.services.server import until

PASSWORD = "secret-of-postgres"


@pytest.fixture
def jobs(berg: Berg) -> Iterator[Jobs]:
    with jobs_of(berg) as found:
        yield found


@pytest.fixture
def session(berg: Berg) -> Iterator[Session]:
    made = Session(SessionConfig(home=berg.home))
    yield made
    made.close()


def started(jobs: Jobs, session: Session, server: Postgres, table: str) -> str:
    """A job that keeps a copy of a table."""
    server.run(
        f"CREATE TABLE {table} (id int PRIMARY KEY, v text)",
        f"ALTER TABLE {table} REPLICA IDENTITY FULL",
        f"INSERT INTO {table} SELECT n, 'v' || n FROM generate_series(1, 2000) AS n",
    )
    columns = "id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED"
    session.execute(f"CREATE TABLE copy ({columns}) WITH ('format-version'='2', 'write.upsert.enabled'='true')").close()
    more = ", 'scan.incremental.snapshot.chunk.size'='100', 'scan.lsn-commit.checkpoints-num-delay'='1'"
    return jobs.submit(
        "SET 'execution.checkpointing.interval' = '100 ms'",
        "SET 'restart-strategy.type' = 'fixed-delay'",
        "SET 'restart-strategy.fixed-delay.attempts' = '1000'",
        "SET 'restart-strategy.fixed-delay.delay' = '100 ms'",
        f"CREATE TABLE p ({columns}) WITH ({options(server, f'slot_{table}', table)}{more})",
        "INSERT INTO copy SELECT * FROM p",
    ).id


def is_copied(session: Session, server: Postgres, table: str) -> bool:
    result = session.execute("SELECT id, v FROM copy")
    try:
        return sorted(result.rows()) == sorted(server.run(f"SELECT id, v FROM {table}"))
    finally:
        result.close()


def change(server: Postgres, table: str, number: int) -> None:
    server.run(
        f"UPDATE {table} SET v = v || '{number}' WHERE id % 7 = {number}",
        f"DELETE FROM {table} WHERE id % 100 = {number}",
        f"INSERT INTO {table} VALUES ({10_000 + number}, 'new')",
        f"UPDATE {table} SET id = -id WHERE id % 50 = {number + 10}",
    )


def test_a_job_that_is_killed_and_its_server_too(jobs: Jobs, session: Session) -> None:
    server = Postgres()
    try:
        server.start()
        id_ = started(jobs, session, server, "jobs_of")
        for number in range(2):
            change(server, "jobs_of", number)
            moment = time.monotonic() + 0.1 * number
            until("the moment", lambda moment=moment: time.monotonic() >= moment)
            process(jobs.job(id_)).kill()
            jobs.until_state(id_, JobState.LOST)
            assert jobs.command("resume", id_).code == 0
        server.kill()
        jobs.until(id_, lambda job: "cannot be reached, or broke off" in job.log.read_text())
        server.start()
        change(server, "jobs_of", 5)
        until("a copy", lambda: is_copied(session, server, "jobs_of"))
        assert jobs.command("stop", id_, "--savepoint").code == 0
        change(server, "jobs_of", 6)
        assert jobs.command("resume", id_).code == 0
        until("a copy", lambda: is_copied(session, server, "jobs_of"))
        shown = jobs.command("list").out + "".join(process(jobs.job(id_)).cmdline())
        server.run("TRUNCATE jobs_of")
        jobs.until_state(id_, JobState.FAILED)
        job = jobs.job(id_)
        for path in job.directory.rglob("*"):
            if path.is_file() and path.name != "secrets.json":
                shown += path.read_bytes().decode(errors="replace")
        assert "was truncated" in shown
        assert PASSWORD not in shown
        dropped(server, "slot_jobs_of")
    finally:
        server.close()


def test_a_slot_whose_log_was_removed() -> None:
    server = Postgres()
    try:
        server.start()
        table, slot = own_name("lost"), own_name("slot")
        server.run(
            "ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'",
            "ALTER SYSTEM SET max_wal_size = '32MB'",
            "SELECT pg_reload_conf()",
            f"CREATE TABLE {table} (id int PRIMARY KEY)",
            f"ALTER TABLE {table} REPLICA IDENTITY FULL",
        )
        reader = ChangeReader(source(server, slot, table, "id INT, PRIMARY KEY (id) NOT ENFORCED"))
        with reader.opened():
            reader.until(lambda: reader.reader.wait > 0)
        for _ in range(4):
            server.run("SELECT pg_logical_emit_message(false, 'x', 'y')", "SELECT pg_switch_wal()", "CHECKPOINT")
        with pytest.raises(BergError, match="no longer holds the changes that come next") as told, reader.opened():
            reader.until(lambda: False)
        assert told.value.code is ErrorCode.INVALID
        assert "start a new job" in str(told.value.hint)
        with pytest.raises(BergError, match="no longer holds"), ChangeReader(reader.source).opened():
            pass
    finally:
        server.close()
