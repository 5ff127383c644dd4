"""Commits: what a snapshot says and holds, how conflicts are met, and that nothing is deleted that may be needed.

Mirrors, in our own words, of situations that Iceberg's Java project tests: appends and overwrites with their summaries,
manifest merging, retries that keep the data files, commits of unknown outcome, tables replaced under a writer's feet.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.base import LoadedTable, TableIdent
from bergsql.catalog.errors import BergError, CommitConflict, CommitStateUnknown, ErrorCode
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import AddSchema, SetCurrentSchema, SetProperties, TableUpdate
from bergsql.catalog.metadata.new_table import replacement_updates
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import DAY, IDENTITY, bucket
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.storage.base import Storage
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot, commit_updates
from bergsql.engine.table.datafile import DataFile, EntryStatus, FileContent
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.overwrite import OverwriteAll, OverwritePartitions, OverwriteWhere
from bergsql.engine.table.replace import create_filled, replace_filled, replaced_metadata
from bergsql.engine.table.writer import write_rows
from tests.support.tables import Tables

USERS = {"id": "long", "day": "date", "country": "string"}
BY = [("day", IDENTITY), ("country", IDENTITY)]
FAST = {"commit.retry.min-wait-ms": "1", "commit.status-check.min-wait-ms": "1"}


@pytest.fixture
def users(tables: Tables) -> LoadedTable:
    """A partitioned table with a row of two days and countries each."""
    tables.create(USERS, BY, FAST)
    return tables.insert(rows((1, "2022-02-01", "china"), (2, "2022-02-02", "japan"))).table


def rows(*given: tuple[int, str, str]) -> str:
    values = ", ".join(f"({i}, DATE '{day}', '{country}')" for i, day, country in given)
    return f"SELECT CAST(a AS BIGINT), b, c FROM (VALUES {values}) v(a, b, c)"


def summary(table: LoadedTable) -> dict[str, str]:
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    kept = dict(snapshot.summary)
    for key in ("engine-version", "added-files-size", "removed-files-size", "total-files-size"):
        kept.pop(key, None)
    return kept


def ids(tables: Tables) -> list[int]:
    return sorted(r[0] for r in tables.rows(select="id"))


# --- summaries ----------------------------------------------------------------------------------------------------------

TOTALS = {
    "total-delete-files": "0",
    "total-position-deletes": "0",
    "total-equality-deletes": "0",
    "engine-name": "bergsql",
}


def test_an_append(users: LoadedTable, tables: Tables) -> None:
    assert summary(users) == {
        "operation": "append",
        "added-data-files": "2",
        "added-records": "2",
        "changed-partition-count": "2",
        "total-records": "2",
        "total-data-files": "2",
        **TOTALS,
    }
    snapshot = users.metadata.current_snapshot()
    assert snapshot is not None
    assert snapshot.summary["added-files-size"] == str(sum(f.file_size for f in tables.files()))
    assert (snapshot.parent_id, snapshot.sequence_number, snapshot.schema_id) == (None, 1, 0)
    assert users.metadata.last_sequence_number == 1
    assert [e.snapshot_id for e in users.metadata.snapshot_log] == [snapshot.snapshot_id]
    assert 0 < snapshot.snapshot_id < 2**63


def test_partitions_with_new_rows_are_replaced(users: LoadedTable, tables: Tables) -> None:
    """The end of the Flink tour: its last snapshot's summary."""
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    table = tables.commit(users, OverwritePartitions(written.files)).table
    assert summary(table) == {
        "operation": "overwrite",
        "replace-partitions": "true",
        "added-data-files": "1",
        "deleted-data-files": "1",
        "added-records": "1",
        "deleted-records": "1",
        "changed-partition-count": "1",
        "total-records": "2",
        "total-data-files": "2",
        **TOTALS,
    }
    assert ids(tables) == [1, 5]
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    sizes = snapshot.summary["total-files-size"]
    assert int(sizes) == sum(f.file_size for f in tables.files())


