"""The columns of a file in a manifest, and their values as Arrow (table spec, "Data File Fields")."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.types import (
    BinaryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
)
from bergsql.engine.table.inspect.model import array_of
from bergsql.engine.table.metadata_columns import partition_type

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import StructType
    from bergsql.engine.table.datafile import DataFile, ManifestEntry
    from bergsql.engine.table.inspect.model import Fields
    from bergsql.engine.table.manifests import RawEntry

PARTITION = "partition"


def _counts(field_id: int, key_id: int, name: str, doc: str, value: IcebergType | None = None) -> NestedField:
    return NestedField(
        field_id, name, MapType(key_id, IntegerType(), key_id + 1, value or LongType(), True), False, doc
    )


def _list(field_id: int, element_id: int, name: str, element: IcebergType, doc: str) -> NestedField:
    return NestedField(field_id, name, ListType(element_id, element, True), False, doc)


_BEFORE_PARTITION = (
    NestedField(
        134, "content", IntegerType(), False, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"
    ),
    NestedField(100, "file_path", StringType(), True, "Location URI with FS scheme"),
    NestedField(101, "file_format", StringType(), True, "File format name: avro, orc, or parquet"),
    NestedField(141, "spec_id", IntegerType(), False, "Partition spec ID"),
)
_AFTER_PARTITION = (
    NestedField(103, "record_count", LongType(), True, "Number of records in the file"),
    NestedField(104, "file_size_in_bytes", LongType(), True, "Total file size in bytes"),
    _counts(108, 117, "column_sizes", "Map of column id to total size on disk"),
    _counts(109, 119, "value_counts", "Map of column id to total count, including null and NaN"),
    _counts(110, 121, "null_value_counts", "Map of column id to null value count"),
    _counts(137, 138, "nan_value_counts", "Map of column id to number of NaN values in the column"),
    _counts(125, 126, "lower_bounds", "Map of column id to lower bound", BinaryType()),
    _counts(128, 129, "upper_bounds", "Map of column id to upper bound", BinaryType()),
    NestedField(131, "key_metadata", BinaryType(), False, "Encryption key metadata blob"),
    _list(132, 133, "split_offsets", LongType(), "Splittable offsets"),
    _list(135, 136, "equality_ids", IntegerType(), "Equality comparison field IDs"),
    NestedField(140, "sort_order_id", IntegerType(), False, "Sort order ID"),
    NestedField(142, "first_row_id", LongType(), False, "The first row ID assigned to the first row in the data file"),
    NestedField(
        143,
        "referenced_data_file",
        StringType(),
        False,
        "Fully qualified location (URI with FS scheme) of a data file that all deletes reference",
    ),
    NestedField(144, "content_offset", LongType(), False, "The offset in the file where the content starts"),
    NestedField(145, "content_size_in_bytes", LongType(), False, "The length of referenced content stored in the file"),
)


def file_fields(metadata: TableMetadata) -> Fields:
    """The columns of a file of the table; without ``partition`` where no spec has a field."""
    partition = partition_type(metadata)
    doc = "Partition data tuple, schema based on the partition spec"
    between = (NestedField(102, PARTITION, partition, True, doc),) if partition.fields else ()
    return (*_BEFORE_PARTITION, *between, *_AFTER_PARTITION)


Entries = Sequence[tuple["RawEntry", "ManifestEntry"]]
"""Entries of one manifest: as they are written, and with what they inherit."""

_VALUES: dict[str, Callable[[Any, Any], object]] = {
    "content": lambda _, file: file.content,
    "file_path": lambda raw, _: raw.path,
    "file_format": lambda _, file: file.format,
    "spec_id": lambda _, file: file.spec_id,
    "record_count": lambda raw, _: raw.record_count,
    "file_size_in_bytes": lambda raw, _: raw.file_size,
    "column_sizes": lambda raw, _: raw.column_sizes,
    "value_counts": lambda raw, _: raw.value_counts,
    "null_value_counts": lambda raw, _: raw.null_counts,
    "nan_value_counts": lambda raw, _: raw.nan_counts,
    "lower_bounds": lambda raw, _: raw.lower_bounds,
    "upper_bounds": lambda raw, _: raw.upper_bounds,
    "key_metadata": lambda raw, _: raw.key_metadata,
    "split_offsets": lambda raw, _: _split_offsets(raw),
    "equality_ids": lambda raw, _: raw.equality_ids,
    "sort_order_id": lambda raw, _: raw.sort_order_id,
    "first_row_id": lambda _, file: file.first_row_id,
    "referenced_data_file": lambda raw, _: raw.referenced_data_file,
    "content_offset": lambda raw, _: raw.content_offset,
    "content_size_in_bytes": lambda raw, _: raw.content_size,
}


def _split_offsets(raw: RawEntry) -> tuple[int, ...] | None:
    """The offsets, unless they cannot be right; Iceberg then shows none."""
    offsets = raw.split_offsets
    return offsets if offsets and offsets[-1] < raw.file_size else None


class UnitedPartitions:
    """Partitions of all specs of a table as values of one struct, ``type``; a file's spec gives the fields it has."""

    def __init__(self, metadata: TableMetadata) -> None:
        self.type: StructType = partition_type(metadata)
        self._places = {
            spec.spec_id: [
                next((i for i, f in enumerate(spec.fields) if f.field_id == wanted.field_id), None)
                for wanted in self.type.fields
            ]
            for spec in metadata.specs
        }

    def of(self, file: DataFile) -> tuple[object, ...]:
        """The internal values of the file's partition, None in fields of other specs."""
        values = file.partition
        return tuple(None if place is None else values[place] for place in self._places[file.spec_id])


def file_column(field: NestedField, entries: Entries, partitions: UnitedPartitions) -> pa.Array:
    """The column ``field`` of :func:`file_fields` of the files of ``entries``."""
    if field.name == PARTITION:
        return array_of(field.type, [partitions.of(entry.data_file) for _, entry in entries])
    value = _VALUES[field.name]
    return array_of(field.type, [value(raw, entry.data_file) for raw, entry in entries])
