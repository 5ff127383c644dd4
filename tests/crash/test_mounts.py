"""A warehouse on a disk that is read-only or full: one clear line, nothing half-written, and reading goes on.

The disks are real: small tmpfs mounts in a mount namespace of the test's own.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.support.berg import Berg


@dataclass(frozen=True, slots=True)
class Disk:
    """A tmpfs at ``path`` that only the commands of this namespace see, and a bergsql there whose warehouse it is."""

    berg: Berg
    path: Path
    enter: tuple[str, ...]

    def sh(self, script: str) -> str:
        done = subprocess.run(
            [*self.enter, "sh", "-ec", script], cwd="/", capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout

    def remount(self, options: str) -> None:
        self.sh(f"mount -o remount,{options} {self.path}")

    def files(self) -> set[str]:
        return set(self.sh(f"find {self.path} -type f ! -name filler").split("\n"))

    def refused(self, statement: str, *told: str) -> None:
        """The statement fails in one line that says all of ``told``, and leaves the files as they were."""
        before = self.files()
        done = self.berg.run("-e", statement)
        assert done.code == 1, done.out
        lines = done.err.splitlines()
        assert [line for line in lines if line.startswith("[ERROR] ")] == lines[:1], done.err
        for text in told:
            assert text in lines[0]
        assert "Traceback" not in done.err
        assert "Internal error" not in done.err
        assert self.files() == before


@pytest.fixture
def disk(berg: Berg) -> Iterator[Disk]:
    ready, go = os.pipe()
    namespace = subprocess.Popen(
        ["unshare", "-rm", "sh", "-c", "echo ready; exec cat"],
        stdin=subprocess.PIPE,
        stdout=go,
        pass_fds=(),
    )
    try:
        os.close(go)
        assert os.read(ready, 6) == b"ready\n"
        enter = ("nsenter", "--preserve-credentials", "-U", "-m", "-t", str(namespace.pid))
        path = berg.warehouse / "disk"
        path.mkdir()
        there = replace(berg, arguments=("--warehouse", str(path)), prefix=enter)
        disk = Disk(there, path, enter)
        disk.sh(f"mount -t tmpfs -o size=2m tmpfs {path}")
        yield disk
    finally:
        os.close(ready)
        assert namespace.stdin is not None
        namespace.stdin.close()
        namespace.wait(timeout=30)


WRITING = (
    "INSERT INTO t VALUES (3)",
    "INSERT OVERWRITE t VALUES (3)",
    "DELETE FROM t WHERE id = 1",
    "DELETE FROM t WHERE id = 5",
    "UPDATE t SET id = 7 WHERE id = 5",
    "MERGE INTO t USING (VALUES (5)) AS s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = 7",
    "TRUNCATE TABLE t",
    "CREATE TABLE u (id INT)",
    "CREATE TABLE u AS SELECT 1 AS id",
    "CREATE OR REPLACE TABLE t AS SELECT 1 AS id",
    "ALTER TABLE t SET ('a' = 'b')",
    "DROP TABLE t",
    "CREATE DATABASE d",
)


def made(disk: Disk) -> None:
    done = disk.berg.run(
        "-e", "CREATE TABLE t (id INT)", "-e", "INSERT INTO t VALUES (1)", "-e", "INSERT INTO t VALUES (2)"
    )
    assert done.code == 0, done.err


def test_a_read_only_warehouse_is_read(disk: Disk) -> None:
    made(disk)
    disk.remount("ro")
    assert disk.berg.rows("SELECT id FROM t ORDER BY id") == [{"id": 1}, {"id": 2}]
    assert disk.berg.run("-e", "SHOW TABLES").code == 0


@pytest.mark.parametrize("statement", WRITING)
def test_a_read_only_warehouse_is_not_written(disk: Disk, statement: str) -> None:
    made(disk)
    assert disk.berg.run("-e", "INSERT INTO t VALUES (5), (6)").code == 0
    disk.remount("ro")
    disk.refused(statement, "Read-only file system", str(disk.path))


BIG = "SELECT x + RAND() AS id FROM (VALUES (RAND())) AS r(x), " + ", ".join(
    f"(VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) AS {name}(d)" for name in "abcdef"
)


@pytest.mark.parametrize("statement", ["INSERT INTO d", "INSERT OVERWRITE d", "CREATE TABLE u AS"])
def test_what_does_not_fit_is_not_begun(disk: Disk, statement: str) -> None:
    made(disk)
    assert disk.berg.run("-e", "CREATE TABLE d (id DOUBLE)").code == 0
    disk.refused(f"{statement} {BIG}", "No space left on device", str(disk.path))
    assert disk.berg.rows("SELECT id FROM t ORDER BY id") == [{"id": 1}, {"id": 2}]
    assert disk.berg.rows("SELECT id FROM d") == []
    assert disk.berg.run("-e", "INSERT INTO t VALUES (3)").code == 0


CHANGES = {
    "INSERT INTO t VALUES (3)": [1, 2, 3, 5, 6],
    "DELETE FROM t WHERE id = 5": [1, 2, 6],
    "UPDATE t SET id = 7 WHERE id = 5": [1, 2, 6, 7],
    "MERGE INTO t USING (VALUES (5), (8)) AS s(id) ON t.id = s.id"
    " WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)": [1, 2, 6, 8],
}
"""Statements, and the ids that they leave."""
MODES = "'write.delete.mode' = 'merge-on-read', 'write.merge.mode' = 'merge-on-read'"


FREE = [
    pytest.param(s, kilobytes, marks=[] if kilobytes in (4, 16, 20) else [pytest.mark.long])
    for s in CHANGES
    for kilobytes in range(0, 32, 4)
    if s.startswith("INSERT") or kilobytes % 8
]


@pytest.mark.parametrize(("statement", "kilobytes"), FREE)
def test_a_disk_that_fills_at_any_step(disk: Disk, statement: str, kilobytes: int) -> None:
    made(disk)
    filled = disk.berg.run("-e", f"ALTER TABLE t SET ({MODES})", "-e", "INSERT INTO t VALUES (5), (6)")
    assert filled.code == 0, filled.err
    disk.sh(
        f"free=$(df --output=avail -k {disk.path} | tail -1); head -c $((free - {kilobytes}))k /dev/zero > {disk.path}/filler"
    )
    before = disk.files()
    done = disk.berg.run("-e", statement)
    ids = [1, 2, 5, 6]
    if done.code == 0:
        ids = CHANGES[statement]
    else:
        assert done.err.startswith("[ERROR] ")
        assert "No space left on device" in done.err
        assert "Traceback" not in done.err
        assert disk.files() == before
    assert disk.berg.rows("SELECT id FROM t ORDER BY id") == [{"id": n} for n in ids]
    disk.sh(f"rm {disk.path}/filler")
    assert disk.berg.run("-e", "INSERT INTO t VALUES (9)").code == 0
    assert disk.berg.rows("SELECT id FROM t ORDER BY id") == [{"id": n} for n in [*ids, 9]]


def test_a_read_only_home(disk: Disk) -> None:
    """Settings, history and spilled data live at home; a query needs none of them."""
    made(disk)
    disk.remount("ro")
    home = replace(disk.berg, environment={"BERGSQL_HOME": str(disk.path / "home")})
    assert home.rows("SELECT 1 AS a") == [{"a": 1}]
    done = home.run("-e", f"SELECT COUNT(*) AS n FROM ({BIG}) AS b")
    assert done.code == 0, done.err
