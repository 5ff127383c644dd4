"""Where a snapshot goes: the main branch, another branch, or the table's list of snapshots alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import AddSnapshot, SetSnapshotRef, TableUpdate
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH, Snapshot, SnapshotRef

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata


class Destination(NamedTuple):
    """``branch`` gets the snapshot.

    ``create``: a branch that is not there is made, from the table's current snapshot (``spark.wap.branch``).
    ``staged``: the snapshot follows the branch's head, but the branch does not move: nobody sees it before it is
    cherry-picked (``spark.wap.id``, which the producer's properties give to its summary as ``wap.id``).
    """

    branch: str = MAIN_BRANCH
    create: bool = False
    staged: bool = False

    def head(self, metadata: TableMetadata) -> Snapshot | None:
        """The snapshot that a new one follows; None for a table without data.

        :raises BergError: NOT_FOUND for a branch that is not there; INVALID for a tag.
        """
        ref = metadata.refs.get(self.branch)
        if ref is None:
            if self.create or self.branch == MAIN_BRANCH:
                return metadata.current_snapshot()
            raise BergError(ErrorCode.NOT_FOUND, f"The table has no branch '{self.branch}'.")
        if not ref.is_branch:
            raise BergError(ErrorCode.INVALID, f"'{self.branch}' is a tag of the table: only a branch can be written.")
        return metadata.snapshot(ref.snapshot_id)

    def updates(self, metadata: TableMetadata, snapshot: Snapshot) -> list[TableUpdate]:
        """The updates that bring a snapshot there; what the branch says of retention stays."""
        if self.staged:
            return [AddSnapshot(snapshot)]
        ref = metadata.refs.get(self.branch)
        moved = SnapshotRef(snapshot.snapshot_id) if ref is None else replace(ref, snapshot_id=snapshot.snapshot_id)
        return [AddSnapshot(snapshot), SetSnapshotRef(self.branch, moved)]


MAIN = Destination()
