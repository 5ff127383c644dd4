"""Jobs that write to a database: each row is there once, whatever is killed."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.databases import Place, in_mariadb, place_in
from tests.support.jobs import FAST, GENERATED, Jobs, jobs_of, process
from tests.support.services.mariadb import MariaDB
from tests.support.services.server import until

ROWS = 50
KEYS = 7


@pytest.fixture
def jobs(berg: Berg) -> Iterator[Jobs]:
    with jobs_of(berg) as found:
        yield found


@pytest.fixture
def session(berg: Berg) -> Iterator[Session]:
    made = Session(SessionConfig(home=berg.home))
    yield made
    made.close()


def put(session: Session, number: int) -> None:
    """Rows that no other call puts."""
    rows = ", ".join(f"({number * ROWS + i}, {i % KEYS})" for i in range(ROWS))
    session.execute(f"INSERT INTO ice VALUES {rows}").close()


def started(jobs: Jobs, session: Session, place: Place) -> str:
    """A job that adds all rows of an Iceberg table to one table, and keeps their sums by key in another."""
    place.run(
        "CREATE TABLE {every} (n INT, k INT)",
        "CREATE TABLE {sums} (k INT NOT NULL PRIMARY KEY, c BIGINT, s BIGINT)",
    )
    session.execute("CREATE TABLE ice (n INT, k INT)").close()
    hint = "/*+ OPTIONS('streaming'='true', 'monitor-interval'='20 ms') */"
    return jobs.submit(
        "SET 'execution.checkpointing.interval' = '50 ms'",
        "SET 'restart-strategy.type' = 'fixed-delay'",
        "SET 'restart-strategy.fixed-delay.attempts' = '1000'",
        "SET 'restart-strategy.fixed-delay.delay' = '100 ms'",
        f"CREATE TABLE every (n INT, k INT) {place.clause('every')}",
        f"CREATE TABLE sums (k INT, c BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) {place.clause('sums')}",
        f"EXECUTE STATEMENT SET BEGIN INSERT INTO every SELECT n, k FROM ice {hint};"
        f" INSERT INTO sums SELECT k, COUNT(*), SUM(n) FROM ice {hint} GROUP BY k; END",
    ).id


def is_whole(place: Place, count: int) -> bool:
    return (
        place.run("SELECT SUM(c) FROM {sums}") == [(count,)]
        and place.run("SELECT COUNT(*) FROM {every}")[0][0] >= count
    )


def check(place: Place, count: int) -> None:
    numbers = range(count)
    assert place.run("SELECT COUNT(*), COUNT(DISTINCT n), MIN(n), MAX(n) FROM {every}") == [
        (count, count, 0, count - 1)
    ]
    keys = [[n for n in numbers if n % ROWS % KEYS == k] for k in range(KEYS)]
    assert place.run("SELECT k, c, s FROM {sums} ORDER BY k") == [
        (k, len(of), sum(of)) for k, of in enumerate(keys) if of
    ]


@pytest.mark.parametrize("kind", ["mariadb", "postgres"])
def test_rows_are_there_once_when_the_job_is_killed(
    jobs: Jobs, session: Session, kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    place = place_in(kind, request, tmp_path)
    id_ = started(jobs, session, place)
    for number in range(4):
        put(session, number)
        if number % 2:
            moment = time.monotonic() + 0.07 * number
            jobs.until(id_, lambda _, moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
            process(jobs.job(id_)).kill()
            jobs.until_state(id_, JobState.LOST)
            assert jobs.command("resume", id_).code == 0
    until("rows", lambda: is_whole(place, 4 * ROWS))
    assert jobs.command("stop", id_, "--savepoint").code == 0
    check(place, 4 * ROWS)
    shutil.rmtree(jobs.job(id_).directory / "prepared")  # a savepoint has all that it needs
    assert jobs.command("resume", id_).code == 0
    put(session, 4)
    until("rows", lambda: is_whole(place, 5 * ROWS))
    assert jobs.command("stop", id_, "--savepoint").code == 0
    check(place, 5 * ROWS)


def test_rows_are_there_once_when_the_database_is_killed(jobs: Jobs, session: Session) -> None:
    server = MariaDB()
    try:
        server.start()
        # What a server says is committed lasts when it is killed.
        server.run("SET GLOBAL innodb_flush_log_at_trx_commit = 1", "SET GLOBAL sync_binlog = 1")
        place = in_mariadb(server, "j")
        id_ = started(jobs, session, place)
        put(session, 0)
        until("rows", lambda: is_whole(place, ROWS))
        server.kill()
        put(session, 1)
        jobs.until(id_, lambda job: "cannot be reached, or broke off" in job.log.read_text())
        server.start()
        put(session, 2)
        until("rows", lambda: is_whole(place, 3 * ROWS))
        assert jobs.command("stop", id_, "--savepoint").code == 0
        check(place, 3 * ROWS)
    finally:
        server.close()


def test_a_password_in_the_url_is_shown_nowhere(jobs: Jobs, mariadb: MariaDB) -> None:
    place = in_mariadb(mariadb, "j_secrets")
    place.run(
        "CREATE TABLE {t} (n INT)",
        "CREATE USER 'geheimnis'@'127.0.0.1' IDENTIFIED BY 'Ge/heim%1'",
        "GRANT ALL ON j_secrets.* TO 'geheimnis'@'127.0.0.1'",
    )
    url = f"jdbc:mysql://geheimnis:Ge%2Fheim%251@{mariadb.address}/j_secrets"
    job = jobs.submit(
        FAST,
        GENERATED,
        f"CREATE TABLE t (n INT) WITH ('connector'='jdbc', 'url'='{url}', 'table-name'='t')",
        "INSERT INTO t SELECT n FROM gen",
    )
    until("rows", lambda: place.run("SELECT COUNT(*) FROM {t}")[0][0] > 0)
    shown = jobs.command("list").out + "".join(process(jobs.job(job.id)).cmdline())
    place.run("DROP TABLE {t}")
    jobs.until_state(job.id, JobState.FAILED)
    for path in job.directory.rglob("*"):
        if path.is_file() and path.name != "secrets.json":
            shown += path.read_bytes().decode(errors="replace")
    assert "is not as it was" in shown
    assert "heim%" not in shown
    assert "heim%25" in (job.directory / "secrets.json").read_text()
