"""Ctrl-C at random moments of a long statement, with the real command line: all or nothing, and no file that stays.

Ctrl-C at each step that changes a file is in test_every_step.py.
"""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.berg import Berg

BOUNDED, WHOLE = 2, 20
"""How many moments are tried: in every run, in the long one."""
MOMENTS = [pytest.param(n, marks=[] if n < BOUNDED else [pytest.mark.long]) for n in range(WHOLE)]
ROWS = 300_000
START = "CREATE CATALOG c WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='${WAREHOUSE}'); USE CATALOG c;"
MADE = (
    "CREATE DATABASE db; USE db; CREATE TABLE t (id BIGINT, day BIGINT, name STRING) USING iceberg PARTITIONED BY (day)"
    " TBLPROPERTIES ('write.merge.mode'='{}');"
    f" INSERT INTO t SELECT id, id % 7, 'a name of some length' FROM range({ROWS}) AS r(id);"
)
STATEMENTS = {
    "insert": f"INSERT INTO t SELECT id + {ROWS}, id % 11, uuid() FROM range({2 * ROWS}) AS r(id);",
    "merge": f"MERGE INTO t USING (SELECT 2 * id AS id, id % 7 AS day, uuid() AS name FROM range({ROWS}) AS r(id)) AS s"
    " ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *;",
}
CASES = [("insert", "copy-on-write"), ("merge", "copy-on-write"), ("merge", "merge-on-read")]


def start(berg: Berg, statement: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        berg.command("--dialect", "spark", "-e", f"{START} USE db; {STATEMENTS[statement]} SELECT 'not reached';"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=berg.env(),
        text=True,
        start_new_session=True,
    )


def files(berg: Berg) -> set[str]:
    return {str(p.relative_to(berg.warehouse)) for p in berg.warehouse.rglob("*")}


def count(berg: Berg) -> object:
    (*_, answer) = berg.answers([*START.split(";")[:-1], "SELECT COUNT(*) AS n FROM db.t"], "--format", "jsonl")
    return answer.json_rows()[0]["n"]


def begun(berg: Berg, process: subprocess.Popen[str]) -> float:
    """Wait until the statement writes; when that was."""
    deadline = time.monotonic() + 120
    while not list(Path(berg.warehouse).glob("db/t/data/staging-*/*")):
        assert process.poll() is None
        assert time.monotonic() < deadline
    return time.monotonic()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(("statement", "mode"), CASES)
def test_interrupted(berg: Berg, statement: str, mode: str, moment: int) -> None:
    made = berg.run("--dialect", "spark", "-e", START + MADE.format(mode))
    assert made.code == 0, made.err
    before = files(berg)
    process = start(berg, statement)
    begin = time.monotonic()
    if moment % 2:  # while it writes: reading and joining come before
        begin = begun(berg, process)
    try:
        out, err = process.communicate(
            timeout=random.Random(f"{statement} {moment}").uniform(0.3, 2.0) * (1 - moment % 2 * 0.8)
        )
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    told = f"{time.monotonic() - begin:.2f} s, exit {process.returncode}: {err}"
    assert "Traceback" not in err, told
    if "; snapshot " in err:
        assert count(berg) != ROWS, told
    else:
        assert process.returncode == 130, told
        assert "not reached" not in out, told
        assert files(berg) == before, told
        assert count(berg) == ROWS
