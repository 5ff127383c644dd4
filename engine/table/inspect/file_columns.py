"""The columns of a file in a manifest, and their values as Arrow (table spec, "Data File Fields")."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
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
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.inspect.model import array_of
from bergsql.engine.table.metadata_columns import partition_type
from bergsql.engine.table.raw_maps import RawMap

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import StructType
    from bergsql.engine.table.datafile import ManifestEntry
    from bergsql.engine.table.inspect.model import Fields
    from bergsql.engine.table.manifests import ManifestColumns

PARTITION = "partition"
_FILE_SIZE = 104


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

    def of(self, spec_id: int, values: Sequence[object]) -> tuple[object, ...]:
        """A partition's internal values of a spec with None in the fields of others."""
        return tuple(None if place is None else values[place] for place in self._places[spec_id])


class FileRows:
    """Some files of a manifest, by their places in it. Only what is asked for is decoded."""

    def __init__(self, columns: ManifestColumns, rows: Sequence[int], partitions: UnitedPartitions) -> None:
        self.columns = columns
        self.rows = rows
        self.partitions = partitions

    def __len__(self) -> int:
        return len(self.rows)

    def fields(self, *numbers: int) -> list[list[Any]]:
        """The values of fields, by their ids, as they are written."""
        return self.columns.fields(numbers, self.rows)

    def maps(self, *numbers: int) -> list[list[dict[int, Any] | None]]:
        """The values of fields that are maps, decoded as a whole, which is fastest when all is looked at."""
        return [
            [m.decoded() if isinstance(m, RawMap) else None if m is None else dict(m) for m in column]
            for column in self.fields(*numbers)
        ]

    @cached_property
    def entries(self) -> list[ManifestEntry]:
        """The entries with what they inherit."""
        return self.columns.entries(self.rows)


def file_column(field: NestedField, files: FileRows) -> pa.Array:
    """The column ``field`` of :func:`file_fields`. CORRUPT where a value cannot be decoded."""
    return array_of(field.type, _values(field, files))


def _values(field: NestedField, files: FileRows) -> Sequence[Any]:
    spec_id = files.columns.manifest.spec_id
    match field.name:
        case "spec_id":
            return [spec_id] * len(files)
        case "first_row_id" if files.columns.manifest.first_row_id is not None:
            return [entry.data_file.first_row_id for entry in files.entries]
        case "split_offsets":
            # Those that cannot be right are not shown, as in Iceberg.
            offsets, sizes = files.fields(field.field_id, _FILE_SIZE)
            return [o if o and o[-1] < size else None for o, size in zip(offsets, sizes, strict=True)]
    if isinstance(field.type, MapType):
        return files.maps(field.field_id)[0]
    (values,) = files.fields(field.field_id)
    match field.name:
        case "content":
            return [value or FileContent.DATA for value in values]
        case "file_format":
            return [value.upper() for value in values]
        case "partition":
            return [files.partitions.of(spec_id, value) for value in values]
    return values
