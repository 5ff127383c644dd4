"""What others may do between the time when a statement reads a table and its commit.

Mirrors, in our own words, of situations that Iceberg's Java project tests. The statement stands first, what others do
meanwhile second; each in a Hadoop and in a JDBC catalog.

Of TestOverwriteWithValidation, TestReplacePartitions and Spark's TestConflictValidation (whole partitions, and parts):

- rows come to what is replaced: a conflict; to elsewhere: none
- rows of it go, with their files or by position or equality deletes: a conflict; of elsewhere: none
- its files are rewritten: none
- the table was empty when it was read; a snapshot between is expired; the one that was read is expired

Of TestRowDelta and the same of Spark's (DELETE, UPDATE, MERGE, copy-on-write and merge-on-read, both isolations):

- a data file that is rewritten, or deleted from, is removed, or rewritten by compaction or by a change of rows
- a data file that a DELETE deletes from is dropped by another DELETE: none; for an UPDATE: a conflict
- rows come that match what was read, or do not, by bounds and by partitions of several specs
- rows of a rewritten file are deleted meanwhile: by position, by vector, by equality within its scope and without;
  also when others append afterwards, which moves the head on
- two vectors of one data file; two position delete files of one; a delete file that both replace
- two UPDATEs of one file, of one partition by delete files of a partition, of different files
- manifests are merged or rewritten: none

Of the definition of a table (TestSchemaAndPartition…, TestReplaceTransaction, and what no test there has):

- columns added, dropped, renamed, widened; a partition spec or sort order that changes; another key; another format
  version; a table replaced, dropped, dropped and made anew; a history set back; a branch moved on, moved aside, removed,
  made; a schema that the statement changes as well

Of TestHadoopCommits and TestJdbcTableConcurrency: concurrent appends and changes from several threads that lose no
commit (their processes, failures and locks: test_catalog_hadoop_commits.py, test_catalog_jdbc.py, tests/crash).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    RemoveSnapshots,
    SetCurrentSchema,
    SetDefaultSpec,
    SetProperties,
    SetSnapshotRef,
    TableUpdate,
)
from bergsql.catalog.metadata.evolve import add_column, change_type, drop_column, rename_column, set_identifier_fields
from bergsql.catalog.metadata.new_table import replacement_updates
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.catalog.metadata.transforms import IDENTITY, bucket
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField
from bergsql.engine.table.append import Append
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.destination import MAIN, Destination
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.overwrite import OverwriteAll, OverwritePartitions, OverwriteWhere
from bergsql.engine.table.predicate import AlwaysFalse, AlwaysTrue, Compare, In, Op, Predicate, all_of
from bergsql.engine.table.producer import Operation, Producer
from bergsql.engine.table.row_delta import Isolation, RowDelta
from bergsql.engine.table.upsert import Upsert
from tests.support.made_files import COLUMNS, MadeFiles
from tests.support.tables import Tables

FAST = {"commit.retry.min-wait-ms": "1", "commit.retry.num-retries": "100"}
SNAPSHOT, SERIALIZABLE = Isolation.SNAPSHOT, Isolation.SERIALIZABLE
BOTH = [SNAPSHOT, SERIALIZABLE]


@dataclass(frozen=True)
class Compaction(RowDelta):
    """Rewrites files; changes no row."""

    @property
    def operation(self) -> Operation:
        return Operation.REPLACE


@dataclass
class Race:
    """A table with files of its own, which a statement has read and others change."""

    tables: Tables
    made: MadeFiles

    def start(self, *files: DataFile, version: int = 2, by: Sequence[Any] = (), properties: Any = None) -> LoadedTable:
        self.tables.create(COLUMNS, by, {**FAST, **(properties or {})}, version)
        if files:
            self.tables.commit(self.tables.load(), Append(files))
        return self.tables.load()

    def others(self, *producers: Producer, to: Destination = MAIN) -> None:
        for producer in producers:
            self.tables.commit(self.tables.load(), producer, to)

    def alter(self, *updates: TableUpdate) -> None:
        self.tables.catalog.commit(self.tables.load(), updates)

    def live(self) -> set[str]:
        return {Path(f.path).name.partition(".")[0] for f in self.tables.files()}

    def goes(self, table: LoadedTable, producer: Producer, to: Destination = MAIN) -> None:
        """The statement, which read ``table``, is committed."""
        done = self.tables.commit(table, producer, to)
        assert done.table.metadata.snapshot(done.snapshot.snapshot_id) is not None

    def fails(self, table: LoadedTable, producer: Producer, says: str, to: Destination = MAIN) -> StatementConflict:
        """The statement conflicts, and leaves nothing; its files that were there before stay."""
        before = self.tables.load().metadata_location
        with pytest.raises(StatementConflict, match=says) as caught:
            self.tables.commit(table, producer, to)
        assert self.tables.load().metadata_location == before
        assert not any(Path(p).exists() for p in producer.written)
        assert caught.value.table_uuid == table.metadata.table_uuid
        return caught.value


@pytest.fixture(params=["hadoop", "jdbc"])
def race(request: pytest.FixtureRequest, tmp_path: Path) -> Race:
    warehouse = tmp_path / "warehouse"
    return Race(Tables(warehouse, jdbc=request.param == "jdbc"), MadeFiles(warehouse / "db" / "t" / "data"))


def ids(low: int, high: int) -> Predicate:
    return all_of(Compare("id", Op.GE, low), Compare("id", Op.LE, high))


def delta(
    files: Sequence[DataFile] = (),
    deletes: Sequence[DataFile] = (),
    removed: Sequence[DataFile] = (),
    removed_deletes: Sequence[DataFile] = (),
    *,
    read: Predicate | None = None,
    isolation: Isolation = SERIALIZABLE,
) -> RowDelta:
    return RowDelta(files, deletes, removed, removed_deletes, read=read or AlwaysTrue(), isolation=isolation)


# --- whole partitions -----------------------------------------------------------------------------------------------------

BY_DATA = [("data", IDENTITY)]
Make = Callable[[MadeFiles], Producer]
REPLACING: list[Any] = [
    pytest.param(lambda made: OverwritePartitions([made.data("new", at=("x",))]), id="partitions"),
    pytest.param(lambda made: OverwriteWhere([made.data("new", at=("x",))], {2: "x"}), id="where"),
]


@pytest.fixture
def parted(race: Race) -> tuple[LoadedTable, DataFile, DataFile]:
    """A table with the file ``x`` in one partition and ``y`` in another."""
    x, y = race.made.data("x", at=("x",)), race.made.data("y", at=("y",))
    return race.start(x, y, by=BY_DATA), x, y


@pytest.mark.parametrize("make", REPLACING)
def test_rows_come_to_what_is_replaced(race: Race, parted: Any, make: Make) -> None:
    table, *_ = parted
    race.others(Append([race.made.data("theirs", at=("x",))]))
    error = race.fails(table, make(race.made), "added rows to what this statement replaces")
    snapshot = race.tables.load().metadata.current_snapshot_id
    assert f"theirs.parquet, snapshot {snapshot})" in error.message


@pytest.mark.parametrize("make", REPLACING)
def test_rows_come_elsewhere(race: Race, parted: Any, make: Make) -> None:
    table, *_ = parted
    race.others(Append([race.made.data("theirs", at=("y",))]))
    race.goes(table, make(race.made))
    assert race.live() == {"y", "theirs", "new"}


@pytest.mark.parametrize("make", REPLACING)
@pytest.mark.parametrize(
    ("how", "says"),
    [
        (lambda _, x: delta((), (), [x]), "removed rows from"),
        (lambda made, x: delta([made.data("rest", at=("x",))], (), [x]), "added rows to"),
        (lambda made, x: delta((), [made.positions("d", x)]), "deleted rows of"),
        (lambda made, x: delta((), [made.positions("d", like=x)]), "deleted rows of"),
        (lambda made, x: delta((), [made.equality("k", at=x.partition)]), "deleted rows of"),
    ],
    ids=["files", "copy-on-write", "positions", "wide positions", "keys"],
)
def test_rows_of_what_is_replaced_go(race: Race, parted: Any, make: Make, how: Any, says: str) -> None:
    """They may be among those that come, if the statement read the table."""
    table, x, _ = parted
    race.others(how(race.made, x))
    race.fails(table, make(race.made), says)


@pytest.mark.parametrize("make", REPLACING)
def test_rows_of_elsewhere_go(race: Race, parted: Any, make: Make) -> None:
    table, _, y = parted
    race.others(delta((), [race.made.positions("d", y)]))
    race.goes(table, make(race.made))
    assert race.live() == {"y", "d-deletes", "new"}


@pytest.mark.parametrize("make", REPLACING)
def test_what_is_replaced_is_rewritten(race: Race, parted: Any, make: Make) -> None:
    table, x, _ = parted
    race.others(Compaction([race.made.data("compact", at=("x",))], (), [x]))
    race.goes(table, make(race.made))
    assert race.live() == {"y", "new"}


@pytest.mark.parametrize("others", [False, True])
def test_a_table_that_was_empty(race: Race, others: bool) -> None:
    table = race.start(by=BY_DATA)
    if others:
        race.others(Append([race.made.data("theirs", at=("x",))]))
        race.fails(table, OverwriteAll([race.made.data("new", at=("x",))]), "added rows")
    else:
        race.goes(table, OverwriteAll([race.made.data("new", at=("x",))]))


@pytest.mark.parametrize("make", REPLACING)
def test_a_snapshot_between_is_expired(race: Race, parted: Any, make: Make) -> None:
    """What it did cannot be known any more."""
    table, *_ = parted
    race.others(Append([race.made.data("one", at=("y",))]), Append([race.made.data("two", at=("y",))]))
    between = race.tables.load().metadata.snapshots[1].snapshot_id
    race.alter(RemoveSnapshots((between,)))
    race.fails(table, make(race.made), "history of the table was changed")


@pytest.mark.parametrize("make", REPLACING)
def test_the_snapshot_that_was_read_is_expired(race: Race, parted: Any, make: Make) -> None:
    """All that came behind it is still known."""
    table, *_ = parted
    race.others(Append([race.made.data("one", at=("y",))]))
    race.alter(RemoveSnapshots((race.tables.load().metadata.snapshots[0].snapshot_id,)))
    race.goes(table, make(race.made))
    assert race.live() == {"y", "one", "new"}


# --- data files that a statement needs ------------------------------------------------------------------------------------


def copy_on_write(made: MadeFiles, a: DataFile, isolation: Isolation, read: Predicate | None = None) -> RowDelta:
    return delta([made.data("rest", 1, 9)], (), [a], read=read or ids(0, 0), isolation=isolation)


def update(made: MadeFiles, a: DataFile, isolation: Isolation, read: Predicate | None = None) -> RowDelta:
    files, deletes = [made.data("changed", 0, 0)], [made.positions("mine", a)]
    return delta(files, deletes, read=read or ids(0, 0), isolation=isolation)


def delete(made: MadeFiles, a: DataFile, isolation: Isolation, read: Predicate | None = None) -> RowDelta:
    return delta((), [made.positions("mine", a)], read=read or ids(0, 0), isolation=isolation)


def wide_delete(made: MadeFiles, a: DataFile, isolation: Isolation, read: Predicate | None = None) -> RowDelta:
    return delta((), [made.positions("mine", like=a)], read=read or ids(0, 0), isolation=isolation)


STATEMENTS: list[Any] = [copy_on_write, update, delete, wide_delete]
Statement = Callable[..., RowDelta]


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_file_is_compacted(race: Race, statement: Statement, isolation: Isolation) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.others(Compaction([race.made.data("compact")], (), [a]), Append([race.made.data("later", 90, 99)]))
    error = race.fails(table, statement(race.made, a, isolation), "rewrote a file that this statement")
    assert "a.parquet" in error.message


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_file_is_rewritten_by_a_change_of_rows(race: Race, statement: Statement, isolation: Isolation) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.others(delta([race.made.data("theirs", 0, 8)], (), [a]))
    race.fails(table, statement(race.made, a, isolation), "removed a file that this statement")


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_file_is_dropped(race: Race, statement: Statement, isolation: Isolation) -> None:
    """A DELETE finds done what it wanted; all others would have done something else with its rows."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta((), (), [a]))
    mine = statement(race.made, a, isolation)
    if statement in (delete, wide_delete):
        race.goes(table, mine)
        assert race.live() == {"b", "mine-deletes"}
    else:
        race.fails(table, mine, "removed a file that this statement")


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_other_files_are_compacted_or_dropped(race: Race, statement: Statement, isolation: Isolation) -> None:
    a, b, c = race.made.data("a", 0, 9), race.made.data("b", 10, 19), race.made.data("c", 20, 29)
    if statement is wide_delete:
        a, b, c = (race.made.data(n, *at) for n, at in (("p", (0, 9)), ("q", (10, 19)), ("r", (20, 29))))
    by = BY_DATA if statement is wide_delete else []
    if by:
        a, b, c = (_at(f, (v,)) for f, v in ((a, "p"), (b, "q"), (c, "r")))
    table = race.start(a, b, c, by=by)
    race.others(delta((), (), [b]), Compaction([_at(race.made.data("compact", 20, 29), c.partition)], (), [c]))
    race.goes(table, statement(race.made, a, isolation))


