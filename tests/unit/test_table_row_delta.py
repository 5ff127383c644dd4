"""Commits of changes of rows: what their snapshots say and hold, where they go, and what stays when they fail.

Mirrors, in our own words, of situations that Iceberg's Java project tests (TestRowDelta, TestOverwrite, the tests of
snapshot summaries, row ids and stale delete files):

- the operation of each mix of files that come and go; its summary
- delete files of several partition specs in one commit; manifests of delete files merged, of several specs too
- deletion vectors that share a Puffin file; vectors that go with their data files; a vector in the place of another
- delete files that are older than all data are dropped, by an append too
- row ids of v3: of files that come, that stay, that are merged with others
- sequence numbers, also of files in manifests that are written anew
- branches, staged snapshots, a tag, a branch that is made or gone
- a failed commit deletes data and delete files, and never what it would have removed; an unknown outcome deletes none
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, CommitStateUnknown
from bergsql.catalog.hadoop import HadoopCatalog
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    RemoveSnapshotRef,
    SetCurrentSchema,
    SetDefaultSpec,
    SetProperties,
    SetSnapshotRef,
    TableUpdate,
)
from bergsql.catalog.metadata.evolve import add_column, drop_column
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.snapshots import SnapshotRef
from bergsql.catalog.metadata.transforms import IDENTITY, bucket
from bergsql.catalog.metadata.types import IntegerType, NestedField
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.datafile import EntryStatus, ManifestContent, ManifestFile
from bergsql.engine.table.destination import Destination
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.overwrite import OverwritePartitions
from bergsql.engine.table.predicate import AlwaysFalse, Compare, Op
from bergsql.engine.table.row_delta import RowDelta
from tests.support.made_files import COLUMNS, MadeFiles
from tests.support.tables import Tables

FAST = {"commit.retry.min-wait-ms": "1", "commit.status-check.min-wait-ms": "1"}


@pytest.fixture
def made(tmp_path: Path) -> MadeFiles:
    return MadeFiles(tmp_path / "warehouse" / "db" / "t" / "data")


def summary(table: LoadedTable) -> Mapping[str, str]:
    """The summary of the current snapshot."""
    snapshot = table.metadata.current_snapshot()
    assert snapshot is not None
    return snapshot.summary


def said(table: LoadedTable) -> dict[str, str]:
    """The summary of the current snapshot, without what all have."""
    return {k: v for k, v in summary(table).items() if not k.startswith(("total-", "engine-")) and "size" not in k}


def manifests(tables: Tables, branch: str = "main") -> list[ManifestFile]:
    metadata = tables.load().metadata
    snapshot = Destination(branch).head(metadata)
    assert snapshot is not None
    return list(read_manifest_list(tables.storage, snapshot, metadata))


def live(tables: Tables) -> set[str]:
    return {Path(f.path).name for f in tables.files()}


# --- what the snapshot says ---------------------------------------------------------------------------------------------


def test_rows_that_come(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    table = tables.commit(tables.load(), RowDelta([made.data("a")])).table
    assert said(table) == {
        "operation": "append",
        "added-data-files": "1",
        "added-records": "10",
        "changed-partition-count": "1",
    }


def test_position_deletes(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a = made.data("a")
    tables.commit(tables.load(), Append([a]))
    table = tables.commit(tables.load(), RowDelta((), [made.positions("d", a, count=3)])).table
    assert said(table) == {
        "operation": "delete",
        "added-position-delete-files": "1",
        "added-delete-files": "1",
        "added-position-deletes": "3",
        "changed-partition-count": "1",
    }
    assert (summary(table)["total-records"], summary(table)["total-position-deletes"]) == ("10", "3")


def test_merge_on_read_of_an_update(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    a = made.data("a")
    tables.commit(tables.load(), Append([a]))
    table = tables.commit(tables.load(), RowDelta([made.data("b", 3, 4)], [made.vector("d", a, count=2)])).table
    assert said(table) == {
        "operation": "overwrite",
        "added-data-files": "1",
        "added-delete-files": "1",
        "added-dvs": "1",
        "added-records": "2",
        "added-position-deletes": "2",
        "changed-partition-count": "1",
    }
    assert summary(table)["added-files-size"] == "50"  # of a vector its own bytes, not those of the Puffin file


def test_a_vector_takes_the_place_of_another(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a, b]))
    first = [made.vector("one", a, offset=4), made.vector("one", b, offset=44)]
    tables.commit(tables.load(), RowDelta((), first))
    table = tables.commit(tables.load(), RowDelta((), [made.vector("two", b, count=2)], (), [first[1]])).table
    assert said(table) == {
        "operation": "delete",
        "added-delete-files": "1",
        "removed-delete-files": "1",
        "added-dvs": "1",
        "removed-dvs": "1",
        "added-position-deletes": "2",
        "removed-position-deletes": "1",
        "changed-partition-count": "1",
    }
    # Of two vectors in one Puffin file only one went.
    vectors = {(Path(f.path).name, f.content_offset) for f in tables.files() if f.content_offset is not None}
    assert vectors == {("one.puffin", 4), ("two.puffin", 4)}


def test_copy_on_write(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a, b]))
    table = tables.commit(tables.load(), RowDelta([made.data("c", 0, 8)], (), [a])).table
    assert said(table) == {
        "operation": "overwrite",
        "added-data-files": "1",
        "deleted-data-files": "1",
        "added-records": "9",
        "deleted-records": "10",
        "changed-partition-count": "1",
    }
    assert live(tables) == {"b.parquet", "c.parquet"}


def test_whole_files_that_go(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a, b]))
    table = tables.commit(tables.load(), RowDelta((), (), [a])).table
    assert said(table) == {
        "operation": "delete",
        "deleted-data-files": "1",
        "deleted-records": "10",
        "changed-partition-count": "1",
    }
    deleted = [e for e in tables.entries() if e.status == EntryStatus.DELETED]
    assert [(e.data_file.path, e.snapshot_id, e.sequence_number) for e in deleted] == [
        (a.path, table.metadata.current_snapshot_id, 1)
    ]


def test_whole_files_and_positions_that_go_are_one_delete(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a, b]))
    table = tables.commit(tables.load(), RowDelta((), [made.positions("d", b)], [a])).table
    assert said(table)["operation"] == "delete"


def test_an_upsert(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    tables.commit(tables.load(), Append([made.data("a")]))
    table = tables.commit(tables.load(), RowDelta([made.data("b", 3, 4)], [made.equality("b", 3, 4)])).table
    assert said(table) == {
        "operation": "overwrite",
        "added-data-files": "1",
        "added-equality-delete-files": "1",
        "added-delete-files": "1",
        "added-records": "2",
        "added-equality-deletes": "2",
        "changed-partition-count": "1",
    }


def test_a_change_of_nothing(tables: Tables, made: MadeFiles) -> None:
    """Whoever asks for it gets a snapshot; that none is made is the statement's business."""
    tables.create(COLUMNS)
    tables.commit(tables.load(), Append([made.data("a")]))
    table = tables.commit(tables.load(), RowDelta()).table
    assert said(table) == {"operation": "overwrite", "changed-partition-count": "0"}
    assert len(table.metadata.snapshots) == 2
    assert live(tables) == {"a.parquet"}


