"""``bergsql jobs``, SHOW JOBS and DESCRIBE JOB, of jobs that are only folders."""

from __future__ import annotations

import json
import os
import shutil

import psutil
import pytest

from bergsql.engine.streaming.jobs import control, figures, registry
from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.status import JobState, Status
from tests.support.berg import Berg

ID = "ab" + "1" * 30


def made(berg: Berg, id_: str = ID, status: Status | None = None, name: str = "insert-into_x") -> Job:
    """A job of which there is no more than its folder."""
    spec = {"id": id_, "identity": id_, "name": name, "submitted": 1_700_000_000_000, "bergsql": "0"}
    job = registry.create(berg.home, spec, {})  # type: ignore[arg-type]
    (job.directory / "status.json").write_text(json.dumps((status or Status(JobState.CANCELED)).to_json()))
    return registry.job_at(job.directory)


def own(state: JobState = JobState.RUNNING, **more: object) -> Status:
    """The status of a process that runs: this one."""
    return Status(state, pid=os.getpid(), created=psutil.Process().create_time(), **more)  # type: ignore[arg-type]


def test_jobs_are_listed(berg: Berg) -> None:
    assert berg.run("--format", "csv", "-e", "SHOW JOBS").out == "job id,job name,status,start time\n"
    made(berg, status=own())
    made(berg, "cd" + "2" * 30, Status(JobState.RUNNING, pid=2**22 + 1), "other")
    done = berg.run("--format", "csv", "-e", "SHOW JOBS")
    assert done.out.splitlines()[1:] == [
        f"{ID},insert-into_x,RUNNING,2023-11-14T22:13:20.000",
        f"cd{'2' * 30},other,LOST,2023-11-14T22:13:20.000",
    ]
    listed = jobs(berg, "list")
    assert listed.code == 0
    assert [line.split()[:2] for line in listed.out.splitlines()] == [[ID, "RUNNING"], ["cd" + "2" * 30, "LOST"]]


def jobs(berg: Berg, *arguments: str):  # type: ignore[no-untyped-def]
    """``bergsql jobs …``."""
    import subprocess

    from tests.support.berg import BERGSQL, Done

    done = subprocess.run(
        [BERGSQL, "jobs", *arguments], env=berg.env(), capture_output=True, text=True, check=False, timeout=60
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("lst",), "There is no 'bergsql jobs lst'.\nHint: Did you mean 'list'?"),
        (("resume",), "'bergsql jobs resume' needs an id."),
        (("resume", "--all", "ab"), "'bergsql jobs resume' needs an id."),
        (("stop",), "'bergsql jobs stop' needs an id."),
        (("stop", "ab", "--all"), "'bergsql jobs stop' has no option --all."),
        (("stop", "ab", "--savepont"), "Did you mean '--savepoint'?"),
        (("stop", "ab", "--drain"), "--drain needs --savepoint."),
        (("list", "ab"), "'bergsql jobs list' takes no id."),
    ],
)
def test_a_wrong_command_line_is_told(berg: Berg, arguments: tuple[str, ...], told: str) -> None:
    done = jobs(berg, *arguments)
    assert done.code == 2
    assert told in done.err
    assert done.out == ""


@pytest.mark.parametrize("arguments", [("list", "--help"), ("stop", "-h"), ("resume", "--all", "--help")])
def test_each_action_tells_how_it_is_used(berg: Berg, arguments: tuple[str, ...]) -> None:
    done = jobs(berg, *arguments)
    assert done.code == 0
    assert done.out == jobs(berg, "--help").out
    assert done.err == ""


def test_how_it_is_used_is_told(berg: Berg) -> None:
    assert jobs(berg, "--help").code == 0
    assert jobs(berg).code == 2
    assert "bergsql jobs resume {ID… | --all}" in jobs(berg, "--help").out
    assert "bergsql jobs {list" in berg.run("--help").out


def test_what_cannot_be_done_is_told(berg: Berg) -> None:
    assert jobs(berg, "resume", "ab").err.startswith("[ERROR] Could not find the job 'ab'.")
    assert jobs(berg, "resume", "--all").err == "[INFO] There is no job to resume.\n"
    made(berg, status=Status(JobState.FINISHED))
    done = jobs(berg, "resume", "ab")
    assert done.code == 1
    assert f"[ERROR] Job {ID} is finished" in done.err
    done = jobs(berg, "stop", "ab")
    assert done.code == 1
    assert "does not run: it is FINISHED" in done.err
    shutil.rmtree(berg.home / "jobs")
    made(berg, status=own())
    done = jobs(berg, "resume", "ab")
    assert done.code == 1
    assert f"is run by another process ({os.getpid()})" in done.err