def test_the_whole_table_is_replaced(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((7, "2022-02-09", "peru")))
    table = tables.commit(users, OverwriteAll(written.files)).table
    found = summary(table)
    assert (found["operation"], found["deleted-data-files"], found["changed-partition-count"]) == (
        "overwrite",
        "2",
        "3",
    )
    assert ids(tables) == [7]
    deleted = [e for e in tables.entries() if e.status == EntryStatus.DELETED]
    assert len(deleted) == 2
    assert {e.snapshot_id for e in deleted} == {table.metadata.current_snapshot_id}


def test_the_table_is_emptied(users: LoadedTable, tables: Tables) -> None:
    table = tables.commit(users, OverwriteAll()).table
    assert (summary(table)["operation"], summary(table)["total-records"]) == ("delete", "0")
    assert tables.files() == []
    # What is gone stays listed in the snapshot that removed it, and no longer in the next.
    tables.insert(rows((1, "2022-02-01", "china")))
    assert [e.status for e in tables.entries()] == [EntryStatus.ADDED]


def test_a_static_part_is_replaced(users: LoadedTable, tables: Tables) -> None:
    tables.insert(rows((3, "2022-02-03", "japan")))
    written = tables.write(users, rows((9, "2022-02-05", "japan")))
    table = tables.commit(tables.load(), OverwriteWhere(written.files, {3: "japan"})).table
    assert ids(tables) == [1, 9]
    assert "replace-partitions" not in summary(table)
    assert summary(table)["operation"] == "overwrite"
    tables.commit(table, OverwriteWhere((), {3: "japan"}))
    assert ids(tables) == [1]
    assert summary(tables.load())["operation"] == "delete"


def test_null_is_a_static_value(tables: Tables) -> None:
    tables.create({"id": "long", "c": "string"}, [("c", IDENTITY)])
    tables.insert("SELECT 1, NULL UNION ALL SELECT 2, 'null' UNION ALL SELECT 3, 'x'")
    tables.commit(tables.load(), OverwriteWhere((), {2: None}))
    assert ids(tables) == [2, 3]


def test_files_of_an_older_partitioning_are_judged_by_their_statistics(tables: Tables) -> None:
    tables.create({"id": "long", "c": "string"})
    tables.insert("SELECT 1, 'a' UNION ALL SELECT 2, 'a'")
    tables.insert("SELECT 3, 'b'")
    table = tables.load()
    tables.commit(table, OverwriteWhere((), {2: "b"}))
    assert ids(tables) == [1, 2]
    tables.insert("SELECT 4, 'a' UNION ALL SELECT 5, 'c'")
    with pytest.raises(BergError, match="holds these rows and others"):
        tables.commit(tables.load(), OverwriteWhere((), {2: "c"}))
    assert ids(tables) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("counted", "value", "taken"),
    [
        ({"nan_counts": {2: 0}}, 1.0, True),
        ({"nan_counts": {}}, 1.0, None),  # NaNs are in no bound
        ({"nan_counts": {2: 1}}, 1.0, None),
        ({"nan_counts": {2: 0}, "null_counts": {}}, 1.0, None),
        ({"nan_counts": {2: 0}, "null_counts": {2: 1}}, 1.0, None),
        ({"nan_counts": {2: 0}, "lower_bounds": {}}, 1.0, None),
        ({"nan_counts": {}}, 2.0, False),
        ({"nan_counts": {2: 2}}, float("nan"), True),
        ({"nan_counts": {2: 1}}, float("nan"), None),
        ({"nan_counts": {}}, float("nan"), None),
        ({"nan_counts": {2: 0}}, float("nan"), False),
        ({"null_counts": {2: 2}, "lower_bounds": {}, "upper_bounds": {}}, None, True),
        ({"null_counts": {2: 1}}, None, None),
        ({"null_counts": {}}, None, None),
        ({}, None, False),
    ],
)
def test_a_file_is_taken_only_if_all_its_rows_are_known_to_match(
    tables: Tables, counted: dict[str, dict[int, object]], value: float | None, taken: bool | None
) -> None:
    table = tables.create({"id": "long", "x": "double"})
    one = struct.pack("<d", 1.0)
    known: dict[str, Any] = {"null_counts": {2: 0}, "lower_bounds": {2: one}, "upper_bounds": {2: one}, **counted}
    file = DataFile("/f.parquet", 2, 100, value_counts={2: 2}, **known)
    selection = OverwriteWhere((), {2: value}).selection(table.metadata)
    if taken is None:
        with pytest.raises(BergError, match="holds these rows and others"):
            selection.takes(file, table.metadata)
    else:
        assert selection.takes(file, table.metadata) is taken