def _at(file: DataFile, partition: tuple[object, ...]) -> DataFile:
    from dataclasses import replace

    return replace(file, partition=partition)


# --- rows that come -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_come_that_might_have_been_read(race: Race, statement: Statement, isolation: Isolation) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.others(Append([race.made.data("theirs", 0, 5)]))
    mine = statement(race.made, a, isolation)
    if isolation is SERIALIZABLE:
        error = race.fails(table, mine, "added rows that this statement might have read")
        assert "theirs.parquet" in error.message
    else:
        race.goes(table, mine)
        assert "theirs" in race.live()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_rows_come_that_do_not_match(race: Race, statement: Statement) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.others(Append([race.made.data("theirs", 1, 50)]))
    race.goes(table, statement(race.made, a, SERIALIZABLE))


def test_rows_come_in_partitions_of_another_spec(race: Race) -> None:
    """What was read is judged by the partitions of each spec."""
    x = race.made.data("x", at=("x",))
    table = race.start(x, by=BY_DATA)
    spec = PartitionSpec(1, (PartitionField(1, 1001, "id_bucket", bucket(8)), PartitionField(2, 1002, "d", IDENTITY)))
    race.alter(AddPartitionSpec(spec), SetDefaultSpec())
    race.others(Append([race.made.data("theirs", at=(1, "y"), spec_id=1)]))
    read = Compare("data", Op.EQ, "x")
    race.goes(table, delta((), [race.made.positions("d", x)], read=read))
    race.others(Append([race.made.data("more", at=(1, "x"), spec_id=1)]))
    race.fails(table, delta((), [race.made.positions("e", x)], read=read), "added rows")