# --- delete files -------------------------------------------------------------------------------------------------------


def test_vectors_go_with_their_data_files(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a, b]))
    vectors = [made.vector("d", a, offset=4), made.vector("d", b, offset=44)]
    tables.commit(tables.load(), RowDelta((), vectors))
    table = tables.commit(tables.load(), RowDelta((), (), [a])).table
    assert said(table)["removed-dvs"] == "1"
    assert [f.referenced_data_file for f in tables.files() if f.content_offset] == [b.path]


def test_delete_files_that_reach_nothing_are_dropped(tables: Tables, made: MadeFiles) -> None:
    """They are older than every data file: the copy-on-write keeps its own, the append behind it drops both."""
    tables.create(COLUMNS)
    a = made.data("a")
    tables.commit(tables.load(), Append([a]))
    tables.commit(tables.load(), RowDelta((), [made.positions("d", a)]))
    tables.commit(tables.load(), RowDelta((), [made.equality("k", 90, 99)]))
    table = tables.commit(tables.load(), RowDelta([made.data("b", 1, 9)], (), [a])).table
    assert said(table)["removed-position-delete-files"] == "1"
    assert "removed-equality-delete-files" not in said(table)
    assert live(tables) == {"b.parquet", "k-keys.parquet"}
    table = tables.commit(tables.load(), Append([made.data("c")])).table
    assert said(table) == {
        "operation": "append",
        "added-data-files": "1",
        "removed-equality-delete-files": "1",
        "removed-delete-files": "1",
        "added-records": "10",
        "removed-equality-deletes": "10",
        "changed-partition-count": "1",
    }
    assert live(tables) == {"b.parquet", "c.parquet"}
    assert not [m for m in manifests(tables) if m.content == ManifestContent.DELETES and m.has_live_files]