@pytest.mark.parametrize("value", [float("nan"), 1.0, None])
def test_nan_is_a_static_value(tables: Tables, value: float | None) -> None:
    tables.create({"id": "long", "x": "double"}, [("x", IDENTITY)])
    tables.insert("SELECT 1, 1.0 UNION ALL SELECT 2, CAST('nan' AS DOUBLE) UNION ALL SELECT 3, NULL")
    tables.commit(tables.load(), OverwriteWhere((), {2: value}))
    assert ids(tables) == sorted({1, 2, 3} - {1 if value == 1.0 else 3 if value is None else 2})


def test_totals_that_are_not_known_stay_unknown(users: LoadedTable, tables: Tables) -> None:
    """Some writers leave totals out of their summaries; a wrong number would be worse than none."""
    snapshot = users.metadata.current_snapshot()
    assert snapshot is not None
    bare = replace(snapshot, summary={"operation": "append"})
    metadata = replace(users.metadata, snapshots=(bare,), current_snapshot_id=bare.snapshot_id)
    Path(users.metadata_location).write_bytes(metadata.serialize())
    found = summary(tables.insert(rows((3, "2022-02-03", "japan"))).table)
    assert not any(key.startswith("total-") for key in found)


# --- format versions ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 2, 3])
def test_all_format_versions(tables: Tables, version: int) -> None:
    tables.create(USERS, BY, version=version)
    tables.insert(rows((1, "2022-02-01", "china"), (2, "2022-02-02", "japan")))
    tables.insert(rows((3, "2022-02-02", "japan")))
    table = tables.load()
    written = tables.write(table, rows((4, "2022-02-02", "japan")))
    table = tables.commit(table, OverwritePartitions(written.files)).table
    assert ids(tables) == [1, 4]
    sequence_numbers = [s.sequence_number for s in table.metadata.snapshots]
    assert sequence_numbers == ([0, 0, 0] if version == 1 else [1, 2, 3])
    live = {e.data_file.partition[1]: e for e in tables.entries() if e.live}
    assert live["china"].sequence_number == (0 if version == 1 else 1)


def test_rows_of_a_v3_table_are_numbered(tables: Tables) -> None:
    tables.create(USERS, BY, version=3)
    tables.insert(rows((1, "2022-02-01", "china"), (2, "2022-02-02", "japan")))
    tables.insert(rows((3, "2022-02-02", "japan")))
    table = tables.load().metadata
    assert [(s.first_row_id, s.added_rows) for s in table.snapshots] == [(0, 2), (2, 1)]
    assert table.next_row_id == 3
    first = {f.first_row_id for f in tables.files()}
    assert first == {0, 1, 2}


def test_a_table_upgraded_to_v3_gives_old_rows_numbers_too(tables: Tables) -> None:
    tables.create(USERS, BY)
    tables.insert(rows((1, "2022-02-01", "china"), (2, "2022-02-02", "japan")))
    tables.catalog.commit(tables.load(), [SetProperties({"format-version": "3"})])
    tables.insert(rows((3, "2022-02-02", "japan")))
    table = tables.load().metadata
    assert (table.snapshots[-1].first_row_id, table.snapshots[-1].added_rows) == (0, 3)
    assert len({f.first_row_id for f in tables.files()}) == 3


# --- manifests ----------------------------------------------------------------------------------------------------------


def manifests(tables: Tables) -> list[Any]:
    metadata = tables.load().metadata
    snapshot = metadata.current_snapshot()
    assert snapshot is not None
    return list(read_manifest_list(tables.storage, snapshot, metadata))