def test_each_job_that_cannot_be_resumed_is_told(berg: Berg) -> None:
    other = "cd" + "2" * 30
    made(berg, status=Status(JobState.FINISHED))
    made(berg, other, Status(JobState.FINISHED))
    done = jobs(berg, "resume", "zz", "ab", "cd")
    assert done.code == 1
    assert "[ERROR] Could not find the job 'zz'." in done.err
    assert f"[ERROR] Job {ID} is finished" in done.err
    assert f"[ERROR] Job {other} is finished" in done.err


def test_a_second_claim_names_the_job_that_runs(berg: Berg) -> None:
    made(berg, status=own())
    spec = {"id": "cd" + "2" * 30, "identity": ID, "name": "b", "submitted": 1_800_000_000_000, "bergsql": "0"}
    second = registry.job_at(registry.create(berg.home, spec, {}).directory)  # type: ignore[arg-type]
    assert control.is_claimed(second).hint == f"STOP JOB '{ID}'; stops it."


def test_a_job_is_described(berg: Berg) -> None:
    metrics = {
        "rows_in": 10,
        "rows_out": 7,
        "checkpoints": 3,
        "lag_ms": 1500,
        "watermark": 1_600_000_000_123_000,
        "state_bytes": 3 << 20,
        "busy_ratio": 0.25,
        "idle_sources": ["source-2"],
        "operators": {"aggregate-1": {"rows_in": 10, "late rows dropped": 2}},
    }
    error = {"code": "IO", "message": "no space", "hint": None, "span": None}
    made(berg, status=own(restarts=2, metrics=metrics, error=error, started=1_700_000_000_500))
    done = berg.run("--format", "csv", "-e", "DESCRIBE JOB 'ab'")
    found = dict(line.split(",", 1) for line in done.out.splitlines()[1:])
    expected = {
        "id": ID,
        "name": "insert-into_x",
        "state": "RUNNING",
        "pid": str(os.getpid()),
        "restarts": "2",
        "rows in": "10",
        "rows out": "7",
        "checkpoints": "3",
        "lag": "1.5 s",
        "watermark": "2020-09-13 12:26:40.123",
        "state size": "3.0 MiB",
        "backpressure": "25%",
        "idle sources": "source-2",
        "aggregate-1: rows in": "10",
        "aggregate-1: late rows dropped": "2",
        "last error": "no space",
        "log": str(berg.home / "jobs" / ID / "job.log"),
        "start time": "2023-11-14T22:13:20.500",
    }
    assert {key: found.get(key) for key in expected} == expected


def test_figures_are_what_prometheus_reads(berg: Berg) -> None:
    metrics = {
        "rows_in": 10,
        "busy_ratio": 0.25,
        "idle_sources": ["a", "b"],
        "watermark": 1_600_000_000_123_000,
        "operators": {"a-1": {"rows_in": 1}, "b-1": {"rows_in": 2}},
        "note": "text",
    }
    job = made(berg, status=own(metrics=metrics, started=5000), name='say "x"\\')
    text = figures.prometheus(job, "RUNNING")
    label = f'job="{ID}",name="say \\"x\\"\\\\"'
    for line in (
        f'bergsql_job_state{{{label},state="RUNNING"}} 1',
        f'bergsql_job_state{{{label},state="FAILED"}} 0',
        "# TYPE bergsql_job_rows_in_total counter",
        f"bergsql_job_rows_in_total{{{label}}} 10",
        f"bergsql_job_busy_ratio{{{label}}} 0.25",
        f"bergsql_job_idle_sources{{{label}}} 2",
        f"bergsql_job_watermark_seconds{{{label}}} 1600000000.123",
        f"bergsql_job_start_time_seconds{{{label}}} 5",
        f'bergsql_job_operator_rows_in{{{label},operator="b-1"}} 2',
    ):
        assert line in text.splitlines()
    assert "note" not in text
    types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(types) == len(set(types))


def test_times_and_sizes_are_said_as_a_person_does() -> None:
    said = [figures.duration(ms) for ms in (0, 999, 1000, 59_949, 60_000, 3_600_000, 90_061_000)]
    assert said == ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min", "1 h", "1 d 1 h 1 min"]
    assert [figures.size(n) for n in (0, 1023, 1536, 5 << 30)] == ["0 B", "1023 B", "1.5 KiB", "5.0 GiB"]


def test_a_damaged_job_is_told_and_harms_no_other(berg: Berg) -> None:
    job = made(berg)
    (job.directory / "spec.json").write_text("[")
    made(berg, "cd" + "2" * 30)
    done = berg.run("--format", "csv", "-e", "SHOW JOBS")
    assert done.code == 0
    assert [line.split(",")[2] for line in done.out.splitlines()[1:]] == ["CANCELED", "FAILED"]
    assert "is damaged: it is no JSON" in berg.run("-e", "DESCRIBE JOB 'ab'").out
