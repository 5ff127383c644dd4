"""Queries larger than memory, and what they leave on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.spill import spill_directory

DIGITS = "(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9))"
LARGE = (
    "SELECT COUNT(*), MIN(n) FROM (SELECT DISTINCT CAST(a.d + 10 * b.d + 100 * c.d + 1000 * d.d + 10000 * e.d + "
    "100000 * f.d AS STRING) || ' is the number of a row that takes some memory' AS n FROM "
    + ", ".join(f"{DIGITS} AS {alias}(d)" for alias in "abcdef")
    + ") AS x"
)


def rows(session: Session, sql: str) -> list[object]:
    return [row for chunk in session.execute(sql).chunks for row in chunk]


def test_a_query_larger_than_memory(tmp_path: Path) -> None:
    home = tmp_path / "not" / "yet" / "there"
    session = Session(SessionConfig(home=home, conf={"engine.memory-limit": "64MB"}))
    (row,) = rows(session, LARGE)
    assert list(row) == [1_000_000, "0 is the number of a row that takes some memory"]  # type: ignore[call-overload]
    session.close()
    assert list((home / "tmp").iterdir()) == []


def test_what_a_dead_process_left_is_deleted_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    host = os.uname().nodename
    left = tmp_path / "tmp" / f"{host}-{gone.pid}-0"
    kept = [tmp_path / "tmp" / n for n in (f"{host}-{os.getpid()}-0", f"elsewhere-{gone.pid}-0", "mine", f"{host}-x-0")]
    for directory in (left, *kept):
        (directory / "inside").mkdir(parents=True)
    mine = spill_directory(tmp_path)
    assert mine.parent == tmp_path / "tmp"
    assert mine.name.startswith(f"{host}-{os.getpid()}-")
    assert spill_directory(tmp_path) != mine
    assert sorted((tmp_path / "tmp").iterdir()) == sorted(kept)


def test_a_home_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "tmp").write_text("in the way")
    elsewhere = spill_directory(tmp_path)
    assert not elsewhere.exists()
    assert elsewhere.parent.is_dir()
    assert not elsewhere.is_relative_to(tmp_path)
