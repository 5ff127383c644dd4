"""The folders of jobs: what is in them, who may read it, and what is told of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.streaming.jobs import control, registry
from bergsql.engine.streaming.jobs.files import write_json
from bergsql.engine.streaming.jobs.hidden import put_together, taken_apart
from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.restarts import (
    ExponentialDelay,
    FailureRate,
    FixedDelay,
    NoRestart,
    can_be_mended,
    strategy,
)
from bergsql.engine.streaming.jobs.savepoints import Savepoint
from bergsql.engine.streaming.jobs.status import JobState, Status, is_alive
from bergsql.engine.streaming.sources.base import Json


def made(home: Path, id_: str, **more: object) -> Job:
    spec = {"id": id_, "identity": id_, "name": "n", "submitted": 1, "bergsql": "0", **more}
    return registry.create(home, spec, {})  # type: ignore[arg-type]


def own_status(**more: object) -> Status:
    return Status(JobState.RUNNING, pid=os.getpid(), created=psutil.Process().create_time(), **more)  # type: ignore[arg-type]


def put(job: Job, status: Status) -> Job:
    (job.directory / "status.json").write_text(json.dumps(status.to_json()))
    return registry.job_at(job.directory)


def test_only_the_owner_reads_a_job(tmp_path: Path) -> None:
    job = made(tmp_path, registry.new_id())
    for path in (job.directory, *job.directory.rglob("*"), job.lock.parent, job.directory.parent):
        assert path.stat().st_mode & 0o077 == 0, path


def test_a_job_runs_as_long_as_its_process_does(tmp_path: Path) -> None:
    job = made(tmp_path, registry.new_id())
    assert put(job, own_status()).state is JobState.RUNNING
    other = own_status()
    other.created -= 100  # the number was another process's
    assert put(job, other).state is JobState.LOST
    gone = own_status()
    gone.pid = 2**22 + 1
    assert not is_alive(gone)
    assert put(job, gone).state is JobState.LOST
    gone.state = JobState.FINISHED
    assert put(job, gone).state is JobState.FINISHED


def test_jobs_are_found_by_the_beginning_of_their_ids(tmp_path: Path) -> None:
    one, two = made(tmp_path, "ab" + "0" * 30), made(tmp_path, "ac" + "0" * 30)
    assert registry.job(tmp_path, "AB").id == one.id
    assert registry.job(tmp_path, two.id).id == two.id
    with pytest.raises(BergError, match="2 jobs have an id that begins with 'a'") as several:
        registry.job(tmp_path, "a")
    assert several.value.code is ErrorCode.INVALID
    for unknown in ("b", ""):
        with pytest.raises(BergError, match=f"Could not find the job '{unknown}'"):
            registry.job(tmp_path, unknown)


def test_jobs_are_listed_the_youngest_first_and_a_damaged_one_is_told(tmp_path: Path) -> None:
    assert registry.jobs(tmp_path) == []
    made(tmp_path, "a" * 32, submitted=5)
    made(tmp_path, "b" * 32, submitted=7)
    broken = made(tmp_path, "c" * 32)
    (broken.directory / "status.json").write_text("{")
    strange = made(tmp_path, "d" * 32)
    (strange.directory / "status.json").write_text('{"state": "DREAMING"}')
    (tmp_path / "jobs" / "else").mkdir()
    found = registry.jobs(tmp_path)
    assert [job.id[0] for job in found] == ["b", "a", "c", "d"]
    assert "DREAMING" in str(found[3].status.error)
    assert found[3].state is JobState.FAILED
    assert found[2].state is JobState.LOST  # a power failure may cut it off: the job can go on
    assert control.stop(found[2]).state is JobState.CANCELED
    (broken.directory / "spec.json").write_text("{")
    assert "damaged" in str(registry.jobs(tmp_path)[2].status.error)


def test_a_folder_is_a_job_when_it_has_the_state_of_its_savepoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = tmp_path / "saved"
    (saved / "state").mkdir(parents=True)
    (saved / "state" / "data.mdb").write_bytes(b"state")
    savepoint = Savepoint(saved, "a" * 32, "n")
    seen: list[list[str]] = []

    def watched(path: Path, content: Json, *, durable: bool = False) -> None:
        seen.append(sorted(each.name for each in path.parent.iterdir()))
        assert registry.jobs(tmp_path) == []
        write_json(path, content, durable=durable)

    monkeypatch.setattr("bergsql.engine.streaming.jobs.registry.write_json", watched)
    spec: dict[str, Json] = {"id": "b" * 32, "identity": "a" * 32, "name": "n", "submitted": 1}
    job = registry.create(tmp_path, spec, {}, savepoint)
    assert seen[0] == ["state"]
    assert seen[-1] == ["secrets.json", "state", "status.json"]
    assert (job.directory / "state" / "data.mdb").read_bytes() == b"state"
    assert (job.directory / "state" / "data.mdb").stat().st_mode & 0o777 == 0o600
    (saved / "state" / "data.mdb").unlink()
    (saved / "state" / "data.mdb").symlink_to(tmp_path / "nowhere")
    with pytest.raises(BergError, match="Cannot copy the savepoint"):
        registry.create(tmp_path, {**spec, "id": "c" * 32}, {}, savepoint)
    assert not (tmp_path / "jobs" / ("c" * 32)).exists()


@pytest.mark.parametrize("wanted", [0, 99, "x"])
def test_a_job_of_another_version_is_refused(tmp_path: Path, wanted: object) -> None:
    job = put(made(tmp_path, registry.new_id()), Status(JobState.CANCELED))
    path = job.directory / "spec.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": wanted}))
    with pytest.raises(BergError, match=r"its layout is version .* and this one reads version 1") as refused:
        control.resume(registry.job_at(job.directory))
    assert refused.value.code is ErrorCode.UNSUPPORTED


def test_a_job_that_begins_just_now_is_neither_lost_nor_stopped(tmp_path: Path) -> None:
    job = made(tmp_path, registry.new_id(), submitted=round(time.time() * 1000))
    assert job.state is JobState.INITIALIZING
    with pytest.raises(BergError, match="does not run yet"):
        control.stop(job)
    assert made(tmp_path, registry.new_id()).state is JobState.LOST


def test_what_runs_or_is_finished_is_not_resumed(tmp_path: Path) -> None:
    job = made(tmp_path, registry.new_id())
    with pytest.raises(BergError, match="is run by another process"):
        control.resume(put(job, own_status()))
    with pytest.raises(BergError, match="is finished"):
        control.resume(put(job, Status(JobState.FINISHED)))


def test_a_lost_job_is_stopped_without_a_process(tmp_path: Path) -> None:
    job = put(made(tmp_path, registry.new_id()), Status(JobState.RUNNING, pid=2**22 + 1))
    assert job.state is JobState.LOST
    with pytest.raises(BergError, match="does not run: it is LOST"):
        control.stop(job, savepoint=True)
    assert control.stop(job).state is JobState.CANCELED
    with pytest.raises(BergError, match="does not run: it is CANCELED"):
        control.stop(registry.job_at(job.directory))


def test_secrets_are_taken_out_and_put_back() -> None:
    spec = {
        "statement": "INSERT INTO t SELECT * FROM s /*+ OPTIONS('password'='hunter2') */",
        "settings": {"a.b": "c", "spark.sql.catalog.c.token": "t0p"},
        "catalogs": {"c": {"options": {"uri": "jdbc:x://me:pw123@h/db", "password": "${env:PW}"}}},
        "definitions": [{"text": "CREATE TABLE t (a INT) WITH (\n  'sasl.password' = 'p4ss'\n)"}],
        "n": 3,
        "none": None,
    }
    shown, hidden = taken_apart(spec)  # type: ignore[arg-type]
    text = json.dumps(shown)
    for secret in ("hunter2", "t0p", "pw123", "p4ss"):
        assert secret not in text
        assert secret in json.dumps(hidden)
    assert "${env:PW}" in text
    assert put_together(shown, hidden) == spec
    with pytest.raises(BergError, match="A secret of the job is missing"):
        put_together(shown, {})


def test_what_a_job_prints_goes_on_in_a_new_file(tmp_path: Path) -> None:
    printed = tmp_path / "job.out"
    program = (
        "import sys; from pathlib import Path; from bergsql.engine.streaming.jobs.rotation import rotate_output\n"
        "for n in range(3):\n"
        "    print('x' * 10)\n"
        "    rotate_output(Path(sys.argv[1]), 20)\n"
    )
    with printed.open("a") as file:
        subprocess.run([sys.executable, "-c", program, str(printed)], stdout=file, check=True)
    assert [path.read_text().count("x" * 10) for path in (tmp_path / "job.out.1", printed)] == [2, 1]
    assert printed.stat().st_mode & 0o077 == 0


# --- restart strategies -----------------------------------------------------------------------------------------------


def test_strategies_count_as_flink_does() -> None:
    assert NoRestart().delay(0) is None
    fixed = FixedDelay(2, 7)
    assert [fixed.delay(0) for _ in range(3)] == [7, 7, None]
    rate = FailureRate(2, 100, 5)
    assert [rate.delay(now) for now in (0, 50, 160, 170)] == [5, 5, 5, 5]
    assert rate.delay(175) is None
    waits = ExponentialDelay(1000, 5000, 2, 60_000, 0, 4)
    assert [waits.delay(0) for _ in range(5)] == [1000, 2000, 4000, 5000, None]
    again = ExponentialDelay(1000, 5000, 2, 60_000, 0, 100)
    assert [again.delay(0), again.delay(10), again.delay(100_000)] == [1000, 2000, 1000]
    shaken = ExponentialDelay(1000, 5000, 2, 60_000, 0.5, 100, lambda: 1.0)
    assert [shaken.delay(0), shaken.delay(0)] == [1500, 3000]


def test_strategies_are_made_from_settings(tmp_path: Path) -> None:
    session = Session(SessionConfig(home=tmp_path))
    assert isinstance(strategy(session.setting), ExponentialDelay)
    for value, kind in (
        ("none", NoRestart),
        ("disable", NoRestart),
        ("off", NoRestart),
        ("fixed-delay", FixedDelay),
        ("fixeddelay", FixedDelay),
        ("failure-rate", FailureRate),
        ("exponential-delay", ExponentialDelay),
    ):
        session.execute(f"SET 'restart-strategy' = '{value}'")
        assert session.setting("restart-strategy.type") == value
        assert type(strategy(session.setting)) is kind
    session.execute("SET 'restart-strategy.fixed-delay.attempts' = '3'")
    with pytest.raises(BergError, match="it takes 'none', "):
        session.execute("SET 'restart-strategy.type' = 'sometimes'")
    for wrong in ("2", "-1", "x", "nan"):
        with pytest.raises(BergError, match=r"it takes (0 to 1|a number)"):
            session.execute(f"SET 'restart-strategy.exponential-delay.jitter-factor' = '{wrong}'")


def test_what_is_lastingly_wrong_is_not_tried_again() -> None:
    for code in (ErrorCode.NOT_FOUND, ErrorCode.INVALID, ErrorCode.CORRUPT, ErrorCode.UNSUPPORTED):
        assert not can_be_mended(BergError(code, ""))
    for code in (ErrorCode.IO, ErrorCode.CONNECTION, ErrorCode.EXECUTION, ErrorCode.UNKNOWN_OUTCOME):
        assert can_be_mended(BergError(code, ""))
