"""A job of two sinks that is stopped with a savepoint, and statements that start from it: the same, and changed ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.jobs import FAST, Jobs

ROWS = 40
ALL = "INSERT INTO all_rows SELECT n, k FROM files"
COUNTS = "INSERT INTO counts SELECT k, COUNT(*), SUM(n) FROM files GROUP BY k"


def files(source: Path) -> str:
    return (
        f"CREATE TABLE files (n BIGINT, k INT) WITH ('connector'='filesystem', 'path'='{source}', 'format'='csv',"
        " 'source.monitor-interval'='20 ms')"
    )


def both(first: str = ALL, second: str = COUNTS) -> str:
    return f"EXECUTE STATEMENT SET BEGIN {first}; {second}; END"


def put(source: Path, number: int) -> None:
    part = source / f".{number}.csv"
    part.write_text("".join(f"{number * ROWS + i},{i % 3}\n" for i in range(ROWS)))
    part.rename(source / f"{number}.csv")


class Stopped:
    """A job that has read a file and was stopped WITH SAVEPOINT; another file has come since."""

    def __init__(self, jobs: Jobs, berg: Berg, source: Path) -> None:
        self.jobs, self.berg, self.source = jobs, berg, source
        put(source, 0)
        job = jobs.submit(
            FAST,
            files(source),
            "CREATE TABLE all_rows (n BIGINT, k INT)",
            "CREATE TABLE counts (k INT, c BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ('format-version'='2')",
            both(),
        )
        jobs.until(job.id, lambda _: self.counted() == ROWS)
        done = berg.run("--format", "csv", "-e", f"STOP JOB '{job.id}' WITH SAVEPOINT")
        assert done.code == 0, done.err
        self.path = done.out.splitlines()[-1]
        assert jobs.job(job.id).state is JobState.STOPPED
        put(source, 1)

    def counted(self) -> int:
        (row,) = self.berg.rows("SELECT COALESCE(SUM(c), 0) AS c FROM counts")
        return int(str(row["c"]))

    def start(self, statement: str) -> tuple[str, ...]:
        return (f"SET 'execution.savepoint.path' = '{self.path}'", FAST, files(self.source), statement)

    def run_until(self, statement: str, total: int) -> None:
        """Start from the savepoint, wait until so many rows are counted, and stop."""
        job = self.jobs.submit(*self.start(statement))
        self.jobs.until(job.id, lambda _: self.counted() >= total)
        assert self.jobs.command("stop", job.id, "--savepoint").code == 0
        assert self.counted() == total

    def written(self) -> list[object]:
        return [row["n"] for row in self.berg.rows("SELECT n FROM all_rows ORDER BY n")]


@pytest.fixture
def stopped(jobs: Jobs, berg: Berg, tmp_path: Path) -> Stopped:
    source = tmp_path / "in"
    source.mkdir()
    return Stopped(jobs, berg, source)


def test_the_same_statements_go_on(stopped: Stopped) -> None:
    stopped.run_until(both(), 2 * ROWS)
    assert stopped.written() == list(range(2 * ROWS))
    sums = {k: [n for n in range(2 * ROWS) if n % ROWS % 3 == k] for k in range(3)}
    found = stopped.berg.rows("SELECT k, c, s FROM counts ORDER BY k")
    assert found == [{"k": k, "c": len(each), "s": sum(each)} for k, each in sums.items()]


def test_a_filter_that_was_added_holds_from_here_on(stopped: Stopped) -> None:
    stopped.run_until(both(f"{ALL} WHERE k <> 1"), 2 * ROWS)
    later = [n for n in range(ROWS, 2 * ROWS) if n % ROWS % 3 != 1]
    assert stopped.written() == [*range(ROWS), *later]


@pytest.mark.parametrize(
    "changed",
    [COUNTS.replace("SUM(n)", "MAX(n)"), COUNTS.replace("COUNT(*)", "COUNT(DISTINCT n)")],
    ids=["function", "distinct"],
)
def test_an_aggregate_that_was_changed_is_refused(stopped: Stopped, changed: str) -> None:
    """Nothing was done then, and the same statements still go on from there."""
    done = stopped.berg.run("--detach", *[w for sql in stopped.start(both(second=changed)) for w in ("-e", sql)])
    if done.code == 0:
        (job,) = [j for j in stopped.jobs.all() if j.state is not JobState.STOPPED]
        stopped.jobs.until_state(job.id, JobState.FAILED)
    else:
        assert "does not fit the query: there is state of aggregate-" in done.err
    assert stopped.written() == list(range(ROWS))
    assert stopped.counted() == ROWS
    stopped.run_until(both(), 2 * ROWS)
    assert stopped.written() == list(range(2 * ROWS))
