"""What others did to a table between the time when a statement read it and its commit.

Only manifests of the snapshots in between are read. Each snapshot is asked for its own changes: a later one may have
merged the manifests that tell them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.datafile import ManifestEntry
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_columns
from bergsql.engine.table.producer import Operation

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestFile
    from bergsql.engine.table.destination import Destination
    from bergsql.engine.table.predicate import Predicate

AGAIN = "Run the statement again: it will see the table as it is now."
REWRITE = Operation.REPLACE
"""The operation of a snapshot that only rewrote files: no row came or went."""


class StatementConflict(BergError):
    """Others did what makes a statement wrong as it was planned. On the table as it is now it may be right.

    Nothing was committed; what was written for it is deleted. ``table_uuid`` is the table's that it was planned for.
    """

    def __init__(self, message: str, *, hint: str = AGAIN) -> None:
        super().__init__(ErrorCode.CONFLICT, message, hint=hint)
        self.table_uuid: str | None = None


Change = tuple["Snapshot", ManifestEntry]
"""A file that a snapshot added or removed."""


@dataclass(frozen=True, slots=True)
class History:
    """A table when a statement read it (``base``) and now (``current``), and where ``to`` the statement commits."""

    base: TableMetadata
    current: TableMetadata
    to: Destination
    storage: Storage

    def snapshots_since(self) -> tuple[Snapshot, ...]:
        """The snapshots that came to the branch since, the latest first.

        :raises StatementConflict: when the branch was set back or replaced, so that nothing leads from then to now.
        """
        start = self.to.head(self.base)
        found: list[Snapshot] = []
        at = self.to.head(self.current)
        while start is None or at is None or at.snapshot_id != start.snapshot_id:
            if at is None:
                if start is None:
                    break
                raise StatementConflict(
                    f"The history of the table was changed meanwhile: snapshot {start.snapshot_id} is no longer in it."
                )
            found.append(at)
            if start is not None and at.parent_id == start.snapshot_id:  # which may be expired by now
                break
            at = None if at.parent_id is None else self.current.snapshot(at.parent_id)
        return tuple(found)

    def was_replaced(self) -> bool:
        """Whether the branch begins anew, as CREATE OR REPLACE TABLE makes it. One that was set back does not."""
        known = self._line(self.base)
        return bool(known) and known.isdisjoint(self._line(self.current))

    def _line(self, metadata: TableMetadata) -> set[int]:
        """The ids of the branch's snapshots, as far back as they are known."""
        found: set[int] = set()
        at = self.to.head(metadata)
        while at is not None:
            found.add(at.snapshot_id)
            if at.parent_id is None:
                break
            found.add(at.parent_id)  # which may be expired
            at = metadata.snapshot(at.parent_id)
        return found

    def changes(
        self,
        content: int,
        status: int,
        *,
        rewrites: bool = False,
        of: Callable[[ManifestFile], bool] | None = None,
        read: Predicate | None = None,
    ) -> Iterator[Change]:
        """The files of a kind that others added or removed since.

        ``rewrites``: those of snapshots too that changed no row. ``of`` leaves manifests out, ``read`` all files that
        cannot hold rows, or delete such, that the statement's predicate wanted.
        """
        from bergsql.engine.table.pruning import Pruner

        # Its columns are those of the time when it was read.
        pruner = None if read is None else Pruner(self.current, self.base.schema, read)
        for snapshot in self.snapshots_since():
            if snapshot.operation == REWRITE and not rewrites:
                continue
            manifests: Sequence[ManifestFile] = [
                m
                for m in read_manifest_list(self.storage, snapshot, self.current)
                if m.content == content
                and m.added_snapshot_id in (None, snapshot.snapshot_id)
                and (of is None or of(m))
            ]
            if pruner is not None:
                manifests = pruner.manifests(manifests, count=False)
            for manifest in manifests:
                columns = read_columns(self.storage, manifest, self.current)
                rows: Sequence[int] = columns.changed_by((snapshot.snapshot_id,), status)
                if pruner is not None:
                    rows = pruner.files(columns, rows)
                if rows:
                    yield from ((snapshot, entry) for entry in columns.entries(rows))
