"""Many processes of the real command line that change one table at once: nothing is lost, and history is one line.

Nothing is set for that: the defaults of ``commit.retry.*`` must do, and no statement fails.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.engine.table.purge import table_files
from tests.support.berg import Berg

KINDS = ("hadoop", "jdbc")
SIZES = [pytest.param(3, 4, id="few"), pytest.param(8, 50, id="many", marks=pytest.mark.long)]
"""Processes, and commits of each."""
WAYS = [("hadoop", "merge-on-read"), ("jdbc", "copy-on-write")]
WAYS_LONG = [("hadoop", "copy-on-write"), ("jdbc", "merge-on-read")]
BOTH = [*WAYS, *(pytest.param(*way, marks=pytest.mark.long) for way in WAYS_LONG)]
"""Catalogs and modes."""
KEYS = 7
"""Rows that all MERGEs are about."""


class House:
    """A table ``t (id, part, n)``, partitioned by ``part``, with rows of the parts 0 to 3."""

    def __init__(self, berg: Berg, kind: str, rows: int, mode: str) -> None:
        self.berg, self.kind = berg, kind
        options = f"'catalog-type'='{kind}', 'warehouse'='{berg.warehouse}'"
        if kind == "jdbc":
            options += f", 'uri'='jdbc:sqlite:{berg.warehouse}/catalog.db'"
        self.start = f"CREATE CATALOG c WITH ('type'='iceberg', {options}); USE CATALOG c;"
        modes = ", ".join(f"'write.{s}.mode' = '{mode}'" for s in ("delete", "update", "merge"))
        table = f"CREATE TABLE t (id BIGINT, part BIGINT, n BIGINT) PARTITIONED BY (part) WITH ({modes})"
        values = ", ".join(f"({i}, {i % 4}, 0)" for i in range(rows))
        self.done([f"CREATE DATABASE db; USE db; {table}", *([f"INSERT INTO t VALUES {values}"] if rows else [])], "")

    def done(self, statements: Sequence[str], use: str = "USE db;") -> None:
        done = self.berg.run("-e", self.start + use + "; ".join(statements))
        assert done.code == 0, done.err

    def at_once(self, scripts: Sequence[Sequence[str]]) -> None:
        """Each script by a process of its own, all of whose statements must work."""
        running = []
        for script in scripts:
            process = subprocess.Popen(
                self.berg.command("-f", "/dev/stdin"),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env=self.berg.env(),
                text=True,
            )
            assert process.stdin
            process.stdin.write(f"{self.start} USE db;\n" + ";\n".join(script) + ";\n")
            process.stdin.close()
            process.stdin = None
            running.append(process)
        for process in running:
            _, err = process.communicate(timeout=1200)
            assert process.returncode == 0, [line for line in err.splitlines() if "[INFO]" not in line]

    def rows(self, query: str) -> list[tuple[object, ...]]:
        (_, _, answer) = self.berg.answers(
            [*self.start.split(";")[:-1], f"SELECT * FROM ({query}) AS q"][-3:], "--format", "jsonl"
        )
        return [tuple(row.values()) for row in answer.json_rows()]

    def load(self) -> LoadedTable:
        place = str(self.berg.warehouse)
        if self.kind == "hadoop":
            return HadoopCatalog("c", place).load_table(TableIdent(("db",), "t"))
        catalog = JdbcCatalog("c", {"uri": f"jdbc:sqlite:{place}/catalog.db", "warehouse": place})
        return catalog.load_table(TableIdent(("db",), "t"))

    def check_line(self, snapshots: int | None = None) -> None:
        """Each snapshot's parent is the one before, their numbers rise by one, all files are there, no other is."""
        table = self.load()
        history = table.metadata.snapshots
        assert [s.parent_id for s in history] == [None, *(s.snapshot_id for s in history[:-1])]
        assert [s.sequence_number for s in history] == list(range(1, len(history) + 1))
        assert table.metadata.current_snapshot_id == history[-1].snapshot_id
        assert snapshots is None or len(history) == snapshots
        root = self.berg.warehouse / "db" / "t"
        there = {str(p) for p in root.rglob("*") if p.is_file()}
        needed = set(table_files(table, HadoopCatalog("c", str(root)).storage()))
        if self.kind == "hadoop":
            hint = root / "metadata" / "version-hint.text"
            assert Path(table.metadata_location).name == f"v{hint.read_text()}.metadata.json"
            needed |= {str(hint), *(str(p) for p in (root / "metadata").glob("v*.metadata.json"))}
        assert needed <= there
        assert {p for p in there - needed if not p.endswith(".metadata.json")} == set()


@pytest.mark.parametrize(("writers", "commits"), SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_appends(berg: Berg, kind: str, writers: int, commits: int) -> None:
    house = House(berg, kind, 0, "merge-on-read")
    house.at_once([[f"INSERT INTO t VALUES ({w}, {i % 4}, {i})" for i in range(commits)] for w in range(writers)])
    found = house.rows("SELECT id, n FROM db.t ORDER BY id, n")
    assert found == [(w, i) for w in range(writers) for i in range(commits)]
    house.check_line(writers * commits)


@pytest.mark.parametrize(("writers", "commits"), SIZES)
@pytest.mark.parametrize(("kind", "mode"), BOTH)
def test_upserts_of_the_same_keys(berg: Berg, kind: str, mode: str, writers: int, commits: int) -> None:
    """Each MERGE counts its keys on: were one lost or done twice, a count would tell."""
    house = House(berg, kind, 3, mode)
    scripts, counts = [], dict.fromkeys(range(3), 0)
    for w in range(writers):
        script = []
        for i in range(commits):
            keys = sorted({(w + i) % KEYS, (3 * i) % KEYS})
            for key in keys:
                counts[key] = counts.get(key, 0) + 1
            source = ", ".join(f"({key}, {key % 4})" for key in keys)
            script.append(
                f"MERGE INTO t USING (VALUES {source}) AS s(id, part) ON t.id = s.id"
                " WHEN MATCHED THEN UPDATE SET n = t.n + 1 WHEN NOT MATCHED THEN INSERT (id, part, n)"
                " VALUES (s.id, s.part, 1)"
            )
        scripts.append(script)
    house.at_once(scripts)
    assert house.rows("SELECT id, n FROM db.t ORDER BY id") == sorted(counts.items())
    house.check_line(writers * commits + 1)


@pytest.mark.parametrize(("writers", "commits"), SIZES)
@pytest.mark.parametrize(("kind", "mode"), BOTH)
def test_rewriting_against_deletes(berg: Berg, kind: str, mode: str, writers: int, commits: int) -> None:
    """Some replace partitions by what is in them, others delete rows: no row comes back, none goes that should stay."""
    rows = 4 * writers * commits
    house = House(berg, kind, rows, mode)
    scripts, gone = [], set()
    for w in range(writers):
        if w % 2:
            parts = [(w + i) % 4 for i in range(commits)]
            script = [f"INSERT OVERWRITE t SELECT id, part, n + 1 FROM t WHERE part = {part}" for part in parts]
        else:
            ids = [w * commits * 4 + 3 * i for i in range(commits)]
            gone |= set(ids)
            script = [f"DELETE FROM t WHERE id = {id_}" for id_ in ids]
        scripts.append(script)
    house.at_once(scripts)
    found = [row[0] for row in house.rows("SELECT id FROM db.t ORDER BY id")]
    assert found == sorted(set(range(rows)) - gone)
    house.check_line()
