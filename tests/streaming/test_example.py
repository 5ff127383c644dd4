"""The example of streams in the README: two jobs that run on, what they wrote, and their end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from time import monotonic, sleep

import pytest

from tests.support.berg import BERGSQL, Berg
from tests.support.shared import ROOT

SCRIPT = str(ROOT / "examples" / "streaming.sql")
SECONDS = 60


@pytest.fixture
def jobs(berg: Berg) -> Iterator[list[str]]:
    """The ids of the jobs, which the end of the test stops."""
    started = berg.run("--detach", "-f", SCRIPT)
    ids = [line.split()[2] for line in started.err.splitlines() if line.startswith("Job ID: ")]
    try:
        assert started.code == 0, started.err
        yield ids
    finally:
        for job in ids:
            command(berg, "stop", job)


def test_the_example_of_streams(berg: Berg, jobs: list[str]) -> None:
    assert len(jobs) == 2
    printed = berg.home / "jobs" / jobs[1] / "job.out"
    deadline = monotonic() + SECONDS
    while "+U[" not in printed.read_text(encoding="utf-8"):
        assert monotonic() < deadline, printed.read_text(encoding="utf-8")
        sleep(0.05)
    assert command(berg, "stop", jobs[0], "--savepoint") == 0
    rows = {str(r["page"]): r["n"] for r in berg.rows("SELECT page, COUNT(*) AS n FROM clicks GROUP BY page")}
    while counted(printed.read_text(encoding="utf-8")) != rows:
        assert monotonic() < deadline, (rows, printed.read_text(encoding="utf-8"))
        sleep(0.05)
    assert command(berg, "resume", jobs[0]) == 0
    grown = sum(int(str(n)) for n in rows.values())
    while berg.rows("SELECT COUNT(*) AS n FROM clicks")[0]["n"] == grown:
        assert monotonic() < deadline


def command(berg: Berg, *arguments: str) -> int:
    """The exit code of ``bergsql jobs …``."""
    return subprocess.run([BERGSQL, "jobs", *arguments], env=berg.env(), timeout=SECONDS, check=False).returncode


def counted(changes: str) -> dict[str, object]:
    """The counts by page that printed changes leave."""
    left: dict[str, object] = {}
    for line in changes.splitlines():
        page, n = line[3:-1].split(", ")
        if line.startswith("-"):
            assert left.pop(page) == int(n)
        else:
            left[page] = int(n)
    return left