def test_delete_files_stay_while_one_old_data_file_does(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, [("data", IDENTITY)])
    x, y = made.data("x", at=("x",)), made.data("y", at=("y",))
    tables.commit(tables.load(), Append([x, y]))
    tables.commit(tables.load(), RowDelta((), [made.positions("d", x), made.positions("e", y)]))
    tables.commit(tables.load(), OverwritePartitions([made.data("z", at=("x",))]))
    tables.commit(tables.load(), Append([made.data("w", at=("x",))]))
    assert live(tables) == {"y.parquet", "z.parquet", "w.parquet", "e-deletes.parquet"}


def test_files_of_several_specs_in_one_commit(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, [("data", IDENTITY)])
    old = made.data("old", at=("x",))
    tables.commit(tables.load(), Append([old]))
    spec = PartitionSpec(1, (PartitionField(1, 1001, "id_bucket", bucket(8)),))
    tables.catalog.commit(tables.load(), [AddPartitionSpec(spec), SetDefaultSpec()])
    new = made.data("new", at=(3,), spec_id=1)
    tables.commit(tables.load(), Append([new]))
    delta = RowDelta([made.data("n", at=(5,), spec_id=1)], [made.positions("d", old), made.positions("e", new)])
    table = tables.commit(tables.load(), delta).table
    assert said(table)["changed-partition-count"] == "3"
    own = [m for m in manifests(tables) if m.added_snapshot_id == table.metadata.current_snapshot_id]
    assert sorted((m.content, m.spec_id) for m in own) == [(0, 1), (1, 0), (1, 1)]
    bounds = {(m.content, m.spec_id): m.partitions[0].lower for m in own if m.partitions}
    assert bounds == {(0, 1): b"\5\0\0\0", (1, 0): b"x", (1, 1): b"\3\0\0\0"}


