"""partitions: what the files of each partition come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, TimestamptzType
from bergsql.engine.table.datafile import FileContent, PartitionKey, partition_key
from bergsql.engine.table.inspect.file_columns import PARTITION, UnitedPartitions
from bergsql.engine.table.inspect.model import rows_batches
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_columns
from bergsql.engine.table.metadata_columns import partition_type

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.datafile import DataFile, ManifestEntry
    from bergsql.engine.table.inspect.model import Fields, Inspected

_COUNTS = (
    NestedField(2, "record_count", LongType(), True, "Count of records in data files"),
    NestedField(3, "file_count", IntegerType(), True, "Count of data files"),
    NestedField(11, "total_data_file_size_in_bytes", LongType(), True, "Total size in bytes of data files"),
    NestedField(5, "position_delete_record_count", LongType(), True, "Count of records in position delete files"),
    NestedField(6, "position_delete_file_count", IntegerType(), True, "Count of position delete files"),
    NestedField(7, "equality_delete_record_count", LongType(), True, "Count of records in equality delete files"),
    NestedField(8, "equality_delete_file_count", IntegerType(), True, "Count of equality delete files"),
    NestedField(
        9, "last_updated_at", TimestamptzType(), False, "Commit time of snapshot that last updated this partition"
    ),
    NestedField(10, "last_updated_snapshot_id", LongType(), False, "Id of snapshot that last updated this partition"),
)


def fields(_: str, metadata: TableMetadata) -> Fields:
    """The columns; ``partition`` and ``spec_id`` only where some spec has a field."""
    partition = partition_type(metadata)
    if not partition.fields:
        return _COUNTS
    return (NestedField(1, PARTITION, partition, True), NestedField(4, "spec_id", IntegerType(), True), *_COUNTS)


@dataclass(slots=True)
class _Partition:
    partition: tuple[object, ...]
    spec_id: int = 0
    record_count: int = 0
    file_count: int = 0
    total_data_file_size_in_bytes: int = 0
    position_delete_record_count: int = 0
    position_delete_file_count: int = 0
    equality_delete_record_count: int = 0
    equality_delete_file_count: int = 0
    last_updated_at: int | None = None
    last_updated_snapshot_id: int | None = None

    def add(self, file: DataFile) -> None:
        self.spec_id = max(self.spec_id, file.spec_id)  # specs may share a partition; Iceberg shows any of them
        if file.content == FileContent.DATA:
            self.record_count += file.record_count
            self.file_count += 1
            self.total_data_file_size_in_bytes += file.file_size
        elif file.content == FileContent.POSITION_DELETES:
            self.position_delete_record_count += file.record_count
            self.position_delete_file_count += 1
        else:
            self.equality_delete_record_count += file.record_count
            self.equality_delete_file_count += 1

    def touch(self, timestamp: int, snapshot_id: int) -> None:
        """A snapshot that brought one of its files; ``timestamp`` is in microseconds."""
        if self.last_updated_at is None or timestamp > self.last_updated_at:
            self.last_updated_at, self.last_updated_snapshot_id = timestamp, snapshot_id


def batches(_: str, inspected: Inspected, wanted: Fields) -> Iterator[pa.RecordBatch]:
    """One row a partition that holds files, in the order of their manifests.

    :raises BergError: NOT_FOUND or CORRUPT, naming a manifest or a manifest list.
    """
    metadata = inspected.metadata
    partitions = UnitedPartitions(metadata)
    # Keys without their spec: specs may share a partition.
    found: dict[PartitionKey, _Partition] = {}
    for entry in _live_entries(inspected):
        values = partitions.of(entry.data_file.spec_id, entry.data_file.partition)
        partition = found.setdefault(partition_key(0, values), _Partition(values))
        partition.add(entry.data_file)
        snapshot = None if entry.snapshot_id is None else metadata.snapshot(entry.snapshot_id)
        if snapshot is not None:
            partition.touch(snapshot.timestamp_ms * 1000, snapshot.snapshot_id)
    return rows_batches(wanted, ({f.name: getattr(p, f.name) for f in wanted} for p in found.values()))


def _live_entries(inspected: Inspected) -> Iterator[ManifestEntry]:
    if inspected.snapshot is None:
        return
    for manifest in read_manifest_list(inspected.storage, inspected.snapshot, inspected.metadata):
        columns = read_columns(inspected.storage, manifest, inspected.metadata)
        yield from columns.entries(columns.live())
