"""Where a pipeline of the scenarios runs: its jobs, its tables, and what the scenario says that others do."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest

from bergsql.engine.session import Session
from bergsql.engine.streaming.jobs.registry import Job
from tests.scenarios.script import Step
from tests.scenarios.ways import WAYS, Outcome, check_errors, run_scenario
from tests.support.berg import Berg
from tests.support.jobs import DEADLINE, Jobs

Found = TypeVar("Found")


def one_way(chosen: int) -> list[Any]:
    """All ways to run a scenario, of which only one does not take long: each scenario has another one."""
    return [way if n == chosen else pytest.param(way, marks=pytest.mark.long) for n, way in enumerate(WAYS)]


METADATA_FILES = 6
"""How many are left with 'write.metadata.previous-versions-max'='5'."""


@dataclass
class Place:
    """A scenario with its own bergsql; ``session`` is another one, that looks at what comes out."""

    berg: Berg
    jobs: Jobs
    folder: Path
    session: Session
    script: Path
    steps: Sequence[Step]

    @property
    def arguments(self) -> list[str]:
        """What stands for ``${NAME}`` in the script."""
        return []

    def run(self, way: str) -> Outcome:
        """Run the script and leave its jobs running."""
        outcome = run_scenario(way, self.script, self.steps, self.berg, [*self.arguments, "--detach"])
        check_errors(self.steps, outcome, unsupported=lambda _: False)
        return outcome

    def do(self, *statements: str) -> None:
        for statement in statements:
            self.session.execute(statement).close()

    def rows(self, query: str) -> list[tuple[object, ...]]:
        result = self.session.execute(query)
        try:
            return sorted(result.rows(), key=repr)
        finally:
            result.close()

    def metadata_files(self, table: str) -> int:
        return len(list((self.berg.warehouse / table / "metadata").glob("*.metadata.json")))

    def job(self, table: str) -> Job:
        """The job that writes to a table."""
        (found,) = [job for job in self.jobs.all() if job.name.endswith(f".{table}")]
        return found

    def becomes(self, query: str, wanted: Sequence[tuple[object, ...]]) -> None:
        """Wait until a query gives these rows."""
        until(lambda: self.rows(query), lambda rows: rows == sorted(wanted, key=repr))


def until(get: Callable[[], Found], holds: Callable[[Found], bool]) -> Found:
    """What ``get`` gives as soon as something holds of it."""
    deadline = time.monotonic() + DEADLINE
    while not holds(found := get()):
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    return found


def running(place: Place, *tables: str) -> None:
    """A job for each of the tables, all of which run; SHOW JOBS lists them."""
    assert sorted(job.name.rpartition(".")[2] for job in place.jobs.all()) == sorted(tables)
    listed = place.berg.rows("SHOW JOBS")
    assert sorted((str(row["job id"]), row["status"]) for row in listed) == sorted(
        (place.job(table).id, "RUNNING") for table in tables
    )