def test_what_was_read_has_the_columns_of_then(race: Race) -> None:
    """Its column was dropped, and another of its name came: the rows that came are judged by the first."""
    a = race.made.data("a")
    table = race.start(a)
    schema = drop_column(table.metadata.schema, ("id",))
    schema = add_column(schema, NestedField(0, "id", IntegerType(), False), table.metadata.last_column_id)
    race.alter(AddSchema(schema), SetCurrentSchema())
    race.others(Append([race.made.data("theirs", 50, 59)]))
    race.goes(table, delete(race.made, a, SERIALIZABLE))
    race.others(Append([race.made.data("more", 0, 9)]))
    race.fails(table, delta((), [race.made.positions("e", a)], read=ids(0, 0)), "added rows")


@pytest.mark.parametrize("read", [AlwaysTrue(), ids(0, 9), In("id", (3, 100))])
def test_a_statement_that_found_no_row_minds_those_that_come(race: Race, read: Predicate) -> None:
    """A MERGE whose source matched nothing, and inserts."""
    table = race.start(race.made.data("a", 50, 59))
    race.others(Append([race.made.data("theirs", 0, 5)]))
    race.fails(table, delta([race.made.data("mine", 3, 3)], read=read), "added rows")


def test_compaction_brings_no_rows(race: Race) -> None:
    a, b = race.made.data("a"), race.made.data("b", 0, 19)
    table = race.start(a, b)
    race.others(Compaction([race.made.data("compact", 0, 19)], (), [b]))
    race.goes(table, update(race.made, a, SERIALIZABLE))


