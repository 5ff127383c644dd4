"""files, data_files, delete_files, entries, and the same of all snapshots: what the manifests say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.types import IntegerType, LongType, NestedField, StructType
from bergsql.engine.table.avro import corrupt
from bergsql.engine.table.datafile import ManifestContent
from bergsql.engine.table.inspect.file_columns import FileRows, UnitedPartitions, file_column, file_fields
from bergsql.engine.table.inspect.model import BATCH_ROWS, array_of, batch_of, struct_array
from bergsql.engine.table.inspect.readable_metrics import readable_metrics, readable_metrics_field
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.manifests import read_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.table.datafile import ManifestFile
    from bergsql.engine.table.inspect.model import Fields, Inspected


def fields(name: str, metadata: TableMetadata) -> Fields:
    """The columns of the metadata table ``name``, which depend on the table's schema and partition specs."""
    columns = file_fields(metadata)
    if name.endswith("entries"):
        columns = (
            NestedField(0, "status", IntegerType(), True),
            NestedField(1, "snapshot_id", LongType(), False),
            NestedField(3, "sequence_number", LongType(), False),
            NestedField(4, "file_sequence_number", LongType(), False),
            NestedField(2, "data_file", StructType(columns), True),
        )
    return (*columns, readable_metrics_field(metadata.schema, columns))


def batches(name: str, inspected: Inspected, wanted: Fields) -> Iterator[pa.RecordBatch]:
    """The files of one manifest after the other; ``entries`` have those that are deleted, too.

    :raises BergError: NOT_FOUND or CORRUPT, naming a manifest or a manifest list.
    """
    partitions = UnitedPartitions(inspected.metadata)
    for manifest in manifests_of(name, inspected):
        columns = read_columns(inspected.storage, manifest, inspected.metadata)
        rows = range(columns.count) if name.endswith("entries") else columns.live()
        for start in range(0, len(rows), BATCH_ROWS):
            files = FileRows(columns, rows[start : start + BATCH_ROWS], partitions)
            yield _batch(files, inspected.metadata.schema, wanted)


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


def _batch(files: FileRows, schema: Schema, wanted: Fields) -> pa.RecordBatch:
    import pyarrow as pa

    def column(field: NestedField) -> pa.Array:
        match field.name:
            case "readable_metrics":
                return readable_metrics(field, schema, files)
            case "status":
                return array_of(field.type, files.fields(field.field_id)[0])
            case "snapshot_id" | "sequence_number" | "file_sequence_number":
                return array_of(field.type, [getattr(entry, field.name) for entry in files.entries])
            case "data_file":
                assert isinstance(field.type, StructType)
                parts = [file_column(f, files) for f in field.type.fields]
                return struct_array(field.type.fields, parts, [False] * len(files))
        return file_column(field, files)

    what = files.columns.what
    try:
        return batch_of({f.name: column(f) for f in wanted}, wanted)
    except BergError as error:  # a bound that is no value; others name the manifest themselves
        raise error if what in error.message else corrupt(what, error.message.rstrip(".")) from error
    except (pa.ArrowException, OverflowError, TypeError) as error:  # values that the types of their fields do not have
        raise corrupt(what, str(error)) from error
