"""CREATE TABLE … AS a stream: the table, and a job that fills it; and views of streams that jobs read."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.execute import create_table_as
from bergsql.engine.result import Result
from bergsql.engine.session import Session, SessionConfig
from tests.support.berg import Berg
from tests.support.jobs import FAST, GENERATED, Jobs

EVENTS = (
    "CREATE TABLE ev (n INT, ts TIMESTAMP_LTZ(3), pt AS PROCTIME(), WATERMARK FOR ts AS ts)"
    " WITH ('connector'='datagen', 'rows-per-second'='100', 'fields.n.min'='7', 'fields.n.max'='7')"
)
NAMES = """CREATE TABLE names (n INT, name STRING) WITH ('connector'='values', 'data'='{"n":7,"name":"seven"}')"""
NAMED = (
    "CREATE VIEW named AS SELECT e.n, n.name FROM ev AS e LEFT JOIN names FOR SYSTEM_TIME AS OF e.pt AS n ON e.n = n.n"
)
COUNTED = "CREATE VIEW counted AS SELECT n, COUNT(*) AS many FROM ev GROUP BY n, TUMBLE(ts, INTERVAL '0.1' SECOND)"


def stopped(jobs: Jobs, *statements: str) -> str:
    """The name of the job that the last statement starts, which is stopped when it has written something."""
    job = jobs.until(jobs.submit(FAST, *statements).id, lambda it: it.status.metrics.get("rows_out"))
    jobs.until_checkpoint(job.id, 2)
    assert jobs.command("stop", job.id).code == 0
    return job.name


@pytest.mark.parametrize("mode", ["automatic", "streaming"])
def test_the_table_is_made_and_a_job_fills_it(jobs: Jobs, berg: Berg, mode: str) -> None:
    name = stopped(
        jobs,
        f"SET 'execution.runtime-mode' = '{mode}'",
        GENERATED,
        "CREATE TABLE t (extra STRING, n BIGINT) AS SELECT 'x' AS x, n FROM gen",
    )
    assert name == "insert-into_default_catalog.default_database.t"
    (row,) = berg.rows("SELECT COUNT(*) > 0 AS some, COUNT(extra) AS extras, MIN(x) AS x FROM t")
    assert row == {"some": True, "extras": 0, "x": "x"}


def test_a_job_goes_on_filling_its_table(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_checkpoint(
        jobs.submit(FAST, GENERATED, "CREATE TABLE t (b, a) AS SELECT n AS a, 2 AS b FROM gen").id
    )
    assert jobs.command("stop", job.id).code == 0
    (before,) = berg.rows("SELECT COUNT(*) AS n, MIN(b) AS b FROM t")
    assert jobs.command("resume", job.id).code == 0
    jobs.until_checkpoint(job.id, 2)
    (after,) = berg.rows("SELECT COUNT(*) AS n, MIN(b) AS b FROM t")
    assert int(str(after["n"])) > int(str(before["n"]))
    assert before["b"] == after["b"] == 2


def test_a_table_of_a_connector_is_made_and_filled(jobs: Jobs) -> None:
    stopped(jobs, GENERATED, "CREATE TABLE t WITH ('connector'='blackhole') AS SELECT n FROM gen")


@pytest.mark.parametrize(
    ("view", "query", "row"),
    [
        (NAMED, "SELECT * FROM named", {"n": 7, "name": "seven"}),
        (COUNTED, "SELECT n, many > 0 AS more FROM counted", {"n": 7, "more": True}),
    ],
)
def test_views_that_only_streams_read_fill_a_table(
    jobs: Jobs, berg: Berg, view: str, query: str, row: dict[str, object]
) -> None:
    stopped(jobs, EVENTS, NAMES, view, f"CREATE TABLE t AS {query}")
    assert berg.rows("SELECT DISTINCT * FROM t") == [row]


def test_where_there_is_no_job_there_is_no_table(jobs: Jobs, berg: Berg) -> None:
    counts = "AS SELECT n, COUNT(*) AS many FROM gen GROUP BY n"
    for sql in (
        f"CREATE TABLE t {counts}",
        f"CREATE TABLE t WITH ('connector'='filesystem','path'='/x','format'='csv') {counts}",
    ):
        done = berg.run("-e", GENERATED, "-e", sql)
        assert done.code == 1, done.err
        assert "changes" in done.err
        assert "Hint: SET 'execution.runtime-mode'" not in done.err
    assert berg.rows("SHOW TABLES") == []
    assert jobs.all() == []


def test_a_table_that_is_there_is_not_replaced_by_a_stream(jobs: Jobs, berg: Berg) -> None:
    done = berg.run(
        "-e", GENERATED, "-e", "CREATE TABLE t AS SELECT 1 AS n", "-e", "CREATE OR REPLACE TABLE t AS SELECT n FROM gen"
    )
    assert done.code == 1
    assert "REPLACE TABLE … AS a stream is not supported yet." in done.err
    assert berg.rows("SELECT n FROM t") == [{"n": 1}]
    assert jobs.all() == []


def test_the_plan_of_a_table_as_a_stream_is_shown(berg: Berg) -> None:
    done = berg.run("-e", GENERATED, "-e", "EXPLAIN CREATE TABLE t AS SELECT n FROM gen")
    assert done.code == 0, done.err
    assert "Stream\n" in done.out
    assert berg.rows("SHOW TABLES") == []


def test_rows_that_others_wrote_do_not_go_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session(SessionConfig(home=tmp_path))

    def overtaken(by: Session, _: object) -> Result:
        by.execute("INSERT INTO t VALUES (1)").close()
        raise BergError(ErrorCode.IO, "There is no process.")

    try:
        session.execute(GENERATED).close()
        monkeypatch.setattr(create_table_as, "insert", overtaken)
        with pytest.raises(BergError, match="There is no process"):
            session.execute("CREATE TABLE t AS SELECT n FROM gen")
        assert list(session.execute("SELECT n FROM t").rows()) == [(1,)]
    finally:
        session.close()
