"""position_deletes: the rows of position delete files, and the positions of deletion vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import not_supported
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StringType, StructType
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.datafile import EntryStatus, FileContent
from bergsql.engine.table.file_groups import FILE_INDEX, Grouping, column_name
from bergsql.engine.table.inspect.file_columns import PARTITION, UnitedPartitions
from bergsql.engine.table.inspect.files import manifests_of
from bergsql.engine.table.inspect.model import array_of
from bergsql.engine.table.manifests import read_manifest
from bergsql.engine.table.metadata_columns import partition_type
from bergsql.engine.table.planning import FileTask
from bergsql.engine.table.projection import literal_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.file_groups import FileGroup
    from bergsql.engine.table.inspect.model import Fields, Inspected

_STORED = ("file_path", "pos", "row")
"""What a position delete file itself holds."""
_PUFFIN = "PUFFIN"


def fields(_: str, metadata: TableMetadata) -> Fields:
    """The columns: ``partition`` where some spec has a field, where a vector lies from format version 3 on."""
    partition = partition_type(metadata)
    doc = "Partition that position delete row belongs to"
    row = StructType(metadata.schema.fields)
    found = [
        NestedField(2147483546, "file_path", StringType(), True, "Path of a file in which a deleted row is stored"),
        NestedField(2147483545, "pos", LongType(), True, "Ordinal position of a deleted row in the data file"),
        NestedField(2147483544, "row", row, False, "Deleted row values"),
        *((NestedField(2147483642, PARTITION, partition, True, doc),) if partition.fields else ()),
        NestedField(2147483643, "spec_id", IntegerType(), True, "Spec ID used to track the file containing a row"),
        NestedField(2147483646, "delete_file_path", StringType(), True, "Path of the file in which a row is stored"),
    ]
    if metadata.format_version >= 3:
        found += [
            NestedField(
                2147483641, "content_offset", LongType(), False, "The offset in the DV where the content starts"
            ),
            NestedField(2147483640, "content_size_in_bytes", LongType(), False, "The length in bytes of the DV blob"),
        ]
    return tuple(found)


def scan_sql(inspected: Inspected, wanted: Fields, prefix: str) -> tuple[str, dict[str, object]]:
    """A SELECT of the columns ``wanted``, and the variables that it reads, whose names begin with ``prefix``.

    :raises BergError: NOT_FOUND or CORRUPT, naming a manifest or a manifest list.
    """
    files = _delete_files(inspected)
    partitions = UnitedPartitions(inspected.metadata)
    stored = tuple(f for f in wanted if f.name in _STORED)
    grouping = Grouping(inspected.metadata, inspected.storage, stored, Schema(0, stored))
    if any(file.format == _PUFFIN for file in files):
        raise not_supported("The metadata table 'position_deletes' of a table with deletion vectors")
    tasks = [FileTask(file, 0) for file in files]
    selects, variables = [], {}
    for number, group in enumerate(grouping.groups(tasks)):
        name = f"{prefix}_files{number or ''}"
        variables[name] = group.source(inspected.storage, stored)
        variables[f"{name}_facts"] = facts_of([t.data_file for t in group.tasks], wanted, partitions)
        selects.append(_group_sql(group, name, stored, wanted))
    empty = ", ".join(f"{literal_sql(f.type, None)} AS {identifier(f.name)}" for f in wanted)
    return " UNION ALL ".join(selects) or f"SELECT {empty} WHERE false", variables


def _group_sql(group: FileGroup, name: str, stored: Fields, wanted: Fields) -> str:
    rows = group.rows(name, stored, index=True)
    of_rows = {f.name: f"r.{column_name(f)}" for f in stored}
    items = (f"{of_rows.get(f.name) or f'm.{identifier(f.name)}'} AS {identifier(f.name)}" for f in wanted)
    source = f"({rows}) AS r JOIN temp.main.{name}_facts AS m ON m.{FILE_INDEX} = r.{FILE_INDEX}"
    return f"SELECT {', '.join(items)} FROM {source}"


def _delete_files(inspected: Inspected) -> list[DataFile]:
    """The position delete files and deletion vectors of the snapshot."""
    return [
        entry.data_file
        for manifest in manifests_of("delete_files", inspected)
        for entry in read_manifest(inspected.storage, manifest, inspected.metadata)
        if entry.status != EntryStatus.DELETED and entry.data_file.content == FileContent.POSITION_DELETES
    ]


def facts_of(files: Sequence[DataFile], wanted: Fields, partitions: UnitedPartitions) -> pa.Table:
    """What is known of the files themselves, a row each: their places among ``files`` and the columns of ``wanted``."""
    import pyarrow as pa

    values: dict[str, list[Any]] = {
        PARTITION: [partitions.of(file.spec_id, file.partition) for file in files],
        "spec_id": [file.spec_id for file in files],
        "delete_file_path": [file.path for file in files],
        "content_offset": [file.content_offset for file in files],
        "content_size_in_bytes": [file.content_size for file in files],
    }
    columns = {f.name: array_of(f.type, values[f.name]) for f in wanted if f.name in values}
    return pa.table({FILE_INDEX: pa.array(range(len(files)), pa.int64()), **columns})