# --- rows that go ---------------------------------------------------------------------------------------------------------

DELETING: list[Any] = [
    pytest.param(2, lambda made, a: [made.positions("theirs", a)], id="positions"),
    pytest.param(2, lambda made, a: [made.positions("theirs", like=a)], id="wide positions"),
    pytest.param(2, lambda made, _: [made.equality("theirs", 5, 5)], id="keys"),
    pytest.param(3, lambda made, a: [made.vector("theirs", a)], id="vector"),
    pytest.param(3, lambda made, _: [made.equality("theirs", 5, 5)], id="keys in v3"),
]


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize(("version", "deletes"), DELETING)
def test_rows_of_a_rewritten_file_do_not_come_back(
    race: Race, version: int, deletes: Any, isolation: Isolation, later: bool
) -> None:
    """Not even if others append behind it, whatever the rows are that the statement asked for."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b, version=version)
    race.others(delta((), deletes(race.made, a)))
    if later:
        race.others(Append([race.made.data("later", 90, 99)]), Append([race.made.data("last", 90, 99)]))
    error = race.fails(table, copy_on_write(race.made, a, isolation), r"deleted rows of \S+/a.parquet")
    theirs = race.tables.load().metadata.snapshots[1].snapshot_id
    assert f"snapshot {theirs})" in error.message


@pytest.mark.parametrize("isolation", BOTH)
def test_rows_of_a_dropped_file_that_others_deleted_first(race: Race, isolation: Isolation) -> None:
    """A whole file that goes: nothing would come back, but the statement may not have wanted what it finds now."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta((), [race.made.positions("theirs", a)]))
    race.fails(table, delta((), (), [a], isolation=isolation), "deleted rows")


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_keys_are_deleted_in_another_partition(race: Race, statement: Statement, isolation: Isolation) -> None:
    x, y = race.made.data("x", at=("x",)), race.made.data("y", at=("y",))
    table = race.start(x, y, by=BY_DATA)
    race.others(delta((), [race.made.equality("theirs", at=("y",))]))
    mine = statement(race.made, x, isolation, Compare("data", Op.EQ, "x"))
    race.goes(table, RowDelta([_at(f, ("x",)) for f in mine.files], mine.deletes, mine.removed, read=mine.read))


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", [update, delete, wide_delete])
@pytest.mark.parametrize(
    "deletes",
    [
        lambda made, a: [made.positions("theirs", a)],
        lambda made, a: [made.positions("theirs", like=a)],
        lambda made, _: [made.equality("theirs", 5, 5)],
    ],
    ids=["positions", "wide positions", "keys"],
)
def test_rows_of_one_file_go_twice(race: Race, statement: Statement, deletes: Any, isolation: Isolation) -> None:
    """To delete a row twice does no harm; to write one anew that others deleted would."""
    a = race.made.data("a")
    table = race.start(a)
    race.others(delta((), deletes(race.made, a)))
    mine = statement(race.made, a, isolation)
    if statement is update:
        race.fails(table, mine, "deleted rows where this statement does")
    else:
        race.goes(table, mine)


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("operation", ["delete", "update", "rewrite"])
def test_a_data_file_has_one_vector(race: Race, isolation: Isolation, operation: str) -> None:
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b, version=3)
    theirs = race.made.vector("theirs", a)
    if operation == "rewrite":
        race.others(Compaction((), [theirs]))
    else:
        race.others(delta([race.made.data("c", 50, 59)] if operation == "update" else (), [theirs]))
    race.goes(table, delta((), [race.made.vector("other", b)], read=ids(10, 10), isolation=isolation))
    race.fails(
        table,
        delta((), [race.made.vector("mine", a)], read=ids(0, 0), isolation=isolation),
        r"made a deletion vector of \S+/a.parquet",
    )


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("version", [2, 3])
def test_a_delete_file_is_replaced_once(race: Race, isolation: Isolation, version: int) -> None:
    made = race.made
    a = made.data("a")
    race.start(a, version=version)
    make = made.positions if version == 2 else made.vector
    old = make("old", a)
    race.others(delta((), [old]))
    table = race.tables.load()
    race.others(delta((), [make("theirs", a)], (), [old]))
    mine = delta((), [make("mine", a)], (), [old], read=ids(0, 0), isolation=isolation)
    error = race.fails(table, mine, "replaced a delete file that this statement replaces")
    assert "old" in error.message
    assert race.live() == {"a", Path(make("theirs", a).path).name.partition(".")[0]}


