"""Jobs in tests: real processes, waited for by what they say of themselves."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import psutil

from bergsql.engine.streaming.jobs import registry
from bergsql.engine.streaming.jobs.registry import Job
from bergsql.engine.streaming.jobs.status import JobState
from tests.support.berg import BERGSQL, Berg, Done

DEADLINE = 60.0
"""Seconds after which what is waited for is taken not to come."""
_LOOK = 0.05

GENERATED = "CREATE TABLE gen (n INT) WITH ('connector'='datagen', 'rows-per-second'='100')"
"""A table without an end."""
NOWHERE = "CREATE TABLE nowhere (n INT) WITH ('connector'='blackhole')"
FAST = "SET 'execution.checkpointing.interval' = '100 ms'"


@dataclass(frozen=True, slots=True)
class Jobs:
    """The jobs of a bergsql's home."""

    berg: Berg

    def submit(self, *statements: str, arguments: tuple[str, ...] = ()) -> Job:
        """Run statements of which one becomes a job, and leave it running."""
        done = self.berg.run("--detach", *arguments, *[word for sql in statements for word in ("-e", sql)])
        assert done.code == 0, done.err
        return self.job(id_in(done.err))

    def job(self, id_: str) -> Job:
        return registry.job(self.berg.home, id_)

    def all(self) -> list[Job]:
        return registry.jobs(self.berg.home)

    def until(self, id_: str, holds: Callable[[Job], object]) -> Job:
        """The job, as soon as something holds of it."""
        deadline = time.monotonic() + DEADLINE
        while not holds(job := self.job(id_)):
            log = job.log.read_text() if job.log.exists() else ""
            assert time.monotonic() < deadline, f"{job}\n{log[-3000:]}"
            time.sleep(_LOOK)
        return job

    def until_state(self, id_: str, *states: JobState) -> Job:
        return self.until(id_, lambda job: job.state in states)

    def until_checkpoint(self, id_: str, more: int = 1) -> Job:
        """The job, when it has made so many more checkpoints."""
        before = checkpoints(self.job(id_))
        return self.until(id_, lambda job: checkpoints(job) >= before + more)

    def command(self, *arguments: str) -> Done:
        """``bergsql jobs …``."""
        done = subprocess.run(
            [BERGSQL, "jobs", *arguments],
            env=self.berg.env(),
            capture_output=True,
            text=True,
            check=False,
            timeout=DEADLINE,
        )
        return self.berg.done(done.returncode, done.stdout, done.stderr)


def id_in(text: str) -> str:
    """The job id that a client printed."""
    found = re.search(r"^Job ID: ([0-9a-f]{32})$", text, re.MULTILINE)
    assert found is not None, text
    return found[1]


def checkpoints(job: Job) -> int:
    return int(job.status.metrics.get("checkpoints", 0))


def process(job: Job) -> psutil.Process:
    return psutil.Process(job.status.pid)


@contextmanager
def jobs_of(berg: Berg) -> Iterator[Jobs]:
    """The jobs of a bergsql; what still runs at the end is killed."""
    jobs = Jobs(berg)
    try:
        yield jobs
    finally:
        for job in jobs.all():
            if not job.state.final:
                with suppress(psutil.NoSuchProcess):
                    process(job).kill()
                    process(job).wait(DEADLINE)
