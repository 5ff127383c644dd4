"""The real Spark reads what jobs wrote, writes on, compacts and expires while they run."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bergsql.catalog.errors import Span
from bergsql.engine.execute.destination import destination
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.statements import Name
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.jobs.status import JobState
from bergsql.engine.streaming.sinks.base import Writer
from bergsql.engine.streaming.sinks.iceberg import iceberg_sink
from tests.interop.conftest import CATALOG, Both
from tests.support.jobs import jobs_of, process
from tests.support.oracle import as_multiset
from tests.support.sinks import HandContext, changes, checkpoint

pytestmark = pytest.mark.interop

FORMATS = ("parquet", "avro", "orc")


@pytest.fixture(scope="module")
def session(both: Both, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    home: Path = tmp_path_factory.mktemp("home")
    opened = Session(SessionConfig(home=home))
    opened.execute(CATALOG.replace("${WAREHOUSE}", str(both.berg.warehouse)))
    both.run(["CREATE DATABASE both.sinks"])
    yield opened
    opened.close()


def writer(session: Session, table: str, mode: ChangelogMode, restored: int = 0, *, upserts: bool = False) -> Writer:
    sink = iceberg_sink(destination(session, Name(tuple(table.split(".")), Span(0, 1))), upserts=upserts)
    sink.check(mode, sink.key)
    return sink.writer(HandContext(session.duck), restored)


def same(both: Both, query: str) -> list[list[object]]:
    """The rows of a query, which both engines give alike."""
    rows = both.spark.rows(query)
    assert as_multiset(both.rows(query)) == as_multiset(rows)
    return rows


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_spark_reads_appends(both: Both, session: Session, version: int, file_format: str) -> None:
    table = f"both.sinks.a{version}_{file_format}"
    both.run(
        [
            f"CREATE TABLE {table} (id BIGINT, name STRING, d DATE) USING iceberg PARTITIONED BY (bucket(2, id)) "
            f"TBLPROPERTIES ('format-version'='{version}', 'write.format.default'='{file_format}')"
        ]
    )
    to = writer(session, table, ChangelogMode.INSERT_ONLY)
    for n in (1, 2):
        to.write(changes(("+I", n, f"n{n}", "2024-01-01"), ("+I", n + 10, None, "2024-02-01")))
        assert checkpoint(to, n)
        both.spark.sql(f"INSERT INTO {table} VALUES ({n + 100}, 'spark', DATE'2024-03-01')")
    rows = same(both, f"SELECT id, name FROM {table} ORDER BY id")
    assert rows == [[1, "n1"], [2, "n2"], [11, None], [12, None], [101, "spark"], [102, "spark"]]


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize(("version", "by"), [(2, ""), (2, "PARTITIONED BY (day)"), (3, "PARTITIONED BY (day)")])
def test_spark_reads_changes(both: Both, session: Session, version: int, by: str, file_format: str) -> None:
    table = f"both.sinks.c{version}_{file_format}_{len(by)}"
    both.run(
        [
            f"CREATE TABLE {table} (id BIGINT, v STRING, day BIGINT, PRIMARY KEY (id) NOT ENFORCED) {by} WITH ("
            f"'format-version'='{version}', 'write.format.default'='{file_format}')"
        ],
        "flink",
    )
    to = writer(session, table, ChangelogMode.RETRACT)
    to.write(changes(("+I", 1, "a", 1), ("+I", 2, "b", 1), ("+I", 3, "c", 2), ("-U", 3, "c", 2), ("+U", 3, "C", 2)))
    assert checkpoint(to, 1)
    to.write(changes(("-U", 1, "a", 1), ("+U", 1, "A", 2), ("-D", 2, "b", 1), ("+I", 4, "d", 3)))
    assert checkpoint(to, 2)
    rows = same(both, f"SELECT * FROM {table} ORDER BY id")
    assert rows == [[1, "A", 2], [3, "C", 2], [4, "d", 3]]
    both.spark.sql(f"CALL both.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
    to.write(changes(("-U", 1, "A", 2), ("+U", 1, "AA", 1)))
    assert checkpoint(to, 3)
    rows = same(both, f"SELECT * FROM {table} ORDER BY id")
    assert rows == [[1, "AA", 1], [3, "C", 2], [4, "d", 3]]


def test_spark_reads_upserts(both: Both, session: Session) -> None:
    table = "both.sinks.upserts"
    both.run([f"CREATE TABLE {table} (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)"], "flink")
    both.spark.sql(f"INSERT INTO {table} VALUES (1, 'spark'), (2, 'spark')")
    to = writer(session, table, ChangelogMode.INSERT_ONLY, upserts=True)
    to.write(changes(("+I", 1, "a"), ("+I", 3, "c"), ("+I", 1, "b")))
    assert checkpoint(to, 1)
    assert same(both, f"SELECT * FROM {table} ORDER BY id") == [[1, "b"], [2, "spark"], [3, "c"]]


def test_a_job_whose_snapshots_spark_expires(both: Both, tmp_path: Path) -> None:
    """It is killed, its snapshots are expired, and it goes on: each row once. A second client of it is refused."""
    watched = tmp_path / "in"
    watched.mkdir()

    def give(name: str, *rows: tuple[int, int]) -> None:
        file = tmp_path / name
        file.write_text("".join(f"{k},{v}\n" for k, v in rows))
        os.utime(file, (1, 1))
        shutil.move(file, watched / name)

    def rows() -> list[list[object]]:
        return both.rows("SELECT k, n, s FROM both.sinks.counted ORDER BY k")

    with jobs_of(both.berg) as jobs:
        give("a.csv", (1, 10), (2, 20), (1, 5))
        job = jobs.submit(
            "SET 'execution.checkpointing.interval' = '50 ms'",
            CATALOG,
            f"CREATE TABLE src (k BIGINT, v BIGINT) WITH ('connector'='filesystem', 'path'='{watched}', "
            "'format'='csv', 'source.monitor-interval'='20 ms')",
            "CREATE TABLE both.sinks.counted (k BIGINT, n BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED)",
            "INSERT INTO both.sinks.counted SELECT k, COUNT(*) AS n, SUM(v) AS s FROM src GROUP BY k",
        )
        jobs.until_checkpoint(job.id)
        give("b.csv", (1, 1), (3, 3))
        jobs.until(job.id, lambda j: j.status.metrics.get("rows_in", 0) == 5)
        run = process(jobs.job(job.id))
        run.kill()
        psutil.wait_procs([run], timeout=60)
        jobs.until_state(job.id, JobState.LOST)
        for call in (
            "rewrite_data_files(table => 'both.sinks.counted', options => map('rewrite-all', 'true'))",
            "expire_snapshots(table => 'both.sinks.counted', older_than => TIMESTAMP '2100-01-01 00:00:00', "
            "retain_last => 1)",
        ):
            both.spark.sql(f"CALL both.system.{call}")
        give("c.csv", (2, 2), (3, 30))
        assert jobs.command("resume", job.id).code == 0
        second = jobs.command("resume", job.id)
        assert second.code != 0 or "no job to resume" in second.err, second
        jobs.until(job.id, lambda _: rows() == [[1, 3, 16], [2, 2, 22], [3, 2, 33]])
        assert as_multiset(both.spark.rows("SELECT k, n, s FROM both.sinks.counted")) == as_multiset(rows())
        jobs.command("stop", job.id)