@pytest.mark.parametrize("isolation", BOTH)
def test_two_updates_of_different_files(race: Race, isolation: Isolation) -> None:
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta([race.made.data("theirs", 15, 15)], [race.made.positions("theirs", b)], read=ids(15, 15)))
    race.goes(table, update(race.made, a, isolation))
    assert race.live() == {"a", "b", "changed", "mine-deletes", "theirs", "theirs-deletes"}


def test_two_updates_of_one_partition_by_its_delete_files(race: Race) -> None:
    """They may name one file, or not: that is only in them."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta([race.made.data("theirs", 15, 15)], [race.made.positions("theirs", like=b)]))
    mine = delta([race.made.data("c", 0, 0)], [race.made.positions("m", like=a)], read=ids(0, 0), isolation=SNAPSHOT)
    race.fails(table, mine, "deleted rows where this statement does")


def test_rows_that_were_read_go(race: Race) -> None:
    """Serializable: what the statement wrote may depend on rows that it did not change."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta((), [race.made.positions("theirs", b)]))
    race.goes(table, delta([race.made.data("v", 90, 90)], read=ids(0, 19), isolation=SNAPSHOT))
    race.goes(table, delta([race.made.data("w", 90, 90)], read=ids(0, 9)))  # of another data file
    race.fails(table, delta([race.made.data("x", 90, 90)], read=ids(0, 10)), "deleted rows that this statement may")
    table = race.tables.load()
    race.others(delta((), (), [b]))
    race.goes(table, delta([race.made.data("y", 90, 90)], read=ids(0, 9)))
    race.fails(table, delta([race.made.data("z", 90, 90)], read=ids(19, 30)), "removed rows that this statement may")


def test_a_delete_by_what_the_table_holds(race: Race) -> None:
    """DELETE … WHERE id = (SELECT max(id) …): rows that go change what it finds."""
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b)
    race.others(delta((), [race.made.positions("theirs", b)]))
    deletes = [race.made.positions("mine", a)]
    race.goes(table, RowDelta((), deletes, read=AlwaysTrue()))
    late = RowDelta((), [race.made.positions("late", a)], read=AlwaysTrue(), rereads=True)
    race.fails(table, late, "deleted rows that this statement may")


def test_keys_that_were_read_go(race: Race) -> None:
    """Equality deletes tell by their bounds whether they hold a key that was asked for."""
    table = race.start(race.made.data("a"))
    race.others(delta((), [race.made.equality("theirs", 5, 6)]))
    race.goes(table, delta([race.made.data("y", 90, 90)], read=ids(0, 4)))
    race.fails(table, delta([race.made.data("z", 90, 90)], read=ids(0, 5)), "deleted rows that this statement may")


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
def test_manifests_are_merged(race: Race, statement: Statement, isolation: Isolation) -> None:
    a = race.made.data("a")
    table = race.start(a, properties={"commit.manifest.min-count-to-merge": "2"})
    for i in range(3):
        race.others(Append([race.made.data(f"f{i}", 10 + i, 20)]))
    race.goes(table, statement(race.made, a, isolation))


def test_a_change_in_a_merged_manifest_is_seen(race: Race) -> None:
    a = race.made.data("a")
    table = race.start(a, properties={"commit.manifest.min-count-to-merge": "1"})
    race.others(delta([race.made.data("theirs", 0, 8)], (), [a]), Append([race.made.data("b", 50, 59)]))
    race.fails(table, copy_on_write(race.made, a, SNAPSHOT), "removed a file")
    race.fails(table, delta([race.made.data("c", 0, 0)], read=ids(3, 3)), "added rows")