# --- manifests ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("properties", "data", "deletes"),
    [
        ({"commit.manifest.min-count-to-merge": "3"}, 1, 1),
        ({"commit.manifest.min-count-to-merge": "3", "commit.manifest-merge.enabled": "false"}, 3, 3),
        ({"commit.manifest.min-count-to-merge": "3", "commit.manifest.target-size-bytes": "100"}, 3, 3),
        ({}, 3, 3),
    ],
)
def test_manifests_of_delete_files_are_merged_too(
    tables: Tables, made: MadeFiles, properties: dict[str, str], data: int, deletes: int
) -> None:
    tables.create(COLUMNS, (), properties)
    before = made.data("before")
    tables.commit(tables.load(), Append([before]))
    for i in range(1, 3):
        tables.commit(tables.load(), RowDelta([made.data(f"a{i}")], [made.positions(f"d{i}", before)]))
    tables.commit(tables.load(), RowDelta((), [made.positions("d3", before)]))
    found = manifests(tables)
    assert [sum(m.content == c for m in found) for c in (0, 1)] == [data, deletes]
    numbers = {Path(e.data_file.path).name: e.sequence_number for e in tables.entries()}
    assert numbers == {
        "before.parquet": 1,
        "a1.parquet": 2,
        "a2.parquet": 3,
        "d1-deletes.parquet": 2,
        "d2-deletes.parquet": 3,
        "d3-deletes.parquet": 4,
    }
    merged = [m for m in found if m.content == ManifestContent.DELETES and (m.existing_files_count or 0) > 0]
    assert [(m.min_sequence_number, m.sequence_number) for m in merged] == ([(2, 4)] if deletes == 1 else [])


def test_manifests_of_several_specs_are_merged_apart(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, [("data", IDENTITY)], {"commit.manifest.min-count-to-merge": "2"})
    old = made.data("old", at=("x",))
    tables.commit(tables.load(), Append([old]))
    spec = PartitionSpec(1, (PartitionField(1, 1001, "id_bucket", bucket(8)),))
    tables.catalog.commit(tables.load(), [AddPartitionSpec(spec), SetDefaultSpec()])
    new = made.data("new", at=(3,), spec_id=1)
    tables.commit(tables.load(), Append([new]))
    for i in range(3):
        tables.commit(tables.load(), RowDelta((), [made.positions(f"d{i}", old), made.positions(f"e{i}", new)]))
    found = [m for m in manifests(tables) if m.content == ManifestContent.DELETES]
    assert sorted((m.spec_id, m.added_files_count, m.existing_files_count) for m in found) == [(0, 1, 2), (1, 1, 2)]


