"""Playing a story in bergsql: one session in this process, a Hadoop catalog, a table for each setup."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql.flavour import Flavour
from bergsql.shell.render.json_values import object_lines
from tests.support.statements.statement import Statement
from tests.support.statements.story import Setup, Step
from tests.support.statements.values import as_texts


def open_session(home: Path, warehouse: Path, catalog: str = "both") -> Session:
    """A session in Spark's flavour with a catalog on the warehouse."""
    session = Session(SessionConfig(home=home, flavour=Flavour.SPARK))
    session.execute(
        f"CREATE CATALOG {catalog} WITH ('type'='iceberg', 'catalog-type'='hadoop', 'warehouse'='{warehouse}')"
    )
    session.execute("SET spark.sql.session.timeZone = UTC")
    return session


@dataclass(frozen=True)
class Failed(Exception):
    """A step went wrong: everything that shows it again."""

    what: str
    seed: object
    setup: Setup
    script: Sequence[str]

    def __str__(self) -> str:
        return f"seed {self.seed}, {self.setup}: {self.what}\n" + ";\n".join(self.script)


@dataclass
class Player:
    """``script`` is what was run, ``past`` the rows of each snapshot.

    Of a table of version 3, ``row_ids`` are its rows' by the model's numbers of them, ``sequences`` the sequence numbers
    that statements were committed with.
    """

    session: Session
    table: str
    setup: Setup
    seed: object
    script: list[str] = field(default_factory=list)
    past: dict[int, list[list[Any]]] = field(default_factory=dict)
    row_ids: dict[int, int] = field(default_factory=dict)
    sequences: dict[int, int] = field(default_factory=dict)
    loaded: LoadedTable | None = None

    def ask(self, sql: str) -> list[list[Any]]:
        """A statement's rows as JSON has them."""
        return [list(json.loads(line).values()) for lines in object_lines(self.session.execute(sql)) for line in lines]

    def run(self, statement: Statement) -> str | None:
        """Run a statement; what it was refused for, if it was."""
        before = statement.first(self.table)
        lines = (*before, statement.sql(self.table, self.setup.properties), *statement.after)
        refused = None
        for line in lines:
            self.script.append(line)
            try:
                self.ask(line)
            except BergError as error:
                if line in before or line in statement.after or "not supported yet" in str(error):
                    raise self.failed(str(error)) from error
                refused = str(error)
        return refused

    def failed(self, what: str) -> Failed:
        return Failed(what, self.seed, self.setup, self.script)

    def rows(self, at: str = "") -> list[list[Any]]:
        return self.ask(f"SELECT * FROM {self.table}{at}")

    def check(self, what: str, found: list[list[Any]], wanted: list[list[Any]]) -> None:
        """Compare rows as multisets."""
        mine, right = as_texts(found), as_texts(wanted)
        if mine != right:
            extra, lost = ([row for row in a if row not in b] for a, b in ((mine, right), (right, mine)))
            raise self.failed(f"{what}: {len(mine)} rows for {len(right)}\n  has {extra}\n  lacks {lost}")

    def play(self, step: Step) -> None:
        """Run a step and hold its outcome to the model's."""
        if step.statement.kind == "mode" and self.setup.version == 1:
            return
        refused = self.run(step.statement)
        if bool(refused) != bool(step.refused):
            raise self.failed(f"refused: {refused}; by the model: {step.refused}")
        self.look(step, refused)

    def look(self, step: Step, refused: str | None = None) -> None:
        """Hold the table behind a step, whoever ran it, to the model's."""
        self.check("rows", self.rows(), step.rows)
        before, self.loaded = self.loaded, self.load()
        if refused and before is not None and before.metadata_location != self.loaded.metadata_location:
            raise self.failed("a refused statement changed the table")
        snapshot = self.loaded.metadata.current_snapshot()
        if snapshot is not None and snapshot.snapshot_id not in self.past:
            self.past[snapshot.snapshot_id] = step.rows
            self.sequences[step.number] = snapshot.sequence_number
        if self.setup.version == 3:
            self.check_lineage(step)

    def check_lineage(self, step: Step) -> None:
        """Rows that stay keep their ids, changed or not; new ones have ids that no row had."""
        told = self.ask(f"SELECT *, _row_id, _last_updated_sequence_number FROM {self.table}")
        there = Counter((json.dumps(row, sort_keys=True), row_id, update) for *row, row_id, update in told)
        new: list[tuple[str, int, int]] = []
        for row, (identity, changed) in zip(step.rows, step.lineage, strict=True):
            text, update = json.dumps(row, sort_keys=True), self.sequences[changed]
            if identity not in self.row_ids:
                new.append((text, identity, update))
            elif (found := (text, self.row_ids[identity], update)) in there:
                there -= Counter([found])
            else:
                raise self.failed(f"lineage: no row {found}\n  among {sorted(there)}")
        had = set(self.row_ids.values())
        left = sorted(there.elements())
        for (text, identity, update), (mine, row_id, mine_update) in zip(sorted(new), left, strict=True):
            if (text, update) != (mine, mine_update) or row_id in had:
                raise self.failed(f"lineage: {(mine, row_id, mine_update)} for a new row {(text, update)}")
            had.add(row_id)
            self.row_ids[identity] = row_id

    def load(self) -> LoadedTable:
        catalog, database, name = self.table.split(".")
        return self.session.catalog(catalog).load_table(TableIdent((database,), name))

    def check_past(self) -> None:
        """Every snapshot still has its rows, under the columns of its time."""
        for snapshot_id, rows in self.past.items():
            self.check(f"snapshot {snapshot_id}", self.rows(f" VERSION AS OF {snapshot_id}"), rows)


def play_all(player: Player, steps: Sequence[Step], then: Callable[[Player, Step], None] = lambda *_: None) -> None:
    """A whole story; ``then`` is called behind each step."""
    for step in steps:
        player.play(step)
        then(player, step)
    player.check_past()
