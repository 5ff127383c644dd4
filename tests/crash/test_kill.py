"""kill -9 in the middle of an INSERT: the table reads as before, and the next INSERT works."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.berg import Berg

BOUNDED, WHOLE = 2, 20
"""How many moments are tried: in every run, in the long one."""
MOMENTS = [pytest.param(n, marks=[] if n < BOUNDED else [pytest.mark.long]) for n in range(WHOLE)]
CATALOG = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}');"
DIGITS = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
TABLE = "c.db.t"
SETUP = [
    CATALOG,
    "CREATE DATABASE c.db;",
    f"CREATE TABLE {TABLE} (id BIGINT, day BIGINT, name STRING) PARTITIONED BY (day);",
    f"INSERT INTO {TABLE} VALUES (-1, 0, 'first'), (-2, 1, 'second');",
]
NUMBERS = "a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d"
LONG_INSERT = (
    f"INSERT INTO {TABLE} SELECT CAST({NUMBERS} AS BIGINT), CAST(a.d AS BIGINT), 'a name of some length' FROM "
    + ", ".join(f"{DIGITS} AS {alias}(d)" for alias in "abcefg")
    + ";"
)
LONG_ROWS = 10**6


@dataclass(frozen=True, slots=True)
class State:
    """What a reader sees."""

    rows: list[dict[str, object]]
    snapshot: object
    version: int


def metadata_versions(berg: Berg) -> list[Path]:
    folder = berg.warehouse / "db" / "t" / "metadata"
    return sorted(folder.glob("v*.metadata.json"), key=lambda p: int(p.name[1:].split(".")[0]))


def metadata(berg: Berg) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(metadata_versions(berg)[-1].read_text(encoding="utf-8"))
    return loaded


def seen(berg: Berg) -> State:
    query = f"SELECT COUNT(*) AS n, SUM(id) AS s, MAX(name) AS m FROM {TABLE};"
    (_, answer) = berg.answers([CATALOG, query], "--format", "jsonl")
    return State(answer.json_rows(), metadata(berg).get("current-snapshot-id"), len(metadata_versions(berg)))


def start(berg: Berg, script: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        berg.command("-f", "/dev/stdin"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={k: v for k, v in berg.env().items() if not k.startswith("COVERAGE_")},  # a killed process breaks its file
        text=True,
        start_new_session=True,
    )
    assert process.stdin
    process.stdin.write(script)
    process.stdin.close()
    return process


def kill_after(process: subprocess.Popen[str], seconds: float) -> bool:
    """Kill -9 after a while; False if the process ended by itself before."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


@pytest.fixture(scope="module")
def duration(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds that the long INSERT takes when nobody disturbs it, start-up included."""
    home = tmp_path_factory.mktemp("home")
    berg = Berg(home, tmp_path_factory.mktemp("warehouse"))
    assert berg.run("-e", " ".join(SETUP)).code == 0
    began = time.monotonic()
    assert berg.run("-e", CATALOG + LONG_INSERT).code == 0
    return time.monotonic() - began


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_in_a_long_insert(moment: int, berg: Berg, duration: float) -> None:
    assert berg.run("-e", " ".join(SETUP)).code == 0
    before = seen(berg)
    rng = random.Random(moment)
    process = start(berg, CATALOG + LONG_INSERT)
    killed = kill_after(process, duration * rng.uniform(0.15, 1.0))
    after = seen(berg)
    committed = after.version > before.version
    assert committed or killed
    if committed:  # the kill came behind the commit: then all of it is there
        assert after.rows[0]["n"] == LONG_ROWS + 2
    else:
        assert after == before
    done = berg.run("-e", f"{CATALOG} INSERT INTO {TABLE} VALUES (7, 7, 'next');")
    assert done.code == 0, done.err
    last = seen(berg)
    assert last.rows[0]["n"] == int(str(after.rows[0]["n"])) + 1
    assert last.version == after.version + 1


@pytest.mark.parametrize("moment", MOMENTS)
def test_killed_between_many_commits(moment: int, berg: Berg) -> None:
    """Small INSERTs one after the other: every one that was reported is there, no number is lost or twice."""
    assert berg.run("-e", " ".join(SETUP)).code == 0
    rng = random.Random(1000 + moment)
    many = "".join(f"INSERT INTO {TABLE} VALUES ({n}, {n % 3}, 'n');\nSELECT {n} AS done;\n" for n in range(2000))
    process = start(berg, f"{CATALOG}\n{many}")
    assert process.stdout
    wanted = rng.randrange(1, 40)
    reported = -1
    for line in process.stdout:  # let some commits be reported, then kill somewhere in the next ones
        if (cell := line.strip("| \n")).isdigit():
            reported = int(cell)
        if reported >= wanted:
            break
    kill_after(process, rng.uniform(0.0, 0.05))
    rest = [int(cell) for line in process.stdout.read().splitlines() if (cell := line.strip("| ")).isdigit()]
    reported = max([reported, *rest])
    (_, answer) = berg.answers([CATALOG, f"SELECT id FROM {TABLE} WHERE id >= 0 ORDER BY id;"], "--format", "jsonl")
    ids = [row["id"] for row in answer.json_rows()]
    assert ids == list(range(len(ids)))
    assert len(ids) - 1 in (reported, reported + 1)
    assert len(metadata(berg)["snapshots"]) == len(ids) + 1
    assert berg.run("-e", f"{CATALOG} INSERT INTO {TABLE} VALUES (-7, 7, 'next');").code == 0
    assert seen(berg).rows[0]["n"] == len(ids) + 3


def files(berg: Berg) -> set[str]:
    return {str(p.relative_to(berg.warehouse)) for p in berg.warehouse.rglob("*")}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "statement", [LONG_INSERT, LONG_INSERT.replace(f"INSERT INTO {TABLE}", "CREATE TABLE c.db.new AS")]
)
def test_asked_to_end_in_a_long_statement(berg: Berg, number: signal.Signals, statement: str) -> None:
    """The process cleans up and goes, and what stands behind the statement is not run."""
    assert berg.run("-e", " ".join(SETUP)).code == 0
    before = files(berg)
    process = start(berg, f"{CATALOG}\n{statement}\nSELECT 'not reached';")
    deadline = time.monotonic() + 60
    while not list(berg.warehouse.rglob("staging-*/*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
    process.send_signal(number)
    process.stdin = None  # closed already
    out, err = process.communicate(timeout=60)
    assert (process.returncode, "not reached" in out, "Query cancelled." in err) == (128 + number, False, True)
    assert files(berg) == before