def test_only_manifests_with_a_removed_file_are_written_anew(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    files = [made.data(f"a{i}") for i in range(4)]
    for f in files:
        tables.commit(tables.load(), Append([f]))
    before = {m.path for m in manifests(tables)}
    tables.commit(tables.load(), RowDelta((), (), [files[1]]))
    assert len({m.path for m in manifests(tables)} & before) == 3


# --- rows of v3 ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("merged", [False, True])
def test_row_ids(tables: Tables, made: MadeFiles, merged: bool) -> None:
    """What comes gets new ids, what stays keeps its own, in a manifest that was written anew or merged too."""
    tables.create(COLUMNS, (), {"commit.manifest.min-count-to-merge": "1" if merged else "100"}, version=3)
    a, b, c = made.data("a", 0, 9), made.data("b", 0, 4), made.data("c", 0, 2)
    tables.commit(tables.load(), Append([a, b]))
    tables.commit(tables.load(), Append([c]))
    delta = RowDelta([made.data("d", 0, 6), made.data("e", 0, 0)], [made.vector("v", c)], [a])
    table = tables.commit(tables.load(), delta).table.metadata
    first = {Path(f.path).name: f.first_row_id for f in tables.files()}
    assert (first["b.parquet"], first["c.parquet"], first["v.puffin"]) == (10, 15, None)
    ranges = sorted((f.first_row_id or 0, f.record_count) for f in tables.files() if f.content == 0)
    assert all(at + count <= following for (at, count), (following, _) in pairwise(ranges))
    assert {first["d.parquet"], first["e.parquet"]}.isdisjoint(range(18))
    snapshot = table.current_snapshot()
    assert snapshot is not None
    assert table.next_row_id == (snapshot.first_row_id or 0) + (snapshot.added_rows or 0)
    assert max(at + count for at, count in ranges) <= table.next_row_id
    for manifest in manifests(tables):
        assert (manifest.first_row_id is None) == (manifest.content == ManifestContent.DELETES)


def test_a_table_upgraded_to_v3_numbers_the_rows_that_stay(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a, b = made.data("a", 0, 9), made.data("b", 0, 4)
    tables.commit(tables.load(), Append([a, b]))
    tables.catalog.commit(tables.load(), [SetProperties({"format-version": "3"})])
    table = tables.commit(tables.load(), RowDelta([made.data("c", 0, 2)], (), [a])).table.metadata
    first = {Path(f.path).name: f.first_row_id for f in tables.files()}
    assert None not in first.values()
    assert len({first["b.parquet"], first["c.parquet"]}) == 2
    assert (table.snapshots[-1].first_row_id, table.snapshots[-1].added_rows, table.next_row_id) == (0, 8, 8)


@pytest.mark.parametrize("version", [1, 2, 3])
def test_sequence_numbers(tables: Tables, made: MadeFiles, version: int) -> None:
    tables.create(COLUMNS, version=version)
    a, b = made.data("a"), made.data("b")
    tables.commit(tables.load(), Append([a, b]))
    tables.commit(tables.load(), RowDelta([made.data("c")], (), [a]))
    numbers = {Path(e.data_file.path).name: (e.status, e.sequence_number) for e in tables.entries()}
    one, two = (0, 0) if version == 1 else (1, 2)
    assert numbers == {
        "a.parquet": (EntryStatus.DELETED, one),
        "b.parquet": (EntryStatus.EXISTING, one),
        "c.parquet": (EntryStatus.ADDED, two),
    }


# --- where it goes ------------------------------------------------------------------------------------------------------


def test_a_branch_follows_its_own_head_and_keeps_its_retention(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a, b = made.data("a"), made.data("b", 10, 19)
    start = tables.commit(tables.load(), Append([a, b])).snapshot
    ref = SnapshotRef(start.snapshot_id, min_snapshots_to_keep=7, max_ref_age_ms=1000)
    tables.catalog.commit(tables.load(), [SetSnapshotRef("b", ref)])
    on_main = tables.commit(tables.load(), RowDelta((), (), [b])).snapshot
    done = tables.commit(tables.load(), RowDelta((), (), [a]), Destination("b"))
    refs = done.table.metadata.refs
    assert done.snapshot.parent_id == start.snapshot_id
    assert refs["b"] == SnapshotRef(done.snapshot.snapshot_id, min_snapshots_to_keep=7, max_ref_age_ms=1000)
    assert done.table.metadata.current_snapshot_id == on_main.snapshot_id
    assert [e.snapshot_id for e in done.table.metadata.snapshot_log] == [start.snapshot_id, on_main.snapshot_id]
    assert live(tables) == {"a.parquet"}
    assert [m.deleted_files_count for m in manifests(tables, "b")] == [1]


def test_a_branch_may_be_made_by_its_first_commit(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    start = tables.commit(tables.load(), Append([made.data("a")])).snapshot
    with pytest.raises(BergError, match="no branch 'b'"):
        tables.commit(tables.load(), Append([made.data("lost")]), Destination("b"))
    assert not Path(made.folder / "lost.parquet").exists()
    done = tables.commit(tables.load(), Append([made.data("b")]), Destination("b", create=True))
    assert done.snapshot.parent_id == start.snapshot_id
    assert done.table.metadata.current_snapshot_id == start.snapshot_id
    again = tables.commit(tables.load(), Append([made.data("c")]), Destination("b", create=True))
    assert again.snapshot.parent_id == done.snapshot.snapshot_id


def test_a_branch_of_a_table_without_data(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    done = tables.commit(tables.load(), Append([made.data("a")]), Destination("b", create=True))
    assert done.snapshot.parent_id is None
    assert done.table.metadata.current_snapshot_id is None


def test_a_staged_snapshot_is_seen_by_nobody(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    start = tables.commit(tables.load(), Append([made.data("a")])).snapshot
    staged = Destination(staged=True)
    done = tables.commit(tables.load(), Append([made.data("b")], properties={"wap.id": "w1"}), staged)
    metadata = done.table.metadata
    assert (done.snapshot.parent_id, done.snapshot.summary["wap.id"]) == (start.snapshot_id, "w1")
    assert metadata.current_snapshot_id == start.snapshot_id
    assert [e.snapshot_id for e in metadata.snapshot_log] == [start.snapshot_id]
    assert (metadata.last_sequence_number, metadata.next_row_id) == (2, 20)
    after = tables.commit(tables.load(), Append([made.data("c")]))
    assert (after.snapshot.parent_id, after.snapshot.sequence_number) == (start.snapshot_id, 3)
    assert after.snapshot.first_row_id == 20


def test_a_tag_cannot_be_written(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    start = tables.commit(tables.load(), Append([made.data("a")])).snapshot
    tables.catalog.commit(tables.load(), [SetSnapshotRef("v1", SnapshotRef(start.snapshot_id, "tag"))])
    with pytest.raises(BergError, match="'v1' is a tag"):
        tables.commit(tables.load(), Append([made.data("b")]), Destination("v1"))


def test_a_branch_removed_meanwhile(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    start = tables.commit(tables.load(), Append([made.data("a")])).snapshot
    tables.catalog.commit(tables.load(), [SetSnapshotRef("b", SnapshotRef(start.snapshot_id))])
    table = tables.load()
    tables.catalog.commit(table, [RemoveSnapshotRef("b")])
    with pytest.raises(BergError, match="no branch 'b'"):
        tables.commit(table, Append([made.data("b")]), Destination("b"))
    assert not Path(made.folder / "b.parquet").exists()


def test_columns_that_come_with_the_rows(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    a = made.data("a")
    tables.commit(tables.load(), Append([a]))
    table = tables.load()
    schema = add_column(
        table.metadata.schema, NestedField(0, "more", IntegerType(), False), table.metadata.last_column_id
    )
    updates: Sequence[TableUpdate] = [AddSchema(schema), SetCurrentSchema()]
    done = tables.commit(table, RowDelta([made.data("b")], (), [a], updates=updates))
    assert [f.name for f in done.table.metadata.schema.fields] == ["id", "data", "more"]
    assert done.snapshot.schema_id == done.table.metadata.current_schema_id == 1


# --- failures -----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_any_more(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    a, b = made.data("a"), made.data("b", 10, 19)
    tables.commit(tables.load(), Append([a]))
    table = tables.load()
    before = tables.on_disk()
    vectors = [made.vector("d", a, offset=4), made.vector("d", b, offset=44)]
    with pytest.raises(StatementConflict, match=r"does not have the file \S+/b.parquet any more"):
        tables.commit(table, RowDelta([made.data("c")], vectors, [b]))
    # The data file and the Puffin file that were written are gone; what would have been removed is not.
    assert tables.on_disk() == before
    old = made.vector("old", a)
    with pytest.raises(StatementConflict, match=r"does not have the file \S+/old.puffin any more"):
        tables.commit(table, RowDelta((), [made.vector("d", a)], (), [old]))
    assert Path(old.path).exists()


class Answers:
    """A catalog that others are faster in than we, some times, and whose answers may get lost."""

    def __init__(self, tables: Tables, faster: int = 0, lost: bool = False) -> None:
        self._catalog: HadoopCatalog = tables.catalog
        self._faster, self._lost = faster, lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalog, name)

    def commit(self, base: LoadedTable, updates: Sequence[TableUpdate]) -> LoadedTable:
        if self._lost:
            raise CommitStateUnknown("the connection broke")
        if self._faster:
            self._faster -= 1
            self._catalog.commit(base, [SetProperties({"faster": str(self._faster)})])
        return self._catalog.commit(base, updates)


@pytest.mark.parametrize("jdbc", [False, True])
def test_a_retry_uses_all_files_again(tmp_path: Path, made: MadeFiles, jdbc: bool) -> None:
    tables = Tables(tmp_path / "warehouse", jdbc)
    tables.create(COLUMNS, (), FAST, version=3)
    a, b = made.data("a"), made.data("b")
    tables.commit(tables.load(), Append([a, b]))
    answers: Any = Answers(tables, faster=3)
    delta = RowDelta([made.data("c")], [made.vector("d", b)], [a])
    committed = commit_snapshot(answers, tables.load(), delta, tables.storage)
    assert live(tables) == {"b.parquet", "c.parquet", "d.puffin"}
    lists = [p for p in tables.on_disk() if f"snap-{committed.snapshot.snapshot_id}" in p]
    assert len(lists) == 1
    named = {Path(m.path).name for m in manifests(tables)} | {p.rpartition("/")[2] for p in lists}
    own = {p.rpartition("/")[2] for p in tables.on_disk() if "-m" in p} - named
    assert len(own) == 1  # of the first snapshot


@pytest.mark.parametrize("jdbc", [False, True])
def test_an_unknown_outcome_deletes_nothing(tmp_path: Path, made: MadeFiles, jdbc: bool) -> None:
    tables = Tables(tmp_path / "warehouse", jdbc)
    tables.create(COLUMNS, (), FAST, version=3)
    a, b = made.data("a"), made.data("b")
    tables.commit(tables.load(), Append([a, b]))
    answers: Any = Answers(tables, lost=True)
    delta = RowDelta([made.data("c")], [made.vector("d", b)], [a])
    before = tables.on_disk()
    with pytest.raises(CommitStateUnknown, match="not known"):
        commit_snapshot(answers, tables.load(), delta, tables.storage)
    assert before < tables.on_disk()


def test_a_commit_deletes_no_file_that_it_removes(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, version=3)
    a = made.data("a")
    tables.commit(tables.load(), Append([a]))
    tables.commit(tables.load(), RowDelta((), [made.vector("d", a)]))
    tables.commit(tables.load(), RowDelta([made.data("b")], (), [a]))
    assert live(tables) == {"b.parquet"}
    assert all(Path(made.folder / name).exists() for name in ("a.parquet", "b.parquet", "d.puffin"))


def test_a_statement_that_read_nothing_meets_no_rows(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS)
    table = tables.load()
    tables.commit(table, Append([made.data("a")]))
    upsert = RowDelta([made.data("b", 3, 4)], [made.equality("b", 3, 4)], read=AlwaysFalse())
    tables.commit(table, upsert)
    assert live(tables) == {"a.parquet", "b.parquet", "b-keys.parquet"}


def test_files_of_a_partition_by_a_column_that_was_dropped(tables: Tables, made: MadeFiles) -> None:
    tables.create(COLUMNS, [("data", IDENTITY)], version=3)
    x, y = made.data("x", at=("x",)), made.data("y", at=("y",))
    tables.commit(tables.load(), Append([x]))
    tables.commit(tables.load(), Append([y]))
    tables.catalog.commit(tables.load(), [AddPartitionSpec(PartitionSpec(1, ())), SetDefaultSpec()])
    schema = drop_column(tables.load().metadata.schema, ("data",))
    tables.catalog.commit(tables.load(), [AddSchema(schema), SetCurrentSchema()])
    vectors = [made.vector("v", x, offset=4), made.vector("v", y, offset=44)]
    tables.commit(tables.load(), RowDelta((), vectors))
    table = tables.load()
    tables.commit(table, Append([made.data("theirs", 50, 59, spec_id=1)]))
    tables.commit(table, RowDelta([made.data("z", 1, 9, spec_id=1)], (), [x], read=Compare("id", Op.EQ, 0)))
    assert live(tables) == {"y.parquet", "z.parquet", "theirs.parquet", "v.puffin"}
    assert [f.referenced_data_file for f in tables.files() if f.content_offset] == [y.path]