def test_manifests_are_merged_when_they_are_many(tables: Tables) -> None:
    tables.create({"id": "long"}, (), {"commit.manifest.min-count-to-merge": "4"})
    for i in range(3):
        tables.insert(f"SELECT {i}")
    assert len(manifests(tables)) == 3
    tables.insert("SELECT 3")
    (merged,) = manifests(tables)
    assert (merged.added_files_count, merged.existing_files_count) == (1, 3)
    assert (merged.sequence_number, merged.min_sequence_number) == (4, 1)
    assert sorted(e.sequence_number or 0 for e in tables.entries()) == [1, 2, 3, 4]
    assert len({e.snapshot_id for e in tables.entries()}) == 4
    assert ids(tables) == [0, 1, 2, 3]
    listed = {p for p in tables.on_disk() if "-m" in p}
    assert len(listed) == 4  # three of the earlier snapshots and the merged one: what was merged at once is gone


def test_manifests_are_not_merged_when_that_is_off(tables: Tables) -> None:
    properties = {"commit.manifest.min-count-to-merge": "2", "commit.manifest-merge.enabled": "false"}
    tables.create({"id": "long"}, (), properties)
    for i in range(5):
        tables.insert(f"SELECT {i}")
    assert len(manifests(tables)) == 5


def test_an_overwrite_touches_only_manifests_that_hold_the_partition(tables: Tables) -> None:
    tables.create(USERS, [("day", DAY), ("id", bucket(4))], {"commit.manifest-merge.enabled": "false"})
    for day in (1, 2, 3):
        tables.insert(rows((day, f"2022-02-0{day}", "x")))
    before = {m.path for m in manifests(tables)}
    table = tables.load()
    written = tables.write(table, rows((2, "2022-02-02", "y")))
    tables.commit(table, OverwritePartitions(written.files))
    assert len({m.path for m in manifests(tables)} & before) == 2
    assert sorted(r[2] for r in tables.rows()) == ["x", "x", "y"]


def test_files_of_several_specs(tables: Tables) -> None:
    """Replacing partitions leaves the files of an older partitioning; replacing the table takes them too."""
    from bergsql.catalog.metadata.changes import AddPartitionSpec, SetDefaultSpec
    from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec

    tables.create(USERS, [("country", IDENTITY)])
    tables.insert(rows((1, "2022-02-01", "china")))
    spec = PartitionSpec(1, (PartitionField(2, 1001, "day", IDENTITY),))
    tables.catalog.commit(tables.load(), [AddPartitionSpec(spec), SetDefaultSpec()])
    tables.insert(rows((2, "2022-02-01", "china")))
    table = tables.load()
    written = tables.write(table, rows((3, "2022-02-01", "peru")))
    tables.commit(table, OverwritePartitions(written.files))
    assert ids(tables) == [1, 3]
    tables.commit(tables.load(), OverwriteWhere((), {3: "china"}))
    assert ids(tables) == [3]
    tables.commit(tables.load(), OverwriteAll())
    assert tables.files() == []


def test_delete_files_go_with_their_partition(tables: Tables) -> None:
    tables.create(USERS, BY)
    tables.insert(rows((1, "2022-02-01", "china"), (2, "2022-02-02", "japan")))
    table = tables.load()
    deletes = [
        DataFile(f"{f.path}.deletes", 1, 10, content=FileContent.POSITION_DELETES, partition=f.partition)
        for f in tables.files()
    ]
    for f in deletes:
        Path(f.path).touch()
    table = tables.commit(table, Append(deletes)).table
    assert summary(table)["total-position-deletes"] == "2"
    written = tables.write(table, rows((3, "2022-02-02", "japan")))
    table = tables.commit(table, OverwritePartitions(written.files)).table
    found = summary(table)
    assert (found["removed-position-delete-files"], found["total-delete-files"]) == ("1", "1")
    assert [f.partition[1] for f in tables.files() if f.content != FileContent.DATA] == ["china"]


# --- conflicts ----------------------------------------------------------------------------------------------------------


def test_an_append_meets_no_conflict(users: LoadedTable, tables: Tables) -> None:
    """Both are based on one version; the second is made anew on the first."""
    one = tables.write(users, rows((3, "2022-02-03", "peru")))
    two = tables.write(users, rows((4, "2022-02-03", "peru")))
    tables.commit(users, Append(one.files))
    table = tables.commit(users, Append(two.files)).table
    assert ids(tables) == [1, 2, 3, 4]
    assert summary(table)["total-records"] == "4"


