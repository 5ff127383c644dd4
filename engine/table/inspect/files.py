"""files, data_files, delete_files, entries, and the same of all snapshots: what the manifests say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StructType
from bergsql.engine.table.avro import corrupt
from bergsql.engine.table.datafile import EntryStatus, ManifestContent
from bergsql.engine.table.inspect.file_columns import UnitedPartitions, file_column, file_fields
from bergsql.engine.table.inspect.model import BATCH_ROWS, array_of, batch_of, struct_array
from bergsql.engine.table.inspect.readable_metrics import READABLE_METRICS, readable_metrics, readable_metrics_field
from bergsql.engine.table.manifests import entries_of, read_manifest_list, read_raw_entries

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.datafile import ManifestFile
    from bergsql.engine.table.inspect.file_columns import Entries
    from bergsql.engine.table.inspect.model import Fields, Inspected

DATA_FILE = "data_file"


def fields(name: str, metadata: TableMetadata) -> Fields:
    """The columns of the metadata table ``name``, which depend on the table's schema and partition specs."""
    columns = file_fields(metadata)
    if name.endswith("entries"):
        columns = (
            NestedField(0, "status", IntegerType(), True),
            NestedField(1, "snapshot_id", LongType(), False),
            NestedField(3, "sequence_number", LongType(), False),
            NestedField(4, "file_sequence_number", LongType(), False),
            NestedField(2, DATA_FILE, StructType(columns), True),
        )
    return (*columns, readable_metrics_field(metadata.schema, columns))


def batches(name: str, inspected: Inspected, wanted: Fields) -> Iterator[pa.RecordBatch]:
    """The files of one manifest after the other; ``entries`` have those that are deleted, too.

    :raises BergError: NOT_FOUND or CORRUPT, naming a manifest or a manifest list.
    """
    partitions = UnitedPartitions(inspected.metadata)
    of_entries = name.endswith("entries")
    for manifest in manifests_of(name, inspected):
        raw = read_raw_entries(inspected.storage, manifest, inspected.metadata)
        rows = zip(raw, entries_of(raw, manifest), strict=True)
        kept = rows if of_entries else (row for row in rows if row[1].status != EntryStatus.DELETED)
        while chunk := list(islice(kept, BATCH_ROWS)):
            yield _batch(chunk, manifest, inspected.metadata, partitions, wanted)


def manifests_of(name: str, inspected: Inspected) -> Iterator[ManifestFile]:
    """The manifests that the metadata table ``name`` is of, each once."""
    metadata = inspected.metadata
    content = ManifestContent.DATA if "data_files" in name else ManifestContent.DELETES
    every_content = "data_files" not in name and "delete_files" not in name
    current = () if inspected.snapshot is None else (inspected.snapshot,)
    seen: set[str] = set()
    for snapshot in metadata.snapshots if name.startswith("all_") else current:
        for manifest in read_manifest_list(inspected.storage, snapshot, metadata):
            if manifest.path not in seen and (every_content or manifest.content == content):
                seen.add(manifest.path)
                yield manifest


def _batch(
    entries: Entries, manifest: ManifestFile, metadata: TableMetadata, partitions: UnitedPartitions, wanted: Fields
) -> pa.RecordBatch:
    import pyarrow as pa

    def column(field: NestedField) -> pa.Array:
        if field.name == READABLE_METRICS:
            return readable_metrics(field, metadata.schema, entries)
        if field.name in ("status", "snapshot_id", "sequence_number", "file_sequence_number"):
            return array_of(field.type, [getattr(entry, field.name) for _, entry in entries])
        if field.name == DATA_FILE and isinstance(field.type, StructType):
            parts = [file_column(f, entries, partitions) for f in field.type.fields]
            return struct_array(field.type.fields, parts, [False] * len(entries))
        return file_column(field, entries, partitions)

    try:
        return batch_of({f.name: column(f) for f in wanted}, wanted)
    except (pa.ArrowException, OverflowError, TypeError) as error:  # values that the types of their fields do not have
        raise corrupt(f"Manifest {manifest.path}", str(error)) from error
