"""A table in a warehouse that is set back before each of many runs of one statement, and what must hold behind each."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.catalog.storage.local import LocalStorage
from bergsql.engine.table.purge import table_files
from tests.support.faults import NONE, Fault, Faults, Ran

IDENT = TableIdent(("db",), "t")
NEXT = 777
"""The id of the row that the next writer inserts."""


@dataclass(frozen=True, slots=True)
class Case:
    """A statement, those that make the table ``t (id, day, name)`` before it, and the next writer's."""

    setup: Sequence[str]
    statement: str
    flavour: str = "spark"
    following: str = f"INSERT INTO t VALUES ({NEXT}, 1, 'next')"


class Warehouse:
    """A warehouse of a ``hadoop`` or ``jdbc`` catalog with the table ``db.t``."""

    def __init__(self, folder: Path, faults: Faults, kind: str, case: Case) -> None:
        self.place, self._saved = folder / "wh", folder / "saved"
        self.place.mkdir()
        self._faults, self._kind, self.case = faults, kind, case
        options = f"'catalog-type'='{kind}', 'warehouse'='{self.place}'"
        if kind == "jdbc":
            options += f", 'uri'='jdbc:sqlite:{self.place}/catalog.db'"
        self._start = (f"CREATE CATALOG c WITH ('type'='iceberg', {options})", "USE CATALOG c")
        made = self.run("CREATE DATABASE db", "USE db", *case.setup, inside=False)
        assert made.code == 0, made.err
        shutil.copytree(self.place, self._saved)
        self.old_files = self.files()
        self.before = self.rows()
        self.clean = self.run(case.statement)
        assert self.clean.code == 0, self.clean.err
        self.after = self.rows()
        self.done = True
        """Whether the last run did what it was to do."""
        assert self.before != self.after or "INSERT" not in case.statement

    def run(self, *statements: str, fault: Fault = NONE, inside: bool = True) -> Ran:
        """Run statements in a process of their own, in the database ``db`` if ``inside``."""
        use = ("USE db",) if inside else ()
        arguments = [part for s in (*self._start, *use, *statements) for part in ("-e", s)]
        return self._faults.run(["--dialect", self.case.flavour, "--format", "jsonl", *arguments], self.place, fault)

    def restore(self) -> None:
        """As it was before the statement."""
        shutil.rmtree(self.place)
        shutil.copytree(self._saved, self.place)

    def rows(self) -> list[str]:
        ran = self.run("SELECT * FROM t")
        assert ran.code == 0, ran.err
        return sorted(ran.out.splitlines())

    def files(self) -> set[str]:
        return {str(p.relative_to(self.place)) for p in self.place.rglob("*") if p.is_file()}

    def load(self) -> LoadedTable:
        catalog: Catalog
        if self._kind == "hadoop":
            catalog = HadoopCatalog("c", str(self.place))
        else:
            options = {"uri": f"jdbc:sqlite:{self.place}/catalog.db", "warehouse": str(self.place)}
            catalog = JdbcCatalog("c", options)
        return catalog.load_table(IDENT)

    def check_whole(self) -> None:
        """History is one line, nothing that is needed is gone, and what is not needed lies where orphans are sought."""
        table = self.load()
        metadata = table.metadata
        chain, at = [], metadata.current_snapshot()
        while at is not None:
            chain.append(at)
            at = None if at.parent_id is None else metadata.snapshot(at.parent_id)
        assert tuple(chain[::-1]) == tuple(metadata.snapshots)
        numbers = [s.sequence_number for s in metadata.snapshots]
        assert numbers == list(range(1, len(numbers) + 1))
        needed = {str(Path(f).relative_to(self.place)) for f in table_files(table, LocalStorage())}
        there = self.files()
        assert needed <= there, needed - there
        for name in there - needed - self.old_files:
            assert name.startswith(("db/t/data/", "db/t/metadata/", "catalog.db")), name

    def check_next(self) -> list[str]:
        """The next writer adds one row to what the next reader sees, and the version hint is right then; what is seen.

        Both are one process, after which the table is whole.
        """
        ran = self.run("SELECT * FROM t", self.case.following, "SELECT * FROM t")
        assert ran.code == 0, ran.err
        lines = ran.out.splitlines()
        seen = sorted(lines[: len(lines) // 2])
        (added,) = [line for line in lines if json.loads(line)["id"] == NEXT]
        assert sorted(lines[len(seen) :]) == sorted([*seen, added])
        self.check_whole()
        if self._kind == "hadoop":
            version = Path(self.load().metadata_location).name.split(".")[0]
            hint = (self.place / "db" / "t" / "metadata" / "version-hint.text").read_text()
            assert version == f"v{hint}"
        return seen
