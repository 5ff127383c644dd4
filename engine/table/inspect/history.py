"""snapshots, history, metadata_log_entries and refs: what the metadata file itself says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.types import (
    BooleanType,
    IntegerType,
    LongType,
    MapType,
    NestedField,
    StringType,
    TimestamptzType,
)
from bergsql.engine.table.inspect.model import rows_batches

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.inspect.model import Fields, Inspected

Row = Mapping[str, Any]

_FIELDS: dict[str, Fields] = {
    "snapshots": (
        NestedField(1, "committed_at", TimestamptzType(), True),
        NestedField(2, "snapshot_id", LongType(), True),
        NestedField(3, "parent_id", LongType(), False),
        NestedField(4, "operation", StringType(), False),
        NestedField(5, "manifest_list", StringType(), False),
        NestedField(6, "summary", MapType(7, StringType(), 8, StringType(), True), False),
    ),
    "history": (
        NestedField(1, "made_current_at", TimestamptzType(), True),
        NestedField(2, "snapshot_id", LongType(), True),
        NestedField(3, "parent_id", LongType(), False),
        NestedField(4, "is_current_ancestor", BooleanType(), True),
    ),
    "metadata_log_entries": (
        NestedField(1, "timestamp", TimestamptzType(), True),
        NestedField(2, "file", StringType(), True),
        NestedField(3, "latest_snapshot_id", LongType(), False),
        NestedField(4, "latest_schema_id", IntegerType(), False),
        NestedField(5, "latest_sequence_number", LongType(), False),
    ),
    "refs": (
        NestedField(1, "name", StringType(), True),
        NestedField(2, "type", StringType(), True),
        NestedField(3, "snapshot_id", LongType(), True),
        NestedField(4, "max_reference_age_in_ms", LongType(), False),
        NestedField(5, "min_snapshots_to_keep", IntegerType(), False),
        NestedField(6, "max_snapshot_age_in_ms", LongType(), False),
    ),
}


def fields(name: str, _: TableMetadata) -> Fields:
    """The columns of the metadata table ``name``: those of every table."""
    return _FIELDS[name]


def batches(name: str, inspected: Inspected, wanted: Fields) -> Iterator[pa.RecordBatch]:
    """Its rows; the snapshot that is looked at does not matter."""
    return rows_batches(wanted, _ROWS[name](inspected))


def _snapshots(inspected: Inspected) -> Iterator[Row]:
    for s in inspected.metadata.snapshots:
        summary = {k: v for k, v in s.summary.items() if k != "operation"} if s.summary else None
        yield {
            "committed_at": s.timestamp_ms * 1000,
            "snapshot_id": s.snapshot_id,
            "parent_id": s.parent_id,
            "operation": s.operation,
            "manifest_list": s.manifest_list,
            "summary": summary,
        }


def _history(inspected: Inspected) -> Iterator[Row]:
    metadata = inspected.metadata
    ancestors: set[int] = set()
    at = metadata.current_snapshot()
    while at is not None and at.snapshot_id not in ancestors:
        ancestors.add(at.snapshot_id)
        at = None if at.parent_id is None else metadata.snapshot(at.parent_id)
    for entry in metadata.snapshot_log:
        snapshot = metadata.snapshot(entry.snapshot_id)
        yield {
            "made_current_at": entry.timestamp_ms * 1000,
            "snapshot_id": entry.snapshot_id,
            "parent_id": None if snapshot is None else snapshot.parent_id,
            "is_current_ancestor": entry.snapshot_id in ancestors,
        }


def _metadata_log(inspected: Inspected) -> Iterator[Row]:
    metadata = inspected.metadata
    files = [(e.timestamp_ms, e.metadata_file) for e in metadata.metadata_log]
    for timestamp, file in (*files, (metadata.last_updated_ms, _written_location(inspected))):
        made = [e.snapshot_id for e in metadata.snapshot_log if e.timestamp_ms <= timestamp]
        latest = metadata.snapshot(made[-1]) if made else None
        yield {
            "timestamp": timestamp * 1000,
            "file": file,
            "latest_snapshot_id": made[-1] if made else None,
            "latest_schema_id": None if latest is None else latest.schema_id,
            "latest_sequence_number": None if latest is None else latest.sequence_number,
        }


def _written_location(inspected: Inspected) -> str:
    """Where the metadata file lies, in the way that the table's own location is written."""
    location = inspected.metadata_location
    return (
        f"file:{location}" if location.startswith("/") and inspected.metadata.location.startswith("file:") else location
    )


def _refs(inspected: Inspected) -> Iterator[Row]:
    for name, ref in inspected.metadata.refs.items():
        yield {
            "name": name,
            "type": ref.type.upper(),
            "snapshot_id": ref.snapshot_id,
            "max_reference_age_in_ms": ref.max_ref_age_ms,
            "min_snapshots_to_keep": ref.min_snapshots_to_keep,
            "max_snapshot_age_in_ms": ref.max_snapshot_age_ms,
        }


_ROWS = {"snapshots": _snapshots, "history": _history, "metadata_log_entries": _metadata_log, "refs": _refs}
