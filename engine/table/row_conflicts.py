"""What others may not have done to a table, for a statement that changes rows of it to be right as it was planned.

The rules are those of Iceberg's Java writers for Spark (OverwriteFiles and RowDelta, as SparkWrite and
SparkPositionDeltaWrite ask for them), and stricter where those would lose a change:

- A data file that is rewritten must still be there, and nobody may have deleted rows of it: they would come back. Java
  leaves out delete files that cannot hold rows of the statement's predicate; here every delete file counts.
- A data file that position deletes name must still be there. A statement that only deletes does not mind if others
  dropped it, or deleted other rows of it, unless both did by a deletion vector: a data file has one.
- Serializable isolation: nobody may have added rows that the statement might have read; for one that also writes rows,
  or reads the table in a subquery, nobody may have removed such either.

A snapshot of the operation ``replace`` changes no row: only the files that it rewrote matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import (
    DataFile,
    EntryStatus,
    FileContent,
    ManifestContent,
    ManifestEntry,
    PartitionKey,
    file_identity,
    partition_key,
)
from bergsql.engine.table.delete_index import PUFFIN, DeleteIndex, PathRange, named_paths
from bergsql.engine.table.history import REWRITE, Change, History, StatementConflict
from bergsql.engine.table.planning import plan_files
from bergsql.engine.table.predicate import AlwaysFalse
from bergsql.engine.table.producer import Operation
from bergsql.engine.table.read_point import ReadPoint

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.predicate import Predicate

_ADDED, _DELETED = EntryStatus.ADDED, EntryStatus.DELETED
_DATA, _DELETES = ManifestContent.DATA, ManifestContent.DELETES


class DeletedFrom:
    """The data files that some position deletes may name."""

    def __init__(self, deletes: Iterable[DataFile]) -> None:
        self._paths: set[str] = set()
        self._vectors: set[str] = set()
        self._wide: dict[PartitionKey, list[PathRange]] = {}
        self._partitions: set[PartitionKey] = set()
        for file in deletes:
            if file.content != FileContent.POSITION_DELETES:
                continue
            key = partition_key(file.spec_id, file.partition)
            self._partitions.add(key)
            named = named_paths(file)
            if named.only is None:
                self._wide.setdefault(key, []).append(named)
            else:
                self._paths.add(named.only)
                if file.format == PUFFIN:
                    self._vectors.add(named.only)

    def __bool__(self) -> bool:
        return bool(self._partitions)

    def may_hold(self, file: DataFile) -> bool:
        """Whether a data file may be among them."""
        if file.path in self._paths:
            return True
        return any(named.holds(file.path) for named in self._wide.get(partition_key(file.spec_id, file.partition), ()))

    def has_vector(self, path: str | None) -> bool:
        """Whether a data file gets a deletion vector."""
        return path in self._vectors

    def may_meet(self, delete: DataFile, unpartitioned: frozenset[int]) -> bool:
        """Whether a delete file of others may reach one of these data files."""
        key = partition_key(delete.spec_id, delete.partition)
        if delete.content == FileContent.EQUALITY_DELETES:
            return delete.spec_id in unpartitioned or key in self._partitions
        theirs = named_paths(delete)
        if theirs.only is not None and theirs.only in self._paths:
            return True
        if any(theirs.meets(named) for named in self._wide.get(key, ())):
            return True
        return theirs.only is None and key in self._partitions and any(map(theirs.holds, self._paths))


@dataclass(frozen=True)
class RowRules:
    """Checks one change of rows against what others did since.

    ``removed`` are data files that go, ``removed_deletes`` delete files that go, ``deletes`` delete files that come,
    ``writes`` says whether rows come as well, ``rereads`` whether the statement read the table beside the rows that it
    changes.
    """

    history: History
    removed: Sequence[DataFile]
    removed_deletes: Sequence[DataFile]
    deletes: Sequence[DataFile]
    writes: bool
    read: Predicate
    serializable: bool
    rereads: bool = False

    def check(self) -> None:
        """:raises StatementConflict: naming what is in the way, and the snapshot."""
        self._check_files_are_there()
        self._check_no_rows_come_back()
        if self._named:
            self._check_named_files()
        if self.serializable and not isinstance(self.read, AlwaysFalse):
            self._check_what_was_read()

    @cached_property
    def _named(self) -> DeletedFrom:
        return DeletedFrom(self.deletes)

    @cached_property
    def _unpartitioned(self) -> frozenset[int]:
        return frozenset(s.spec_id for s in self.history.current.specs if s.is_unpartitioned)

    def _check_files_are_there(self) -> None:
        replaced = frozenset(map(file_identity, self.removed_deletes))
        if replaced:
            for snapshot, entry in self.history.changes(_DELETES, _DELETED, rewrites=True):
                if file_identity(entry.data_file) in replaced:
                    did = "replaced a delete file that this statement replaces"
                    raise _conflict(did, entry.data_file, snapshot.snapshot_id)
        removed = {f.path for f in self.removed}
        if not removed and not self._named:
            return
        for snapshot, entry in self.history.changes(_DATA, _DELETED, rewrites=True):
            file = entry.data_file
            if file.path in removed:
                raise _conflict(f"{_did(snapshot)} a file that this statement changes", file, snapshot.snapshot_id)
            gone_for_good = snapshot.operation == Operation.DELETE and not self.writes
            if not gone_for_good and self._named.may_hold(file):
                raise _conflict(f"{_did(snapshot)} a file that this statement deletes from", file, snapshot.snapshot_id)

    def _check_no_rows_come_back(self) -> None:
        """What others deleted from files that are rewritten or dropped must not be lost."""
        if self.removed:
            deletes = list(self.history.changes(_DELETES, _ADDED))
            self._check_reach(deletes, self.removed, "deleted rows of {}, which this statement rewrites")

    def _check_named_files(self) -> None:
        """Two vectors of one data file cannot be; nor may rows that were written anew have been deleted before."""
        for snapshot, entry in self.history.changes(_DELETES, _ADDED, rewrites=True):
            file = entry.data_file
            if file.format == PUFFIN and self._named.has_vector(file.referenced_data_file):
                raise _conflict(
                    f"made a deletion vector of {file.referenced_data_file}, from which this statement deletes too",
                    file,
                    snapshot.snapshot_id,
                )
            if not self.writes or snapshot.operation == REWRITE:
                continue
            if self._named.may_meet(file, self._unpartitioned):
                raise _conflict("deleted rows where this statement does", file, snapshot.snapshot_id)

    def _check_what_was_read(self) -> None:
        for snapshot, entry in self.history.changes(_DATA, _ADDED, read=self.read):
            raise _conflict("added rows that this statement might have read", entry.data_file, snapshot.snapshot_id)
        if not self.writes and not self.rereads:
            return
        for snapshot, entry in self.history.changes(_DATA, _DELETED, read=self.read):
            raise _conflict("removed rows that this statement may have read", entry.data_file, snapshot.snapshot_id)
        deletes = list(self.history.changes(_DELETES, _ADDED, read=self.read))
        if deletes:
            self._check_reach(deletes, self._files_read(), "deleted rows that this statement may have read")

    def _files_read(self) -> list[DataFile]:
        """The data files that the statement might have read rows of."""
        base = self.history.base
        point = ReadPoint(self.history.to.head(base), base.schema)
        return [task.data_file for task in plan_files(base, point, self.read, self.history.storage).tasks]

    def _check_reach(self, deletes: Sequence[Change], files: Iterable[DataFile], did: str) -> None:
        """Refuse delete files that others added and that reach data files which the statement found."""
        index = DeleteIndex([entry for _, entry in deletes], self.history.current)
        snapshots = {id(entry): snapshot for snapshot, entry in deletes}
        for file in files:
            # Whatever others added since is newer than the file.
            for delete in index.for_file(ManifestEntry(EntryStatus.EXISTING, file, sequence_number=-1)):
                raise _conflict(did.replace("{}", file.path), delete.data_file, snapshots[id(delete)].snapshot_id)


def check_rows_fit(base: TableMetadata, current: TableMetadata, *, evolves: bool) -> None:
    """Refuse what others made of the table's definition since, where a change of rows does not fit.

    Other format versions have other delete files, and rows have ids from version 3 on.

    :raises StatementConflict: saying what changed.
    """
    if current.format_version != base.format_version:
        raise StatementConflict(f"The table became one of format version {current.format_version} meanwhile.")
    if evolves:
        same = current.schema.same_columns(base.schema) and current.last_column_id == base.last_column_id
        if not same or current.current_schema_id != base.current_schema_id:
            raise StatementConflict("Another writer changed the table's columns meanwhile, as this statement does.")


def _did(snapshot: Snapshot) -> str:
    return "rewrote" if snapshot.operation == REWRITE else "removed"


def _conflict(did: str, file: DataFile, snapshot_id: int) -> StatementConflict:
    return StatementConflict(f"Another writer {did} (file {file.path}, snapshot {snapshot_id}).")