@pytest.mark.parametrize("version", [1, 2, 3])
def test_copy_on_write_in_all_versions(race: Race, version: int) -> None:
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    table = race.start(a, b, version=version)
    race.others(delta([race.made.data("theirs", 11, 19)], (), [b], read=ids(10, 10)))
    race.goes(table, copy_on_write(race.made, a, SERIALIZABLE))
    assert race.live() == {"rest", "theirs"}
    race.fails(table, delta([race.made.data("again", 10, 18)], (), [b], read=ids(19, 19)), "removed a file")


def test_an_upsert_meets_no_change_of_rows(race: Race) -> None:
    """It read nothing: its keys reach whatever is there when it is committed."""
    a = race.made.data("a")
    table = race.start(a)
    race.others(
        delta([race.made.data("theirs", 3, 4)], [race.made.equality("theirs", 3, 4)]),
        Compaction([race.made.data("compact")], (), [a]),
    )
    race.goes(table, delta([race.made.data("mine", 3, 3)], [race.made.equality("mine", 3, 3)], read=AlwaysFalse()))
    numbers = {Path(e.data_file.path).name: e.sequence_number for e in race.tables.entries() if e.live}
    assert numbers["mine-keys.parquet"] == numbers["mine.parquet"] == 4


# --- the table's definition -----------------------------------------------------------------------------------------------


def evolved(change: Callable[[Any, int], Any]) -> Callable[[Race], None]:
    def alter(race: Race) -> None:
        metadata = race.tables.load().metadata
        race.alter(AddSchema(change(metadata.schema, metadata.last_column_id)), SetCurrentSchema())

    return alter


HARMLESS: list[Any] = [
    pytest.param(evolved(lambda s, n: add_column(s, NestedField(0, "c", IntegerType(), False), n)), id="column added"),
    pytest.param(evolved(lambda s, _: drop_column(s, ("data",))), id="column dropped"),
    pytest.param(evolved(lambda s, _: rename_column(s, ("data",), "text")), id="column renamed"),
    pytest.param(lambda race: race.alter(SetProperties({"write.format.default": "orc"})), id="property"),
]


@pytest.mark.parametrize("isolation", BOTH)
@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("alter", HARMLESS)
def test_columns_that_change(
    race: Race, statement: Statement, alter: Callable[[Race], None], isolation: Isolation
) -> None:
    a = race.made.data("a")
    table = race.start(a)
    alter(race)
    race.goes(table, statement(race.made, a, isolation))


def test_a_column_is_widened(race: Race) -> None:
    race.tables.create({"id": "int", "data": "string"}, (), FAST)
    a = race.made.data("a")
    race.others(Append([a]))
    table = race.tables.load()
    evolved(lambda s, _: change_type(s, ("id",), LongType(), 2))(race)
    race.others(Append([race.made.data("theirs", 50, 59)]))
    race.goes(table, delete(race.made, a, SNAPSHOT))


@pytest.mark.parametrize("required", [False, True])
def test_a_column_becomes_another(race: Race, required: bool) -> None:
    a = race.made.data("a")
    table = race.start(a)

    def change(schema: Any, _: int) -> Any:
        if required:
            return type(schema)(0, (NestedField(1, "id", LongType(), True), *schema.fields[1:]))
        return type(schema)(0, (NestedField(1, "id", parse_type("date"), False), *schema.fields[1:]))

    evolved(change)(race)
    race.fails(table, copy_on_write(race.made, a, SNAPSHOT), "became NOT NULL" if required else "became date")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_another_partition_spec(race: Race, statement: Statement) -> None:
    """Files of the spec of then are as good as those of now."""
    x = race.made.data("x", at=("x",))
    table = race.start(x, by=BY_DATA)
    race.alter(AddPartitionSpec(PartitionSpec(1, ())), SetDefaultSpec())
    mine = statement(race.made, x, SERIALIZABLE)
    race.goes(table, RowDelta([_at(f, ("x",)) for f in mine.files], mine.deletes, mine.removed, read=mine.read))


def test_keys_of_another_partition_spec(race: Race) -> None:
    """Equality deletes reach files of their own partition alone: those that others write now are not among them."""
    table = race.start(race.made.data("x", at=("x",)), by=BY_DATA)
    race.alter(AddPartitionSpec(PartitionSpec(1, ())), SetDefaultSpec())
    upsert = Upsert([race.made.data("m", at=("x",))], [race.made.equality("m", at=("x",))])
    race.fails(table, upsert, "partitioning")


def test_keys_of_another_key(race: Race) -> None:
    race.tables.create({"id!": "long", "data!": "string"}, (), FAST)
    evolved(lambda s, _: set_identifier_fields(s, [("id",)]))(race)
    table = race.tables.load()
    evolved(lambda s, _: set_identifier_fields(s, [("data",)]))(race)
    race.fails(table, Upsert([race.made.data("m")], [race.made.equality("m")]), "key of the table")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_another_format_version(race: Race, statement: Statement) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.alter(SetProperties({"format-version": "3"}))
    race.fails(table, statement(race.made, a, SNAPSHOT), "became one of format version 3")


