"""Rows that go and rows that come, in one snapshot: what DELETE, UPDATE and MERGE commit.

One producer for both ways of writing. Copy-on-write removes data files and adds their other rows anew; merge-on-read
adds delete files. Both may be in one change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import (
    DataFile,
    FileContent,
    FileIdentity,
    ManifestContent,
    ManifestFile,
    file_identity,
)
from bergsql.engine.table.history import StatementConflict
from bergsql.engine.table.overwrite import InPartitions
from bergsql.engine.table.predicate import AlwaysTrue, Predicate
from bergsql.engine.table.producer import Operation, Producer, Selection
from bergsql.engine.table.validate import check_not_replaced

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.history import History
    from bergsql.engine.table.manifests import ManifestColumns


class Isolation(StrEnum):
    """What a statement may miss of others: nothing, or rows that came to the table since it read it."""

    SERIALIZABLE = "serializable"
    SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class RowDelta(Producer):
    """``files`` and ``deletes`` are added; ``removed`` and ``removed_deletes`` go.

    Data files go by their path, delete files by path and ``content_offset``: a Puffin file may hold the vectors of
    many data files. The deletion vectors of removed data files go without being named. ``read`` is what the statement
    looked at in the table it changes, ``isolation`` how much others may have changed of it. ``rereads``: what it does
    to a row depends on other rows of the table.
    """

    deletes: Sequence[DataFile] = ()
    removed: Sequence[DataFile] = ()
    removed_deletes: Sequence[DataFile] = ()
    read: Predicate = field(default_factory=AlwaysTrue, kw_only=True)
    isolation: Isolation = field(default=Isolation.SERIALIZABLE, kw_only=True)
    rereads: bool = field(default=False, kw_only=True)
    empty: Operation = field(default=Operation.OVERWRITE, kw_only=True)
    """What the snapshot says where nothing changes."""

    @property
    def operation(self) -> Operation:
        """As Java's OverwriteFiles and RowDelta say it."""
        if not (self.files or self.deletes or self.removed or self.removed_deletes):
            return self.empty
        if self.files and not self.deletes and not self.removed and not self.removed_deletes:
            return Operation.APPEND
        if not self.files and (self.deletes or self.removed):
            return Operation.DELETE
        return Operation.OVERWRITE

    @property
    def added(self) -> Sequence[DataFile]:
        return [*self.files, *self.deletes]

    def selection(self, metadata: TableMetadata) -> Selection | None:
        if not self.removed and not self.removed_deletes:
            return None
        return NamedFiles(
            frozenset(f.path for f in self.removed),
            frozenset(map(file_identity, self.removed_deletes)),
            {
                ManifestContent.DATA: InPartitions.of(self.removed, metadata),
                ManifestContent.DELETES: InPartitions.of(self.removed_deletes, metadata),
            },
        )

    def validate(self, history: History) -> None:
        from bergsql.engine.table.row_conflicts import RowRules, check_rows_fit

        check_not_replaced(history)
        check_rows_fit(history.base, history.current, evolves=bool(self.updates))
        serializable = self.isolation is Isolation.SERIALIZABLE
        RowRules(
            history,
            self.removed,
            self.removed_deletes,
            self.deletes,
            bool(self.files),
            self.read,
            serializable,
            self.rereads,
        ).check()


@dataclass(frozen=True)
class NamedFiles(Selection):
    """Certain data files, and certain delete files; and the partitions that these are in."""

    data: frozenset[str]
    deletes: frozenset[FileIdentity]
    partitions: Mapping[int, InPartitions]
    """By the content of the manifests that list them."""

    def may_hold(self, manifest: ManifestFile, metadata: TableMetadata) -> bool:
        return self.partitions[manifest.content].may_hold(manifest, metadata)

    def may_take(self, columns: ManifestColumns) -> bool:
        return columns.manifest.content != ManifestContent.DATA or not self.data.isdisjoint(columns.paths())

    def takes(self, file: DataFile, metadata: TableMetadata) -> bool:  # noqa: ARG002
        if file.content == FileContent.DATA:
            return file.path in self.data
        return file_identity(file) in self.deletes

    def check_taken(self, gone: Sequence[DataFile], snapshot_id: int) -> None:
        data = {f.path for f in gone if f.content == FileContent.DATA}
        deletes = {file_identity(f) for f in gone if f.content != FileContent.DATA}
        missing = [*sorted(self.data - data), *(path for path, _ in self.deletes - deletes)]
        if missing:
            message = (
                f"The table does not have the file {missing[0]} any more, which this statement replaces "
                f"(snapshot {snapshot_id})."
            )
            raise StatementConflict(message)
