"""A table that another session changes between the plan of a statement and its commit.

The statement then either failed, and the table is as the other session left it; or it worked, and the table is as if
one of the two had come behind the other. It can be read and written afterwards in each case.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest

from bergsql.catalog.base import TableIdent
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.jdbc import JdbcCatalog
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.table.purge import table_files

MODES = ("copy-on-write", "merge-on-read")
SOURCE = "(VALUES (1, 1, 'one'), (7, 3, 'seven')) AS s(id, day, name)"
STATEMENTS = {
    "insert": "INSERT INTO t VALUES (7, 3, 'seven')",
    "overwrite": "INSERT OVERWRITE t SELECT id, day, 'new' FROM t WHERE day = 1",
    "delete": "DELETE FROM t WHERE id = 1",
    "delete a partition": "DELETE FROM t WHERE day = 1",
    "update": "UPDATE t SET name = 'new' WHERE id < 3",
    "merge": f"MERGE INTO t USING {SOURCE} ON t.id = s.id"
    " WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *",
    "truncate": "TRUNCATE TABLE t",
}
SMALL = "CREATE {} t (id INT, day INT, name STRING) USING iceberg"
ACTIONS: dict[str, Sequence[str]] = {
    "drop": ("DROP TABLE t",),
    "drop and create": ("DROP TABLE t", SMALL.format("TABLE")),
    "replace": (SMALL.format("OR REPLACE TABLE"),),
    "replace by a query": ("CREATE OR REPLACE TABLE t USING iceberg AS SELECT 1 AS id, 1 AS day, 'r' AS name",),
    "replace by other columns": ("CREATE OR REPLACE TABLE t (id INT, other STRING) USING iceberg",),
    "replace by a query of other columns": ("CREATE OR REPLACE TABLE t USING iceberg AS SELECT 5 AS id, 'o' AS other",),
    "replace by columns in another order": (
        "CREATE OR REPLACE TABLE t (name STRING, day INT, id INT) USING iceberg PARTITIONED BY (name)",
    ),
    "replace and replace again": (
        "CREATE OR REPLACE TABLE t USING iceberg AS SELECT 5 AS other",
        SMALL.format("OR REPLACE TABLE"),
    ),
    "rename": ("ALTER TABLE t RENAME TO u",),
    "rename and create": ("ALTER TABLE t RENAME TO u", SMALL.format("TABLE")),
    "add a column": ("ALTER TABLE t ADD COLUMN more STRING",),
    "add a column and a row": ("ALTER TABLE t ADD COLUMN more STRING", "INSERT INTO t VALUES (1, 1, 'x', 'y')"),
    "drop a column": ("ALTER TABLE t DROP COLUMN name",),
    "drop and add a column": ("ALTER TABLE t DROP COLUMN name", "ALTER TABLE t ADD COLUMN name STRING"),
    "rename a column": ("ALTER TABLE t RENAME COLUMN name TO called",),
    "swap columns": (
        "ALTER TABLE t RENAME COLUMN name TO x",
        "ALTER TABLE t ADD COLUMN name STRING",
    ),
    "promote": ("ALTER TABLE t ALTER COLUMN id TYPE BIGINT",),
    "move a column": ("ALTER TABLE t ALTER COLUMN name FIRST",),
    "allow NULL": ("ALTER TABLE t ALTER COLUMN id DROP NOT NULL",),
    "require": ("TRUNCATE TABLE t", "ALTER TABLE t ALTER COLUMN name SET NOT NULL"),
    "partition": ("ALTER TABLE t ADD PARTITION FIELD bucket(2, id)",),
    "partition no more": ("ALTER TABLE t DROP PARTITION FIELD day",),
    "partition otherwise": (
        "ALTER TABLE t REPLACE PARTITION FIELD day WITH truncate(2, day)",
        "DELETE FROM t WHERE id = 4",
    ),
    "upgrade": ("ALTER TABLE t SET TBLPROPERTIES ('format-version' = '3')",),
    "upgrade and delete": ("ALTER TABLE t SET TBLPROPERTIES ('format-version' = '3')", "DELETE FROM t WHERE id = 2"),
    "change the format": ("ALTER TABLE t SET TBLPROPERTIES ('write.format.default' = 'avro')",),
    "change the mode": ("ALTER TABLE t SET TBLPROPERTIES ('write.delete.mode' = 'copy-on-write')",),
    "order": ("ALTER TABLE t WRITE ORDERED BY id",),
    "move the data": ("ALTER TABLE t SET TBLPROPERTIES ('write.data.path' = '{WAREHOUSE}/elsewhere')",),
}
MOMENTS = ("check_writable", "commit")
"""Of the catalog: before the files are written; before the version is made that was made of the table as it is."""


class Race(NamedTuple):
    catalog: str
    version: int
    mode: str
    statement: str
    action: str
    moment: str
    empty: bool = False
    """Whether the table has no snapshot."""


RACES = [
    Race(*race)
    for race in product(("hadoop", "jdbc"), (1, 2, 3), MODES, STATEMENTS, ACTIONS, MOMENTS)
    if (race[0] == "jdbc" or (not race[4].startswith("rename and") and race[4] != "rename"))
    and (race[1] > 1 or race[2] == MODES[0])
]
BOUNDED, WHOLE = 15, 800
GROUP = 25


class Pair:
    """Two sessions on a warehouse with the table ``t``."""

    def __init__(self, folder: Path, race: Race) -> None:
        folder.mkdir()
        self.place, self.race = folder / "wh", race
        options = f"'catalog-type'='{race.catalog}', 'warehouse'='{self.place}'"
        if race.catalog == "jdbc":
            options += f", 'uri'='jdbc:sqlite:{folder}/catalog.db'"
        self.one, self.other = (Session(SessionConfig(home=folder / "home")) for _ in range(2))
        for session in (self.one, self.other):
            run(session, "SET 'sql.dialect' = 'spark'")
            run(session, "SET 'spark.sql.sources.partitionOverwriteMode' = 'dynamic'")
            run(session, f"CREATE CATALOG c WITH ('type'='iceberg', {options})")
        run(self.one, "CREATE DATABASE c.db")
        for session in (self.one, self.other):
            run(session, "USE c.db")
        modes = ", ".join(f"'write.{s}.mode' = '{race.mode}'" for s in ("delete", "update", "merge"))
        waits = "'commit.retry.min-wait-ms' = '1'"
        run(
            self.one,
            "CREATE TABLE t (id INT NOT NULL, day INT, name STRING) USING iceberg PARTITIONED BY (day)"
            f" TBLPROPERTIES ('format-version' = '{race.version}', {modes}, {waits})",
        )
        if not race.empty:
            run(self.one, "INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 1, 'c'), (4, 2, 'd')")

    def act(self) -> bool:
        """What the other session does; whether all of it worked."""
        try:
            for sql in ACTIONS[self.race.action]:
                run(self.other, sql.replace("{WAREHOUSE}", str(self.place)))
        except BergError:
            return False
        return True

    def state(self) -> tuple[object, ...]:
        """What the other session sees in the tables."""
        return tuple(self._table(name) for name in ("t", "u"))

    def _table(self, name: str) -> object:
        try:
            result = self.other.execute(f"SELECT * FROM {name}")
        except BergError as error:
            if error.code is ErrorCode.NOT_FOUND:
                return None
            raise
        columns = tuple(c.name for c in result.columns)
        return columns, sorted(repr(list(row)) for rows in result.chunks for row in rows)

    def check_usable(self) -> None:
        """Each table has all files that it names, and takes a change of its rows."""
        catalog = self.other.catalog("c")
        for name in ("t", "u"):
            if not catalog.table_exists(TableIdent(("db",), name)):
                continue
            table = catalog.load_table(TableIdent(("db",), name))
            for file in table_files(table, catalog.storage()):
                assert catalog.storage().exists(file), file
            run(self.one, f"INSERT INTO {name} SELECT * FROM {name} LIMIT 1")
            run(self.one, f"DELETE FROM {name} WHERE id IS NOT NULL")
            assert run(self.other, f"SELECT COUNT(*) FROM {name} WHERE id IS NOT NULL") == [[0]]

    def close(self) -> None:
        self.one.close()
        self.other.close()


def run(session: Session, sql: str) -> list[list[object]]:
    result = session.execute(sql)
    return [list(row) for rows in result.chunks for row in rows]


@contextmanager
def pair(folder: Path, race: Race) -> Iterator[Pair]:
    made = Pair(folder, race)
    try:
        yield made
    finally:
        made.close()


def tried(session: Session, sql: str) -> BergError | None:
    try:
        run(session, sql)
    except BergError as error:
        return error
    return None


@contextmanager
def before(catalog: str, method: str, action: Callable[[], object]) -> Iterator[None]:
    """Let ``action`` happen once, just before a method of the catalog."""
    kind = {"hadoop": HadoopCatalog, "jdbc": JdbcCatalog}[catalog]
    original = getattr(kind, method)
    with pytest.MonkeyPatch.context() as patched:

        def late(*arguments: object, **named: object) -> object:
            patched.undo()
            action()
            return original(*arguments, **named)

        patched.setattr(kind, method, late)
        yield


def check(race: Race, folder: Path) -> None:
    statement = STATEMENTS[race.statement]
    with pair(folder / "behind", race) as behind:
        acted = behind.act()
        alone = behind.state()
        failed_behind = tried(behind.one, statement)
        after_action = behind.state()
    with pair(folder / "first", race) as first:
        run(first.one, statement)
        first.act()
        before_action = first.state()
    with pair(folder / "race", race) as raced:
        with before(race.catalog, race.moment, raced.act):
            failed = tried(raced.one, statement)
        found = raced.state()
        told = f"{race}: {failed} (behind it: {failed_behind}); the action {'worked' if acted else 'failed'}"
        if failed is None:
            assert found in (after_action, before_action), told
        else:
            assert found == alone, told
            assert failed.message.endswith("."), told
            assert failed.code in (ErrorCode.CONFLICT, ErrorCode.NOT_FOUND) or failed_behind is not None, told
        raced.check_usable()


def sample(count: int, seed: str) -> list[Race]:
    return random.Random(seed).sample(RACES, count)


def test_some(tmp_path: Path) -> None:
    for n, race in enumerate(sample(BOUNDED, "some")):
        folder = tmp_path / str(n)
        folder.mkdir()
        check(race, folder)


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("catalog", ["hadoop", "jdbc"])
def test_rows_for_a_table_that_is_replaced(catalog: str, empty: bool, tmp_path: Path) -> None:
    for n, action in enumerate(a for a in ACTIONS if a.startswith("replace")):
        folder = tmp_path / str(n)
        folder.mkdir()
        check(Race(catalog, 2, MODES[0], "insert", action, "commit", empty), folder)


@pytest.mark.long
@pytest.mark.parametrize("group", range(WHOLE // GROUP))
def test_many(group: int, tmp_path: Path) -> None:
    for n, race in enumerate(sample(WHOLE, "many")[group * GROUP :][:GROUP]):
        folder = tmp_path / str(n)
        folder.mkdir()
        check(race, folder)
