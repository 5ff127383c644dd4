"""position_deletes: the rows of position delete files, and the positions of deletion vectors."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StringType, StructType
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.file_groups import FILE_INDEX, Grouping, column_name
from bergsql.engine.table.inspect.file_columns import PARTITION, UnitedPartitions
from bergsql.engine.table.inspect.files import manifests_of
from bergsql.engine.table.inspect.model import RowStream, array_of, schema_of
from bergsql.engine.table.manifests import read_manifest
from bergsql.engine.table.metadata_columns import partition_type
from bergsql.engine.table.planning import FileTask
from bergsql.engine.table.projection import literal_sql
from bergsql.engine.table.puffin import read_vectors

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile, ManifestEntry
    from bergsql.engine.table.inspect.model import Fields, Inspected

_STORED = ("file_path", "pos", "row")
"""What a position delete file itself holds."""
_PUFFIN = "PUFFIN"
_FILE_PATH = NestedField(2147483546, "file_path", StringType(), True, "Path of a file in which a deleted row is stored")
_POS = NestedField(2147483545, "pos", LongType(), True, "Ordinal position of a deleted row in the data file")
_VECTOR_ROWS = tuple(
    NestedField(f.field_id, name, f.type, True)
    for f, name in (
        (NestedField(1, FILE_INDEX, LongType(), True), FILE_INDEX),
        (_FILE_PATH, column_name(_FILE_PATH)),
        (_POS, column_name(_POS)),
    )
)
"""What is streamed of deletion vectors."""
_VECTOR_BATCH = 1 << 16


def fields(_: str, metadata: TableMetadata) -> Fields:
    """The columns: ``partition`` where some spec has a field, where a vector lies from format version 3 on."""
    partition = partition_type(metadata)
    doc = "Partition that position delete row belongs to"
    row = StructType(metadata.schema.fields)
    found = [
        _FILE_PATH,
        _POS,
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
    entries = _delete_entries(inspected)
    partitions = UnitedPartitions(inspected.metadata)
    stored = tuple(f for f in wanted if f.name in _STORED)
    # Neither the table's name mapping nor its partitions say anything of delete files.
    own = replace(inspected.metadata, properties={}, specs=())
    tasks = [FileTask(e.data_file, 0) for e in entries if e.data_file.format != _PUFFIN]
    selects: list[str] = []
    variables: dict[str, object] = {}
    for number, group in enumerate(Grouping(own, inspected.storage, stored, Schema(0, stored)).groups(tasks)):
        name = f"{prefix}_files{number or ''}"
        variables[name] = group.source(inspected.storage, stored)
        variables[f"{name}_facts"] = _facts([t.data_file for t in group.tasks], wanted, partitions)
        selects.append(_joined(group.rows(name, stored, index=True), name, wanted))
    vectors = [e for e in entries if e.data_file.format == _PUFFIN]
    if vectors:
        name = f"{prefix}_vectors"
        variables[name] = RowStream(_VECTOR_ROWS, lambda: _vector_batches(inspected.storage, vectors))
        variables[f"{name}_facts"] = _facts([e.data_file for e in vectors], wanted, partitions)
        without = "".join(f", {literal_sql(f.type, None)} AS {column_name(f)}" for f in stored if f.name == "row")
        selects.append(_joined(f"SELECT *{without} FROM temp.main.{name}", name, wanted))
    empty = ", ".join(f"{literal_sql(f.type, None)} AS {identifier(f.name)}" for f in wanted)
    return " UNION ALL ".join(selects) or f"SELECT {empty} WHERE false", variables


def _joined(rows: str, name: str, wanted: Fields) -> str:
    """What files hold, ``rows``, beside what is known of the files."""
    items = (
        f"{f'r.{column_name(f)}' if f.name in _STORED else f'm.{identifier(f.name)}'} AS {identifier(f.name)}"
        for f in wanted
    )
    source = f"({rows}) AS r JOIN temp.main.{name}_facts AS m ON m.{FILE_INDEX} = r.{FILE_INDEX}"
    return f"SELECT {', '.join(items)} FROM {source}"


def _vector_batches(storage: Storage, vectors: Sequence[ManifestEntry]) -> Iterator[pa.RecordBatch]:
    """The positions of one vector after the other; NOT_FOUND or CORRUPT naming a Puffin file."""
    import pyarrow as pa

    for index, entry in enumerate(vectors):
        (positions,) = read_vectors(storage, [entry])
        places = array("I", positions)
        for start in range(0, len(places), _VECTOR_BATCH):
            chunk = pa.array(places[start : start + _VECTOR_BATCH], pa.int64())
            of_file = pa.repeat(pa.scalar(index, pa.int64()), len(chunk))
            path = pa.repeat(pa.scalar(entry.data_file.referenced_data_file, pa.string()), len(chunk))
            yield pa.RecordBatch.from_arrays([of_file, path, chunk], schema=schema_of(_VECTOR_ROWS))


def _delete_entries(inspected: Inspected) -> list[ManifestEntry]:
    """The position delete files and deletion vectors of the snapshot."""
    return [
        entry
        for manifest in manifests_of("delete_files", inspected)
        for entry in read_manifest(inspected.storage, manifest, inspected.metadata)
        if entry.live and entry.data_file.content == FileContent.POSITION_DELETES
    ]


def _facts(files: Sequence[DataFile], wanted: Fields, partitions: UnitedPartitions) -> pa.Table:
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
