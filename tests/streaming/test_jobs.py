"""Jobs are processes that outlive their clients, and go on after whatever ends them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bergsql.engine.streaming.jobs.status import JobState, is_alive
from tests.shell.terminal import CTRL_C, Terminal
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, FAST, GENERATED, NOWHERE, Jobs, id_in, process

TABLE = "CREATE TABLE t (n INT)"
INTO_TABLE = "INSERT INTO t SELECT n FROM gen"
PRINTED = "CREATE TABLE printed (n INT) WITH ('connector'='print')"
START = (FAST, GENERATED, TABLE, INTO_TABLE)


def count(berg: Berg, table: str = "t") -> int:
    (row,) = berg.rows(f"SELECT COUNT(*) AS n FROM {table}")
    return int(str(row["n"]))


def told_like_flink(text: str) -> bool:
    lines = text.splitlines()
    at = lines.index("[INFO] Submitting SQL update statement to the cluster...")
    return (
        lines[at + 1] == "[INFO] SQL update statement has been successfully submitted to the cluster:"
        and lines[at + 2].startswith("Job ID: ")
        and lines[at + 3] == ""
    )


def test_a_job_outlives_its_client(jobs: Jobs, berg: Berg) -> None:
    done = berg.run("--detach", *[word for sql in START for word in ("-e", sql)])
    assert done.code == 0, done.err
    assert told_like_flink(done.err)
    assert done.out == ""
    job = jobs.until_checkpoint(id_in(done.err), 2)
    assert job.state is JobState.RUNNING
    assert job.name == "insert-into_default_catalog.default_database.t"
    run = process(job)
    assert os.getsid(run.pid) == run.pid  # a session of its own: no terminal's signals reach it
    assert run.terminal() is None
    before = count(berg)
    assert before > 0
    jobs.until_checkpoint(job.id, 2)
    assert count(berg) > before
    assert jobs.command("stop", job.id[:8]).code == 0
    assert jobs.job(job.id).state is JobState.CANCELED
    assert not is_alive(jobs.job(job.id).status)
    stopped = count(berg)
    assert jobs.command("resume", job.id).err == f"[INFO] Job {job.id} is RUNNING.\n"
    jobs.until_checkpoint(job.id, 1)
    assert count(berg) > stopped


def test_what_keeps_a_job_from_running_is_told_at_the_statement(jobs: Jobs, berg: Berg) -> None:
    done = berg.run("-e", GENERATED, "-e", "INSERT INTO nope SELECT n FROM gen")
    assert done.code == 1
    assert "nope was not found" in done.err
    assert jobs.all() == []
    assert not list((berg.home / "jobs").glob("?" * 32))


def test_ctrl_c_while_a_job_begins_leaves_none(jobs: Jobs, berg: Berg, tmp_path: Path) -> None:
    (tmp_path / "slow_functions.py").write_text(
        "import os, time\nif not os.isatty(2):\n    time.sleep(600)\ndef slow(n: int) -> int:\n    return n\n"
    )
    slow = Berg(berg.home, berg.warehouse, environment={"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"})
    with Terminal(slow) as terminal:
        terminal.prompted()
        for sql in (
            GENERATED,
            NOWHERE,
            "CREATE TEMPORARY SYSTEM FUNCTION slow AS 'slow_functions.slow' LANGUAGE PYTHON",
        ):
            terminal.enter(sql + ";")
        terminal.type("INSERT INTO nowhere SELECT slow(n) FROM gen;\r")
        deadline = time.monotonic() + DEADLINE
        while not [job for job in jobs.all() if job.status.pid]:
            assert time.monotonic() < deadline
        (job,) = jobs.all()
        terminal.type(CTRL_C)
        terminal.wait(lambda lines: any("Query cancelled." in line for line in lines))
        terminal.prompted()
        assert jobs.all() == []
        assert not is_alive(job.status)


def test_only_the_owner_reads_what_a_job_writes(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id, 2)
    for path in (berg.home / "jobs", *(berg.home / "jobs").rglob("*")):
        assert path.stat().st_mode & 0o077 == 0, path
    names = {path.name for path in job.directory.iterdir()}
    assert {
        "spec.json",
        "secrets.json",
        "status.json",
        "state",
        "job.log",
        "job.out",
        "job.err",
        "metrics.prom",
    } <= names
    assert (
        f'bergsql_job_state{{job="{job.id}",name="{job.name}",state="RUNNING"}} 1'
        in (job.directory / "metrics.prom").read_text()
    )


def test_no_secret_is_anywhere_but_in_its_file(jobs: Jobs, berg: Berg) -> None:
    secret = "hunter2-of-the-job"
    job = jobs.submit(
        "SET 'spark.sql.catalog.other' = 'org.apache.iceberg.spark.SparkCatalog'",
        "SET 'spark.sql.catalog.other.type' = 'hadoop'",
        f"SET 'spark.sql.catalog.other.warehouse' = '{berg.warehouse}'",
        f"SET 'spark.sql.catalog.other.s3.secret-access-key' = '{secret}'",
        *START,
    )
    job = jobs.until_checkpoint(job.id)
    jobs.command("stop", job.id)
    for path in job.directory.rglob("*"):
        if path.is_file() and path.name != "secrets.json":
            assert secret.encode() not in path.read_bytes(), path
    assert secret in (job.directory / "secrets.json").read_text()
    assert secret not in berg.run("-e", f"DESCRIBE JOB '{job.id}'", merged=True).out
    assert jobs.command("resume", job.id).code == 0
    assert secret not in " ".join(process(jobs.job(job.id)).cmdline())


def test_a_terminal_that_is_closed_ends_no_job(jobs: Jobs, berg: Berg) -> None:
    with Terminal(berg) as terminal:
        terminal.prompted()
        for sql in START:
            terminal.enter(sql + ";")
        (job,) = jobs.all()
        assert job.state is JobState.RUNNING
        assert process(job).is_running()
        terminal.enter(f"DESCRIBE JOB '{job.id[:6]}';")
        assert any("insert-into_default_catalog" in line for line in terminal.lines)
    jobs.until_checkpoint(job.id, 2)
    assert process(jobs.job(job.id)).is_running()


def test_quit_leaves_jobs_running(jobs: Jobs, berg: Berg) -> None:
    with Terminal(berg) as terminal:
        terminal.prompted()
        for sql in START:
            terminal.enter(sql + ";")
        terminal.type("QUIT;\r")
        assert terminal.ended() == 0
    (job,) = jobs.all()
    jobs.until_checkpoint(job.id)
    assert jobs.job(job.id).state is JobState.RUNNING


def test_a_killed_job_is_lost_until_it_is_resumed(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id, 2)
    process(job).kill()
    jobs.until_state(job.id, JobState.LOST)
    assert f"{job.id},{job.name},LOST," in berg.run("--format", "csv", "-e", "SHOW JOBS").out
    before = count(berg)
    assert jobs.command("resume", "--all").err == f"[INFO] Job {job.id} is RUNNING.\n"
    jobs.until_checkpoint(job.id, 1)
    assert count(berg) > before
    assert jobs.command("resume", "--all").err == "[INFO] There is no job to resume.\n"


def test_a_process_that_is_told_to_end_is_suspended(jobs: Jobs) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id)
    run = process(job)
    run.send_signal(signal.SIGHUP)
    run.terminate()
    run.wait(DEADLINE)
    assert jobs.job(job.id).state is JobState.SUSPENDED
    assert jobs.command("resume", "--all").code == 0
    jobs.until_state(job.id, JobState.RUNNING)


def test_a_second_claim_is_refused(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_state(jobs.submit(*START).id, JobState.RUNNING)
    done = jobs.command("resume", job.id)
    assert done.code == 1
    assert f"Job {job.id} is run by another process ({job.status.pid})" in done.err
    # A process that does not look, as one on a copy of the status: the lock stops it.
    second = subprocess.run(
        [sys.executable, "-m", "bergsql.engine.streaming.jobs.process", str(job.directory)],
        env=berg.env(),
        check=False,
        timeout=DEADLINE,
    )
    assert second.returncode == 75
    assert jobs.job(job.id).status.pid == job.status.pid
    assert jobs.until_checkpoint(job.id).state is JobState.RUNNING


def test_a_savepoint_is_what_another_job_starts_from(jobs: Jobs, berg: Berg, tmp_path: Path) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id, 2)
    place = f"SET 'state.savepoints.dir' = 'file://{tmp_path}/saved'"
    done = berg.run("--format", "csv", "-e", place, "-e", f"STOP JOB '{job.id}' WITH SAVEPOINT")
    assert done.code == 0, done.err
    title, path = done.out.splitlines()
    assert title == "savepoint path"
    assert path.startswith(f"file:{tmp_path}/saved/savepoint-{job.id[:6]}-")
    assert jobs.job(job.id).state is JobState.STOPPED
    before = count(berg)
    # All that is needed is in the savepoint.
    start = (f"SET 'execution.savepoint.path' = '{path}'", FAST, GENERATED, INTO_TABLE)
    second = jobs.until_checkpoint(jobs.submit(*start).id)
    assert second.id != job.id
    assert second.identity == job.id
    assert count(berg) > before
    third = berg.run("--detach", *[word for sql in start for word in ("-e", sql)])
    assert third.code == 1
    assert f"Job {job.id} is run by another process" in third.err
    resumed = jobs.command("resume", job.id)
    assert resumed.code == 1
    assert "is run by another process" in resumed.err
    wrong = berg.run("-e", "SET 'execution.savepoint.path' = '/nowhere'", "-e", GENERATED, "-e", INTO_TABLE)
    assert wrong.code == 1
    assert "There is no savepoint at /nowhere" in wrong.err


def test_a_job_goes_on_where_its_savepoint_cannot_be_made(jobs: Jobs, berg: Berg, tmp_path: Path) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id)
    (tmp_path / "file").touch()
    place = f"SET 'state.savepoints.dir' = '{tmp_path}/file/saved'"
    for drain in ("", " WITH DRAIN"):
        done = berg.run("-e", place, "-e", f"STOP JOB '{job.id}' WITH SAVEPOINT{drain}")
        assert done.code == 1
        assert f"Cannot make {tmp_path}/file/saved: Not a directory. Job {job.id} goes on." in done.err
    jobs.until_checkpoint(job.id)
    assert jobs.job(job.id).status.pid == job.status.pid
    assert jobs.job(job.id).status.restarts == 0
    assert jobs.command("stop", job.id, "--savepoint").code == 0
    assert jobs.job(job.id).state is JobState.STOPPED


def test_a_drained_job_is_finished(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id)
    done = berg.run("-e", f"STOP JOB '{job.id}' WITH SAVEPOINT WITH DRAIN")
    assert "savepoint path" in done.out
    assert jobs.job(job.id).state is JobState.FINISHED
    assert "is finished" in jobs.command("resume", job.id).err


# --- scripts that wait ------------------------------------------------------------------------------------------------


def script(berg: Berg, *statements: str) -> subprocess.Popen[str]:
    """A client that runs a script, and waits for its jobs."""
    path = berg.home / "pipeline.sql"
    path.write_text(";\n".join(statements) + ";\n")
    return subprocess.Popen(
        berg.command("-f", str(path)), env=berg.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def started(client: subprocess.Popen[str]) -> str:
    """The id of the job that a client says it has started."""
    assert client.stderr is not None
    read = ""
    while not (line := client.stderr.readline()).startswith("Job ID: "):
        assert line, read
        read += line
    return id_in(line)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_script_waits_and_stops_its_jobs_with_savepoints(
    jobs: Jobs, berg: Berg, number: signal.Signals, code: int
) -> None:
    client = script(berg, *START)
    id_ = started(client)
    jobs.until_checkpoint(id_)
    assert client.poll() is None
    client.send_signal(number)
    _, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == code, err
    job = jobs.job(id_)
    assert job.state is JobState.STOPPED
    assert f"[INFO] Job {id_} was stopped. Its savepoint: file:{job.status.savepoint}\n" in err
    assert Path(str(job.status.savepoint)).is_relative_to(berg.home / "savepoints")


def test_a_script_whose_terminal_is_closed_leaves_its_jobs(jobs: Jobs, berg: Berg) -> None:
    client = script(berg, *START)
    id_ = started(client)
    jobs.until_checkpoint(id_)
    client.send_signal(signal.SIGHUP)
    assert client.wait(DEADLINE) == 129
    assert jobs.until_checkpoint(id_).state is JobState.RUNNING


def test_a_script_shows_what_its_jobs_print_and_ends_with_them(jobs: Jobs, berg: Berg) -> None:
    client = script(berg, FAST, GENERATED, PRINTED, "INSERT INTO printed SELECT n FROM gen")
    assert client.stdout is not None
    assert client.stdout.readline().startswith("+I[")
    id_ = started(client)
    jobs.command("stop", id_)
    out, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == 0
    assert all(line.startswith("+I[") for line in out.splitlines())
    assert f"[INFO] Job {id_} is CANCELED." in err


def test_a_script_that_fails_stops_its_jobs(jobs: Jobs, berg: Berg) -> None:
    client = script(berg, *START, "SELECT nope")
    _, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == 1
    (job,) = jobs.all()
    assert job.state is JobState.STOPPED
    assert f"Job {job.id} was stopped." in err


def test_a_killed_job_fails_the_script_that_waits_for_it(jobs: Jobs, berg: Berg) -> None:
    client = script(berg, *START)
    id_ = started(client)
    process(jobs.job(id_)).kill()
    _, err = client.communicate(timeout=DEADLINE)
    assert client.returncode == 1
    assert f"[ERROR] Job {id_} is LOST: its process was killed." in err
    assert f"bergsql jobs resume {id_}" in err


def test_dml_sync_waits_at_the_statement(jobs: Jobs, berg: Berg) -> None:
    with Terminal(berg) as terminal:
        terminal.prompted()
        for sql in (FAST, GENERATED, NOWHERE, "SET 'table.dml-sync' = 'true'"):
            terminal.enter(sql + ";")
        terminal.type("INSERT INTO nowhere SELECT n FROM gen;\r")
        terminal.wait(lambda lines: any(line.startswith("Job ID: ") for line in lines))
        id_ = jobs.all()[0].id
        terminal.type(CTRL_C)
        terminal.wait(lambda lines: any("was stopped" in line for line in lines))
        terminal.prompted()
    assert jobs.job(id_).state is JobState.STOPPED


def test_a_statement_set_is_one_job(jobs: Jobs, berg: Berg) -> None:
    job = jobs.submit(
        FAST,
        GENERATED,
        TABLE,
        "CREATE TABLE u (n INT)",
        "SET 'pipeline.name' = 'both'",
        "EXECUTE STATEMENT SET BEGIN INSERT INTO t SELECT n FROM gen; INSERT INTO u SELECT n FROM gen; END",
    )
    assert job.name == "both"
    assert len(jobs.all()) == 1
    jobs.until_checkpoint(job.id, 2)
    jobs.command("stop", job.id, "--savepoint")
    assert count(berg, "t") > 0
    assert count(berg, "u") > 0


# --- failures ---------------------------------------------------------------------------------------------------------

FLAKY = """
import os

