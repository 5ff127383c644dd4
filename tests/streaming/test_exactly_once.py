"""Jobs into Iceberg tables are killed before and after each durable step, and go on: each row is there once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import date
from errno import ENOSPC
from pathlib import Path

import pytest

from tests.support.faults import Fault, Faults, Kind, Mode, Ran, faults
from tests.support.pipelines import PIPELINES, Site

MAKING = frozenset((Kind.CREATE, Kind.WRITE, Kind.MKDIR, Kind.LINK, Kind.RENAME, Kind.TRUNCATE))
DURABLE = frozenset((Kind.SYNC, Kind.LINK, Kind.RENAME, Kind.UNLINK))
"""What makes something last, or gives it its name."""
KILLS = {"before": Mode.KILL, "after": Mode.TEAR}


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Faults]:
    with faults(tmp_path_factory.mktemp("faults")) as server:
        yield server


@pytest.fixture(scope="module")
def site(faulty: Faults, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Site]:
    made: dict[str, Site] = {}

    def of(name: str) -> Site:
        if name not in made:
            made[name] = Site(tmp_path_factory.mktemp("site"), faulty, PIPELINES[name])
        return made[name]

    return of


def kill(site: Site, mode: Mode, at: int) -> None:
    """Kill the job at a step of its first run, and resume it."""
    site.restore()
    ran = site.run(Fault(mode, at))
    assert ran.code in (-9, 0), site.told(ran)
    finish(site, ran, f"{mode.name} at {at}: {ran.steps[min(at, len(ran.steps) - 1)]}")


def finish(site: Site, ran: Ran, what: str) -> None:
    again = site.run()
    assert again.code == 0, f"{what}\n{site.told(ran, again)}"
    site.check(what)


def durable(site: Site) -> list[int]:
    return [n for n, step in enumerate(site.clean.steps) if step.kind in DURABLE and "job.log" not in step.path]


@pytest.mark.parametrize("when", KILLS)
@pytest.mark.parametrize("name", PIPELINES)
def test_killed_at_durable_steps(site: Callable[[str], Site], name: str, when: str) -> None:
    """A few of them; others each day."""
    at = site(name)
    for step in sorted(random.Random(f"{name} {when} {date.today()}").sample(durable(at), 2)):
        kill(at, KILLS[when], step)


@pytest.mark.long
@pytest.mark.parametrize("when", KILLS)
@pytest.mark.parametrize("name", PIPELINES)
def test_killed_at_every_durable_step(site: Callable[[str], Site], name: str, when: str) -> None:
    at = site(name)
    for step in durable(at):
        kill(at, KILLS[when], step)


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", PIPELINES)
def test_killed_again_and_again_at_any_step(site: Callable[[str], Site], name: str, kills: int) -> None:
    at = site(name)
    at.restore()
    draw = random.Random(name)
    steps = [draw.randrange(len(at.clean.steps)) for _ in range(kills)]
    for step in steps:
        ran = at.run(Fault(Mode.KILL, step))
        assert ran.code in (-9, 0), at.told(ran)
    finish(at, ran, f"killed at {steps}")


@pytest.mark.parametrize("whose", ["the tables'", pytest.param("the job's", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", PIPELINES)
def test_the_disk_is_full(site: Callable[[str], Site], name: str, whose: str) -> None:
    at = site(name)
    own = whose == "the job's"
    points = [n for n, step in enumerate(at.clean.steps) if step.kind in MAKING and ("/jobs/" in step.path) is own]
    for step in random.Random(name).sample(points, 3 if own else 2):
        at.restore()
        ran = at.run(Fault(Mode.FAIL_ON, step, ENOSPC, MAKING))
        assert ran.code in (0, 1), at.told(ran)
        finish(at, ran, f"full from {step} on: {ran.steps[min(step, len(ran.steps) - 1)]}")


def test_others_may_read_what_a_job_writes(site: Callable[[str], Site]) -> None:
    at = site("append")
    for path in Path(at.load("t").metadata.location.removeprefix("file:")).rglob("*"):
        assert path.stat().st_mode & 0o044 == 0o044, path
