"""What a job writes is there once, however often its process is killed and whatever it was doing."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, Jobs, process

KILLS = 6
ROWS = 200
FILES = 12


def put_file(directory: Path, number: int) -> None:
    """A file of rows that no other has, put into its place whole."""
    part = directory / f".{number}.csv"
    part.write_text("".join(f"{number * ROWS + i},{i % 7}\n" for i in range(ROWS)))
    part.rename(directory / f"{number:03}.csv")


@pytest.mark.parametrize("seed", [1])
def test_a_directory_goes_into_two_tables_through_kills(jobs: Jobs, berg: Berg, tmp_path: Path, seed: int) -> None:
    """Append and an upsert of counts, in one statement set; the end is what the batch query says of the directory."""
    chance = random.Random(seed)
    source = tmp_path / "in"
    source.mkdir()
    job = jobs.submit(
        "SET 'execution.checkpointing.interval' = '50 ms'",
        f"CREATE TABLE files (n BIGINT, k INT) WITH ('connector'='filesystem', 'path'='{source}', 'format'='csv',"
        " 'source.monitor-interval'='20 ms')",
        "CREATE TABLE all_rows (n BIGINT, k INT)",
        "CREATE TABLE counts (k INT, c BIGINT, s BIGINT, PRIMARY KEY (k) NOT ENFORCED)"
        " WITH ('format-version'='2', 'write.upsert.enabled'='true')",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO all_rows SELECT n, k FROM files;"
        " INSERT INTO counts SELECT k, COUNT(*), SUM(n) FROM files GROUP BY k; END",
    )
    for number in range(FILES):
        put_file(source, number)
        if number % (FILES // KILLS) == 1:
            moment = time.monotonic() + chance.uniform(0, 0.4)
            jobs.until(job.id, lambda _, moment=moment: time.monotonic() >= moment)  # type: ignore[misc]
            process(jobs.job(job.id)).kill()
            jobs.until_state(job.id, JobState.LOST)
            assert jobs.command("resume", job.id).code == 0
    total = ROWS * FILES
    deadline = time.monotonic() + DEADLINE
    while berg.rows("SELECT SUM(c) AS c FROM counts")[0]["c"] != total:
        assert jobs.job(job.id).state is JobState.RUNNING
        assert time.monotonic() < deadline, jobs.job(job.id).log.read_text()[-3000:]
    assert jobs.command("stop", job.id, "--savepoint").code == 0
    (rows,) = berg.rows("SELECT COUNT(*) AS c, COUNT(DISTINCT n) AS d, MIN(n) AS a, MAX(n) AS b FROM all_rows")
    assert rows == {"c": total, "d": total, "a": 0, "b": total - 1}
    found = berg.rows("SELECT k, c, s FROM counts ORDER BY k")
    numbers = range(total)
    expected = [[n for n in numbers if n % ROWS % 7 == k] for k in range(7)]
    assert found == [{"k": k, "c": len(each), "s": sum(each)} for k, each in enumerate(expected)]
