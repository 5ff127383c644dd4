"""Writers as processes of their own: many at once, one against another, and killed before any of its steps."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bergsql.catalog.metadata.transforms import IDENTITY
from tests.support.tables import Tables

ROOT = Path(__file__).parents[2]
STEPS = 56
"""More steps than an INSERT has."""


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    tables = Tables(tmp_path / "warehouse")
    tables.create({"id": "long", "part": "long"}, [("part", IDENTITY)])
    return tables


def start(tables: Tables, what: str, *numbers: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.support.inserter", str(tables.warehouse), what, *map(str, numbers)]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str], line: str | None = None) -> list[str]:
    out, _ = process.communicate(line)
    return out.splitlines()


def ids(tables: Tables) -> list[int]:
    return sorted(r[0] for r in tables.rows(select="id"))


def check_whole(tables: Tables) -> None:
    """What the metadata says is what the files hold, and history is one line."""
    metadata = tables.load().metadata
    snapshot = metadata.current_snapshot()
    found = ids(tables)
    if snapshot is None:
        assert found == []
        return
    assert snapshot.summary["total-records"] == str(len(found))
    assert sum(f.record_count for f in tables.files()) == len(found)
    chain = []
    while snapshot is not None:
        chain.append(snapshot.snapshot_id)
        snapshot = metadata.snapshot(snapshot.parent_id) if snapshot.parent_id is not None else None
    assert chain[::-1] == [s.snapshot_id for s in metadata.snapshots] == [e.snapshot_id for e in metadata.snapshot_log]
    assert [s.sequence_number for s in metadata.snapshots] == list(range(1, len(chain) + 1))


def test_many_writers_lose_nothing(tables: Tables) -> None:
    """Four processes, ten appends each, with the retries that every table has."""
    writers = [start(tables, "append", 100 * w, 10) for w in range(4)]
    reported = [int(line) for w in writers for line in finish(w)]
    assert sorted(reported) == [100 * w + i for w in range(4) for i in range(10)]
    assert ids(tables) == sorted(reported)
    assert len(tables.load().metadata.snapshots) == 40
    assert tables.load().metadata_location.endswith("/v41.metadata.json")
    assert (tables.warehouse / "db" / "t" / "metadata" / "version-hint.text").read_text() == "41"
    check_whole(tables)


@pytest.mark.long
def test_very_many_writers_lose_nothing(tables: Tables) -> None:
    writers = [start(tables, "append", 1000 * w, 50) for w in range(8)]
    reported = [int(line) for w in writers for line in finish(w)]
    assert len(reported) == 400
    assert ids(tables) == sorted(reported)
    check_whole(tables)


@pytest.mark.parametrize(("part", "conflict"), [(1, True), (2, False)])
def test_an_overwrite_against_an_append(tables: Tables, part: int, conflict: bool) -> None:
    """The append comes while the overwrite is under way: into the replaced partition, or into another."""
    tables.insert("SELECT 1, 1")
    overwriter = start(tables, "overwrite", 9, 1)
    assert overwriter.stdout is not None
    assert overwriter.stdout.readline() == "ready\n"
    row = 300 + part  # which the process puts into the partition row % 3
    assert finish(start(tables, "append", row, 1)) == [str(row)]
    (answer,) = finish(overwriter, "\n")
    if conflict:
        assert answer.startswith("CONFLICT Another writer added rows to what this statement replaces")
        assert ids(tables) == [1, row]
    else:
        assert answer == "done"
        assert ids(tables) == [9, row]
    check_whole(tables)


@pytest.mark.parametrize(
    "step", [pytest.param(n, marks=[] if n % 5 == 0 else [pytest.mark.long]) for n in range(STEPS)]
)
def test_killed_before_a_step_of_an_insert(tables: Tables, step: int) -> None:
    reported = [int(line) for line in finish(start(tables, "append", 0, 2, step))]
    after = ids(tables)
    assert after in ([0], [0, 1])
    assert reported in ([0], after)  # what was reported is there
    check_whole(tables)
    assert [int(line) for line in finish(start(tables, "append", 7, 1))] == [7]
    assert ids(tables) == [*after, 7]
    check_whole(tables)


def test_an_insert_has_fewer_steps(tables: Tables) -> None:
    """Else the test above would leave some out."""
    assert finish(start(tables, "append", 0, 2, STEPS - 5)) == ["0", "1"]


@pytest.mark.parametrize("seed", [pytest.param(n, marks=[] if n < 3 else [pytest.mark.long]) for n in range(20)])
def test_killed_at_a_random_moment(tables: Tables, seed: int) -> None:
    rng = random.Random(seed)
    process = start(tables, "append", 0, 10_000)
    assert process.stdout is not None
    wanted = rng.randrange(15)
    reported = -1
    for line in process.stdout:
        reported = int(line)
        if reported >= wanted:
            break
    busy_until = time.monotonic() + rng.uniform(0, 0.05)
    while time.monotonic() < busy_until:
        pass
    process.kill()
    reported = max([reported, *(int(line) for line in process.stdout.read().split())])
    process.wait()
    found = ids(tables)
    assert found == list(range(len(found)))
    assert len(found) - 1 in (reported, reported + 1)
    check_whole(tables)
    tables.insert("SELECT 77777, 0")
    assert ids(tables) == [*found, 77777]
    check_whole(tables)