def flaky(n: int) -> int:
    if os.path.exists(os.environ["FAILS"]):
        raise ValueError("not now")
    return n
"""


@pytest.fixture
def flaky(berg: Berg, tmp_path: Path) -> tuple[Jobs, Path]:
    """Jobs whose function ``flaky`` fails while there is a file."""
    (tmp_path / "flaky_functions.py").write_text(FLAKY)
    fails = tmp_path / "fails"
    environment = {"PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}", "FAILS": str(fails)}
    return Jobs(Berg(berg.home, berg.warehouse, environment=environment)), fails


FLAKY_START = (
    FAST,
    GENERATED,
    TABLE,
    "CREATE TEMPORARY SYSTEM FUNCTION flaky AS 'flaky_functions.flaky' LANGUAGE PYTHON",
    "INSERT INTO t SELECT flaky(n) FROM gen",
)


def test_what_fails_begins_again_until_it_can_go_on(flaky: tuple[Jobs, Path], jobs: Jobs) -> None:
    failing, fails = flaky
    quick = ("SET 'restart-strategy.exponential-delay.initial-backoff' = '50 ms'",)
    job = failing.submit(*quick, *FLAKY_START)
    failing.until_checkpoint(job.id)
    fails.touch()
    failing.until(job.id, lambda now: now.status.restarts >= 2)
    assert "not now" in str(failing.job(job.id).status.error)
    fails.unlink()
    job = failing.until(job.id, lambda now: now.state is JobState.RUNNING)
    failing.until_checkpoint(job.id)
    assert jobs.job(job.id).status.restarts >= 2


@pytest.mark.parametrize(
    ("settings", "restarts"),
    [
        (("'restart-strategy' = 'none'",), 0),
        (
            (
                "'restart-strategy.type' = 'fixed-delay'",
                "'restart-strategy.fixed-delay.attempts' = '2'",
                "'restart-strategy.fixed-delay.delay' = '10 ms'",
            ),
            2,
        ),
        (("'restart-strategy.type' = 'failure-rate'", "'restart-strategy.failure-rate.delay' = '10 ms'"), 1),
    ],
)
def test_a_strategy_gives_up(flaky: tuple[Jobs, Path], jobs: Jobs, settings: tuple[str, ...], restarts: int) -> None:
    failing, fails = flaky
    job = failing.submit(*(f"SET {each}" for each in settings), *FLAKY_START)
    failing.until_checkpoint(job.id)
    fails.touch()
    job = failing.until_state(job.id, JobState.FAILED)
    assert job.status.restarts == restarts
    described = failing.berg.run("--format", "jsonl", "-e", f"DESCRIBE JOB '{job.id}'").out
    rows = {row["key"]: row["value"] for row in map(json.loads, described.splitlines())}
    assert rows["state"] == "FAILED"
    assert "not now" in rows["last error"]
    fails.unlink()
    assert failing.command("resume", job.id).code == 0
    assert jobs.until_checkpoint(job.id).state is JobState.RUNNING


def test_what_fails_when_it_is_resumed_is_tried_again(flaky: tuple[Jobs, Path], jobs: Jobs) -> None:
    failing, fails = flaky
    quick = ("SET 'restart-strategy.exponential-delay.initial-backoff' = '50 ms'",)
    job = failing.until_checkpoint(failing.submit(*quick, *FLAKY_START).id)
    process(job).kill()
    jobs.until_state(job.id, JobState.LOST)
    fails.touch()
    assert failing.command("resume", "--all").code == 0
    failing.until(job.id, lambda now: now.status.restarts >= 1)
    fails.unlink()
    failing.until_checkpoint(job.id)


def test_a_dropped_table_ends_a_job(jobs: Jobs, berg: Berg) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id)
    assert berg.run("-e", "DROP TABLE t").code == 0
    job = jobs.until_state(job.id, JobState.FAILED)
    # What fails first may be a file that is gone with the table, which another run could mend; it finds no table.
    assert job.status.restarts <= 1
    assert "default_database.t" in str(job.status.error)


def test_the_log_is_readable_and_says_what_happened(jobs: Jobs) -> None:
    job = jobs.until_checkpoint(jobs.submit(*START).id)
    jobs.command("stop", job.id, "--savepoint")
    text = job.log.read_text()
    assert f"Job {job.id} ({job.name}) begins in process {job.status.pid}." in text
    assert f"Job {job.id} is STOPPED." in text