def test_both_change_the_columns(race: Race) -> None:
    table = race.start(race.made.data("a"))
    metadata = table.metadata
    schema = add_column(metadata.schema, NestedField(0, "mine", IntegerType(), False), metadata.last_column_id)
    updates = (AddSchema(schema), SetCurrentSchema())
    race.alter(SetProperties({"x": "y"}))
    race.goes(table, RowDelta([race.made.data("b")], updates=updates, isolation=SNAPSHOT))
    race.fails(
        table, RowDelta([race.made.data("c")], updates=updates, isolation=SNAPSHOT), "changed the table's columns"
    )
    # A column that came and went has used up its number.
    table = race.tables.load()
    schema = add_column(table.metadata.schema, NestedField(0, "more", IntegerType(), False), 3)
    race.alter(AddSchema(schema), SetCurrentSchema())
    race.alter(AddSchema(table.metadata.schema), SetCurrentSchema())
    late = RowDelta([race.made.data("d")], updates=(AddSchema(schema), SetCurrentSchema()), isolation=SNAPSHOT)
    race.fails(table, late, "changed the table's columns")


# --- the table itself and its branches ------------------------------------------------------------------------------------


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_table_dropped(race: Race, statement: Statement) -> None:
    a = race.made.data("a")
    table = race.start(a)
    race.tables.catalog.drop_table(table.ident, purge=True)
    with pytest.raises(BergError, match="was not found") as caught:
        race.tables.commit(table, _written(race, statement))
    assert not isinstance(caught.value, StatementConflict)


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_table_dropped_and_made_anew(race: Race, statement: Statement) -> None:
    """It is another table: the statement is not for it, and is not run again on it."""
    table = race.start(race.made.data("a"))
    race.tables.catalog.drop_table(table.ident, purge=True)
    race.start()
    mine = _written(race, statement)
    with pytest.raises(BergError, match="dropped and created anew") as caught:
        race.tables.commit(table, mine)
    assert not isinstance(caught.value, StatementConflict)
    assert not any(Path(p).exists() for p in mine.written)
    assert race.tables.files() == []


def _written(race: Race, statement: Statement) -> RowDelta:
    """A statement whose files are there, though the table is not."""
    race.made.folder.mkdir(parents=True, exist_ok=True)
    return statement(race.made, race.made.data("a"), SNAPSHOT)


def redefine(race: Race, table: LoadedTable) -> None:
    fresh = race.tables.metadata(COLUMNS)
    definition = (fresh.schema, fresh.spec, fresh.sort_order, fresh.location, fresh.properties)
    race.alter(*replacement_updates(table.metadata, *definition))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_table_replaced(race: Race, statement: Statement) -> None:
    """CREATE OR REPLACE: the same table with another history."""
    a = race.made.data("a")
    table = race.start(a)
    redefine(race, table)
    race.fails(table, statement(race.made, a, SNAPSHOT), "history of the table was changed")


ADDING: list[Callable[[list[DataFile]], Producer]] = [
    Append,
    OverwriteAll,
    OverwritePartitions,
    Upsert,
    lambda files: RowDelta(files, isolation=SNAPSHOT),
]
"""What may come to a table without looking at what is there."""


@pytest.mark.parametrize("adding", ADDING)
@pytest.mark.parametrize("filled", [False, True])
def test_rows_for_a_table_that_was_replaced(
    race: Race, adding: Callable[[list[DataFile]], Producer], filled: bool
) -> None:
    """They were made for other columns; also where the new table has rows already."""
    table = race.start(race.made.data("a"))
    redefine(race, table)
    if filled:
        race.others(Append([race.made.data("new")]))
    race.fails(table, adding([race.made.data("mine")]), "history of the table was changed")
    now = race.tables.load()
    race.goes(now, adding([race.made.data("again")]))


@pytest.mark.parametrize("adding", ADDING)
def test_rows_for_a_table_without_snapshots_that_was_replaced(
    race: Race, adding: Callable[[list[DataFile]], Producer]
) -> None:
    """Its columns tell: they must be there, called and ordered as they were; others may have come."""
    table = race.start()
    fields = table.metadata.schema.fields
    for changed in (fields[:1], fields[::-1], (replace(fields[0], name="x"), *fields[1:])):
        race.alter(AddSchema(Schema(0, changed)), SetCurrentSchema())
        race.fails(table, adding([race.made.data("mine")]), "given other columns meanwhile")
        race.made.folder.mkdir()  # which went with its last file
    race.alter(AddSchema(Schema(0, (NestedField(9, "more", IntegerType(), False), *fields))), SetCurrentSchema())
    race.goes(table, adding([race.made.data("mine")]))


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_history_set_back(race: Race, statement: Statement) -> None:
    a, b = race.made.data("a"), race.made.data("b", 10, 19)
    race.start(b)
    first = race.tables.load().metadata.current_snapshot_id
    assert first is not None
    race.others(Append([a]))
    table = race.tables.load()
    race.alter(SetSnapshotRef("main", SnapshotRef(first)))
    race.fails(table, statement(race.made, a, SNAPSHOT), "history of the table was changed")
    race.goes(table, Append([race.made.data("c")]))  # which minds nothing
    assert race.live() == {"b", "c"}