@pytest.mark.parametrize(
    "producer",
    [
        lambda files: OverwritePartitions(files),
        lambda files: OverwriteWhere(files, {3: "japan"}),
        lambda files: OverwriteAll(files),
    ],
    ids=["partitions", "where", "all"],
)
def test_rows_that_came_into_what_is_replaced_are_not_lost(users: LoadedTable, tables: Tables, producer: Any) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    tables.insert(rows((6, "2022-02-02", "japan")))
    tables.insert(rows((7, "2022-02-09", "peru")))  # what came after must not hide it
    before = tables.on_disk()
    with pytest.raises(BergError, match="Another writer added rows to what this statement replaces") as caught:
        tables.commit(users, producer(written.files))
    assert caught.value.code is ErrorCode.CONFLICT
    assert ids(tables) == [1, 2, 6, 7]
    assert tables.on_disk() == before - {f.path.split("/db/t/")[1] for f in written.files}


def test_rows_that_came_elsewhere_are_no_conflict(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    tables.insert(rows((6, "2022-02-01", "china")))
    tables.commit(users, OverwritePartitions(written.files))
    assert ids(tables) == [1, 5, 6]


def test_two_overwrites_of_one_partition(users: LoadedTable, tables: Tables) -> None:
    one = tables.write(users, rows((5, "2022-02-02", "japan")))
    two = tables.write(users, rows((6, "2022-02-02", "japan")))
    tables.commit(users, OverwritePartitions(one.files))
    with pytest.raises(BergError, match="Another writer"):
        tables.commit(users, OverwritePartitions(two.files))
    assert ids(tables) == [1, 5]


def test_a_table_dropped_meanwhile(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    tables.catalog.drop_table(users.ident)
    with pytest.raises(BergError, match="not found"):
        tables.commit(users, Append(written.files))
    assert not (tables.warehouse / "db" / "t").exists()


def test_a_table_dropped_before_its_rows_are_written(users: LoadedTable, tables: Tables) -> None:
    tables.catalog.drop_table(users.ident)
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    with pytest.raises(BergError, match="not found"):
        tables.commit(users, Append(written.files))
    assert not (tables.warehouse / "db" / "t").exists()


def test_a_table_dropped_and_made_anew_meanwhile(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    tables.catalog.drop_table(users.ident)
    tables.create({"id": "string"})
    with pytest.raises(BergError, match="created anew") as caught:
        tables.commit(users, Append(written.files))
    assert caught.value.code is ErrorCode.CONFLICT
    assert tables.files() == []


def change_schema(tables: Tables, evolve: Callable[[TableMetadata], Schema]) -> None:
    table = tables.load()
    schema = evolve(table.metadata)
    tables.catalog.commit(table, [AddSchema(schema), SetCurrentSchema()])


def test_a_column_added_or_dropped_meanwhile_does_no_harm(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))

    def with_another(m: TableMetadata) -> Schema:
        added = replace(m.schema.fields[0], field_id=9, name="n")
        return replace(m.schema, fields=(*m.schema.fields, added))

    change_schema(tables, with_another)
    table = tables.commit(users, Append(written.files)).table
    assert table.metadata.current_schema_id == 1
    assert len(tables.files()) == 3


def test_a_column_of_another_type_meanwhile_is_a_conflict(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))

    def as_text(m: TableMetadata) -> Schema:
        first, *rest = m.schema.fields
        return replace(m.schema, fields=(replace(first, type=parse_type("string")), *rest))

    change_schema(tables, as_text)
    with pytest.raises(BergError, match=r"Column 'id' of table c\.db\.t became string meanwhile"):
        tables.commit(users, Append(written.files))


def test_a_history_that_was_set_back_is_a_conflict_for_an_overwrite(users: LoadedTable, tables: Tables) -> None:
    from bergsql.catalog.metadata.changes import RemoveSnapshotRef

    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    tables.catalog.commit(users, [RemoveSnapshotRef("main")])
    with pytest.raises(BergError, match="history of the table was changed"):
        tables.commit(users, OverwritePartitions(written.files))


def test_a_file_that_is_gone_is_not_committed(users: LoadedTable, tables: Tables) -> None:
    written = tables.write(users, rows((5, "2022-02-02", "japan")))
    Path(written.files[0].path).unlink()
    with pytest.raises(BergError, match="was not found"):
        tables.commit(users, Append(written.files))
    assert ids(tables) == [1, 2]


# --- retries and unknown outcomes ---------------------------------------------------------------------------------------


@dataclass
class Rival:
    """A catalog in whose commits something happens first, or whose answers get lost."""

    catalog: HadoopCatalog
    conflicts: int = 0
    lost_before: bool = False
    lost_after: bool = False
    commits: int = 0

    def load_table(self, ident: TableIdent) -> LoadedTable:
        return self.catalog.load_table(ident)

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        self.commits += 1
        if self.commits <= self.conflicts:
            # Somebody else is faster.
            self.catalog.commit(base, [SetProperties({"faster": str(self.commits)})])
        if self.lost_before:
            raise CommitStateUnknown("the connection broke")
        done = self.catalog.commit(base, updates)
        if self.lost_after:
            raise CommitStateUnknown("the connection broke")
        return done

    def create_table(self, ident: TableIdent, metadata: TableMetadata) -> LoadedTable:
        return self.catalog.create_table(ident, metadata)

    def storage(self, location: str | None = None) -> Storage:
        return self.catalog.storage(location)


def test_a_retry_uses_the_data_files_again(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Rival(tables.catalog, conflicts=3)
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    committed = commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert rival.commits == 4
    assert ids(tables) == [1, 2, 3]
    lists = [p for p in tables.on_disk() if f"snap-{committed.snapshot.snapshot_id}" in p]
    assert len(lists) == 1  # those of the failed attempts are gone
    assert written.files[0].path in {f.path for f in tables.files()}


def test_retries_end(users: LoadedTable, tables: Tables) -> None:
    tables.catalog.commit(users, [SetProperties({"commit.retry.num-retries": "2"})])
    users = tables.load()
    rival: Any = Rival(tables.catalog, conflicts=99)
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    before = tables.on_disk()
    with pytest.raises(CommitConflict, match="failed 3 times") as caught:
        commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert "commit.retry.num-retries" in str(caught.value.hint)
    assert rival.commits == 3
    left = {p for p in tables.on_disk() if "metadata.json" not in p}
    assert left == {p for p in before if "metadata.json" not in p} - {f.path.split("/db/t/")[1] for f in written.files}


def test_a_lost_answer_to_a_commit_that_happened(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Rival(tables.catalog, lost_after=True)
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    committed = commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert committed.table.metadata.current_snapshot_id == committed.snapshot.snapshot_id
    assert ids(tables) == [1, 2, 3]


def test_an_outcome_that_stays_unknown_keeps_all_files(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Rival(tables.catalog, lost_before=True)
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    before = tables.on_disk()
    with pytest.raises(CommitStateUnknown, match="not known") as caught:
        commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert caught.value.code is ErrorCode.UNKNOWN_OUTCOME
    assert len(tables.on_disk() - before) == 2  # a manifest and a list
    assert before <= tables.on_disk()


class Pressed(Rival):
    """Ctrl-C comes in the moment behind the commit, or before it."""

    early = False

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        if not self.early:
            self.catalog.commit(base, updates)
        raise KeyboardInterrupt


def test_ctrl_c_behind_the_commit_deletes_nothing(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Pressed(tables.catalog)
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert ids(tables) == [1, 2, 3]


def test_ctrl_c_before_the_commit_leaves_nothing(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Pressed(tables.catalog)
    rival.early = True
    before = tables.on_disk()
    written = tables.write(users, rows((3, "2022-02-03", "peru")))
    with pytest.raises(KeyboardInterrupt):
        commit_snapshot(rival, users, Append(written.files), tables.storage)
    assert tables.on_disk() == before


def test_metadata_changes_are_retried(users: LoadedTable, tables: Tables) -> None:
    rival: Any = Rival(tables.catalog, conflicts=2)

    def updates(current: LoadedTable) -> list[TableUpdate]:
        return [SetProperties({"seen": current.metadata.properties.get("faster", "0")})]

    done = commit_updates(rival, users, updates)
    assert done.metadata.properties["seen"] == "2"


# --- tables made and replaced as a whole ----------------------------------------------------------------------------------


def test_a_table_appears_with_its_rows(tables: Tables) -> None:
    metadata = tables.metadata(USERS, BY)
    written = write_rows(tables.duck, rows((1, "2022-02-01", "china")), {}, metadata=metadata, storage=tables.storage)
    committed = create_filled(tables.catalog, tables.ident("t"), metadata, written.files, tables.storage)
    assert committed.table.metadata_location.endswith("/v1.metadata.json")
    assert summary(committed.table)["operation"] == "append"
    assert committed.snapshot.sequence_number == 1
    assert tables.load().metadata.current_snapshot_id == committed.snapshot.snapshot_id
    assert ids(tables) == [1]


def test_a_table_that_somebody_else_made_stays_as_it_is(tables: Tables) -> None:
    metadata = tables.metadata(USERS, BY)
    written = write_rows(tables.duck, rows((1, "2022-02-01", "china")), {}, metadata=metadata, storage=tables.storage)
    tables.create(USERS, BY)
    with pytest.raises(BergError) as caught:
        create_filled(tables.catalog, tables.ident("t"), metadata, written.files, tables.storage)
    assert caught.value.code is ErrorCode.ALREADY_EXISTS
    assert tables.on_disk() == {"metadata/v1.metadata.json", "metadata/version-hint.text"}


def test_a_failed_create_leaves_no_directory(tables: Tables) -> None:
    metadata = tables.metadata({"i!": "int"})
    with pytest.raises(BergError, match="NOT NULL"):
        write_rows(tables.duck, "SELECT NULL", {}, metadata=metadata, storage=tables.storage)
    assert not (tables.warehouse / "db" / "t").exists()


def test_a_table_is_replaced_by_rows_and_keeps_its_history(users: LoadedTable, tables: Tables) -> None:
    other = tables.metadata({"id": "long", "note": "string"}, [("note", IDENTITY)])

    def definition(base: LoadedTable) -> list[TableUpdate]:
        return replacement_updates(base.metadata, other.schema, other.spec, other.sort_order, None, {"k": "v"})

    metadata = replaced_metadata(users, definition)
    written = write_rows(tables.duck, "SELECT 9, 'n'", {}, metadata=metadata, storage=tables.storage)
    tables.insert(rows((3, "2022-02-03", "peru")))  # is replaced too: no conflict
    committed = replace_filled(tables.catalog, users, definition, written.files, tables.storage)
    found = summary(committed.table)
    assert (found["operation"], found["total-records"], committed.snapshot.parent_id) == ("overwrite", "1", None)
    assert len(committed.table.metadata.snapshots) == 3
    assert committed.table.metadata.properties["k"] == "v"
    assert committed.table.metadata.schema.names == ("id", "note")
    assert committed.table.metadata.schema.fields[0].field_id == 1
    assert ids(tables) == [9]


def test_a_replaced_table_whose_columns_changed_meanwhile(users: LoadedTable, tables: Tables) -> None:
    def definition(base: LoadedTable) -> list[TableUpdate]:
        m = base.metadata
        return replacement_updates(m, m.schema, m.spec, m.sort_order, None, {})

    metadata = replaced_metadata(users, definition)
    written = write_rows(tables.duck, rows((9, "2022-02-01", "x")), {}, metadata=metadata, storage=tables.storage)

    def described(m: TableMetadata) -> Schema:
        *others, last = m.schema.fields
        return replace(m.schema, fields=(*others, replace(last, doc="changed")))

    change_schema(tables, described)
    with pytest.raises(BergError, match="changed the definition"):
        replace_filled(tables.catalog, users, definition, written.files, tables.storage)
    assert ids(tables) == [1, 2]
