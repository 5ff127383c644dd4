"""Jobs into Iceberg tables that must not go on, and jobs that are killed by the clock."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import SetSnapshotRef
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.engine.streaming.jobs.control import CLAIMED
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.faults import Fault, Faults, Mode, faults
from tests.support.jobs import process
from tests.support.pipelines import FILES, PIPELINES, Site


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture
def site(faulty: Faults, tmp_path: Path) -> Site:
    """A job that was killed when it had made some checkpoints."""
    made = Site(tmp_path, faulty, PIPELINES["append"])
    made.restore()
    versions = [n for n, step in enumerate(made.clean.steps) if step.path.endswith("version-hint.text")]
    ran = made.run(Fault(Mode.KILL, versions[len(versions) // 2]))
    assert ran.code == -9, made.told(ran)
    return made


def catalog(site: Site) -> HadoopCatalog:
    return HadoopCatalog("c", str(site.place / "wh"))


def stopped(site: Site, message: str) -> None:
    """The job fails for good, says so, and changes nothing."""
    before = site.load("t").metadata_location
    ran = site.run()
    assert ran.code == 1, site.told(ran)
    job = site.jobs.job(site.id)
    assert job.state is JobState.FAILED
    assert job.status.error is not None
    assert message in str(job.status.error["message"]), job.status.error
    assert site.load("t").metadata_location == before


def test_a_rollback_of_the_sink(site: Site) -> None:
    table = site.load("t")
    snapshots = table.metadata.snapshots
    assert len(snapshots) > 1
    catalog(site).commit(table, [SetSnapshotRef("main", SnapshotRef(snapshots[0].snapshot_id))])
    stopped(site, "was set back")
    catalog(site).commit(site.load("t"), [SetSnapshotRef("main", SnapshotRef(snapshots[-1].snapshot_id))])
    ran = site.run()
    assert ran.code == 0, site.told(ran)
    site.check("set forward again")


def test_a_sink_that_was_dropped(site: Site) -> None:
    catalog(site).drop_table(site.load("t").ident)
    ran = site.run()
    assert ran.code == 1
    error = site.jobs.job(site.id).status.error
    assert error is not None
    assert "not found" in str(error["message"]) or "dropped" in str(error["message"])


def test_an_older_copy_of_the_job(site: Site, tmp_path: Path) -> None:
    """As a backup that was restored, or a machine that was cloned."""
    directory = site.directory
    shutil.copytree(directory, tmp_path / "copy")
    ran = site.run()
    assert ran.code == 0, site.told(ran)
    shutil.rmtree(directory)
    shutil.copytree(tmp_path / "copy", directory)
    stopped(site, "another process has run it on")


def test_a_second_client_of_the_job(site: Site) -> None:
    assert site.jobs.command("resume", site.id).code == 0
    job = site.jobs.until_state(site.id, JobState.RUNNING)
    second = site.run()
    assert second.code == CLAIMED, site.told(second)
    assert process(job).is_running()
    assert site.jobs.command("resume", site.id).code != 0 or process(site.jobs.job(site.id)).pid == process(job).pid
    site.jobs.command("stop", site.id)


@pytest.mark.parametrize("kills", [3, pytest.param(10, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", PIPELINES)
def test_killed_at_random_moments(faulty: Faults, tmp_path: Path, name: str, kills: int) -> None:
    at = Site(tmp_path, faulty, PIPELINES[name])
    at.restore()
    draw = random.Random(f"{name} {kills}")
    files = [] if at.pipeline.iced else sorted(at.given.iterdir())
    for number in range(kills):
        assert at.jobs.command("resume", at.id).code == 0
        for file in files[number * FILES // kills : (number + 1) * FILES // kills]:
            shutil.copy2(file, at.watched)
        run = process(at.jobs.job(at.id))
        psutil.wait_procs([run], timeout=draw.uniform(0, 0.5))
        run.kill()
        psutil.wait_procs([run], timeout=60)
    assert at.jobs.command("resume", at.id).code == 0
    at.jobs.until(at.id, lambda _: all(at.rows(f"SELECT * FROM {t}") == rows for t, rows in at.wanted.items()))
    run = process(at.jobs.job(at.id))
    at.jobs.command("stop", at.id, "--savepoint")
    psutil.wait_procs([run], timeout=60)
    at.check(f"killed {kills} times")


def test_a_column_that_was_added_while_the_job_was_down(site: Site) -> None:
    """Its statement would not fit the table as it is now; the job goes on with what it was planned for."""
    done = site.berg.run("-e", "ALTER TABLE t ADD (more STRING FIRST)")
    assert done.code == 0, done.err
    ran = site.run()
    assert ran.code == 0, site.told(ran)
    assert site.rows("SELECT id, k, v FROM t") == site.wanted["t"]
    assert site.rows("SELECT DISTINCT more FROM t") == ['["None"]']
    assert not site.orphans("t")