def branched(race: Race, *files: DataFile) -> LoadedTable:
    race.start(*files)
    head = race.tables.load().metadata.current_snapshot_id
    assert head is not None
    race.alter(SetSnapshotRef("b", SnapshotRef(head)))
    return race.tables.load()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_happens_on_other_branches_is_no_conflict(race: Race, statement: Statement) -> None:
    a = race.made.data("a")
    table = branched(race, a)
    race.others(delta([race.made.data("theirs", 0, 9)], (), [a]))
    race.goes(table, statement(race.made, a, SERIALIZABLE), Destination("b"))
    assert race.live() == {"theirs"}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_what_happens_on_the_same_branch_is(race: Race, statement: Statement) -> None:
    a = race.made.data("a")
    table = branched(race, a)
    race.others(delta([race.made.data("theirs", 0, 9)], (), [a]), to=Destination("b"))
    race.fails(table, statement(race.made, a, SNAPSHOT), "removed a file", Destination("b"))
    race.goes(table, copy_on_write(race.made, a, SNAPSHOT))


def test_a_branch_moved_on_by_main(race: Race) -> None:
    a = race.made.data("a")
    table = branched(race, a)
    race.others(Append([race.made.data("more", 50, 59)]))
    head = race.tables.load().metadata.current_snapshot_id
    assert head is not None
    race.alter(SetSnapshotRef("b", SnapshotRef(head)))
    race.goes(table, copy_on_write(race.made, a, SERIALIZABLE), Destination("b"))


def test_a_branch_moved_aside(race: Race) -> None:
    a = race.made.data("a")
    table = branched(race, a)
    race.others(Append([race.made.data("one")]), to=Destination("b"))
    table = race.tables.load()
    race.others(Append([race.made.data("two")]))
    head = race.tables.load().metadata.current_snapshot_id
    assert head is not None
    race.alter(SetSnapshotRef("b", SnapshotRef(head)))
    race.fails(table, copy_on_write(race.made, a, SNAPSHOT), "history of the table was changed", Destination("b"))


def test_a_branch_that_becomes_a_tag(race: Race) -> None:
    a = race.made.data("a")
    table = branched(race, a)
    head = table.metadata.current_snapshot_id
    assert head is not None
    race.alter(SetSnapshotRef("b", SnapshotRef(head, "tag")))
    with pytest.raises(BergError, match="'b' is a tag"):
        race.tables.commit(table, copy_on_write(race.made, a, SNAPSHOT), Destination("b"))


def test_a_branch_that_two_make(race: Race) -> None:
    """The second finds the first one's branch: what it read was the table's state before."""
    a = race.made.data("a")
    table = race.start(a)
    to = Destination("b", create=True)
    race.others(Append([race.made.data("theirs", 50, 59)]), to=to)
    race.goes(table, copy_on_write(race.made, a, SERIALIZABLE), to)
    race.fails(table, delta([race.made.data("again", 1, 9)], (), [a], isolation=SNAPSHOT), "removed a file", to)


def test_a_staged_change_minds_what_others_do(race: Race) -> None:
    a = race.made.data("a")
    table = race.start(a)
    staged = Destination(staged=True)
    race.others(delta([race.made.data("w", 1, 9)], (), [a]), to=staged)
    race.goes(table, copy_on_write(race.made, a, SERIALIZABLE))  # what is staged is in nobody's way
    race.fails(table, delta([race.made.data("v", 1, 9)], (), [a]), "removed a file", staged)


# --- many at once ---------------------------------------------------------------------------------------------------------


def test_threads_lose_no_commit(race: Race) -> None:
    """Appends, and deletes of files of one's own, from four threads."""
    table = race.start(race.made.data("a"))

    def work(thread: int) -> None:
        tables = Tables(race.tables.warehouse, race.tables.jdbc)
        for i in range(6):
            mine = race.made.data(f"t{thread}-{i}", 100 * thread, 100 * thread + 9)
            tables.commit(table, Append([mine]))
            rest = race.made.data(f"t{thread}-{i}-rest", 100 * thread, 100 * thread + 8)
            read = ids(100 * thread, 100 * thread + 9)
            tables.commit(tables.load(), delta([rest], (), [mine], read=read))

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work, n) for n in range(4)]:
            done.result()
    assert race.live() == {"a", *(f"t{n}-{i}-rest" for n in range(4) for i in range(6))}
    metadata = race.tables.load().metadata
    assert [s.sequence_number for s in metadata.snapshots] == list(range(1, 50))
    parents = [s.parent_id for s in metadata.snapshots[1:]]
    assert parents == [s.snapshot_id for s in metadata.snapshots[:-1]]
