"""What of a table's history is read: a snapshot, and the schema that it is read with.

A snapshot or tag is read with the schema that the snapshot was written with, a branch with the table's current one
(Iceberg, "Spark Queries", "Time travel").
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata


class ReadPoint(NamedTuple):
    """``snapshot`` is None for a table without data."""

    snapshot: Snapshot | None
    schema: Schema


def current(metadata: TableMetadata) -> ReadPoint:
    """The table as it is now."""
    return ReadPoint(metadata.current_snapshot(), metadata.schema)


def at_snapshot(metadata: TableMetadata, snapshot_id: int) -> ReadPoint:
    """The table as a snapshot left it. Raises NOT_FOUND."""
    snapshot = metadata.snapshot(snapshot_id)
    if snapshot is None:
        raise BergError(ErrorCode.NOT_FOUND, f"The table has no snapshot {snapshot_id}.")
    return ReadPoint(snapshot, metadata.schema_for(snapshot))
