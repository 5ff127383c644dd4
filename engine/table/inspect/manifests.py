"""manifests and all_manifests: what the manifest lists say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.partition_text import value_text
from bergsql.catalog.metadata.types import (
    BooleanType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    StructType,
    UnknownType,
)
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.table.avro import corrupt
from bergsql.engine.table.datafile import ManifestContent
from bergsql.engine.table.inspect.model import rows_batches
from bergsql.engine.table.manifest_lists import read_manifest_list

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.partition import PartitionField
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.table.datafile import FieldSummary, ManifestFile
    from bergsql.engine.table.inspect.model import Fields, Inspected

_COUNTS = (
    (5, "added_data_files_count", True),
    (6, "existing_data_files_count", True),
    (7, "deleted_data_files_count", True),
    (15, "added_delete_files_count", False),
    (16, "existing_delete_files_count", False),
    (17, "deleted_delete_files_count", False),
)


def fields(name: str, _: TableMetadata) -> Fields:
    """The columns of ``manifests`` or ``all_manifests``; in the latter more of them may be NULL, as in Iceberg."""
    of_all = name == "all_manifests"
    summary = StructType(
        (
            NestedField(10, "contains_null", BooleanType(), True),
            NestedField(11, "contains_nan", BooleanType(), of_all),
            NestedField(12, "lower_bound", StringType(), False),
            NestedField(13, "upper_bound", StringType(), False),
        )
    )
    return (
        NestedField(14, "content", IntegerType(), True),
        NestedField(1, "path", StringType(), True),
        NestedField(2, "length", LongType(), True),
        NestedField(3, "partition_spec_id", IntegerType(), not of_all),
        NestedField(4, "added_snapshot_id", LongType(), not of_all),
        *(NestedField(i, called, IntegerType(), not (of_all and of_data)) for i, called, of_data in _COUNTS),
        NestedField(8, "partition_summaries", ListType(9, summary, True), not of_all),
        *((NestedField(18, "reference_snapshot_id", LongType(), True),) if of_all else ()),
    )


def batches(name: str, inspected: Inspected, wanted: Fields) -> Iterator[pa.RecordBatch]:
    """The manifests of the snapshot, or of each snapshot that there is, in the order of their lists."""
    return rows_batches(wanted, _rows(name, inspected))


def _rows(name: str, inspected: Inspected) -> Iterator[Mapping[str, Any]]:
    metadata = inspected.metadata
    current = () if inspected.snapshot is None else (inspected.snapshot,)
    for snapshot in metadata.snapshots if name == "all_manifests" else current:
        for manifest in read_manifest_list(inspected.storage, snapshot, metadata):
            yield _row(manifest, metadata, snapshot.snapshot_id)


def _row(manifest: ManifestFile, metadata: TableMetadata, snapshot_id: int) -> Mapping[str, Any]:
    counts = (manifest.added_files_count, manifest.existing_files_count, manifest.deleted_files_count)
    of_data = manifest.content == ManifestContent.DATA
    nothing = (0, 0, 0)
    return {
        "content": manifest.content,
        "path": manifest.path,
        "length": manifest.length,
        "partition_spec_id": manifest.spec_id,
        "added_snapshot_id": manifest.added_snapshot_id,
        **dict(zip((c[1] for c in _COUNTS), (*counts, *nothing) if of_data else (*nothing, *counts), strict=True)),
        "partition_summaries": _summaries(manifest, metadata),
        "reference_snapshot_id": snapshot_id,
    }


def _summaries(manifest: ManifestFile, metadata: TableMetadata) -> list[tuple[object, ...]] | None:
    spec = metadata.spec_by_id(manifest.spec_id)
    if manifest.partitions is None or spec is None:
        return None
    try:
        return [_summary(s, part, metadata) for s, part in zip(manifest.partitions, spec.fields, strict=False)]
    except BergError as error:
        raise corrupt(f"What a manifest list says of {manifest.path}", error.message) from error


def _summary(summary: FieldSummary, part: PartitionField, metadata: TableMetadata) -> tuple[object, ...]:
    source = _source_type(part.source_id, metadata)
    return (
        summary.contains_null,
        summary.contains_nan,
        _bound_text(summary.lower, part, source),
        _bound_text(summary.upper, part, source),
    )


def _source_type(source_id: int, metadata: TableMetadata) -> IcebergType:
    """The type of a column that may be dropped by now."""
    for schema in (metadata.schema, *reversed(metadata.schemas)):
        field = schema.field(source_id)
        if field is not None:
            return field.type
    return UnknownType()


def _bound_text(bound: bytes | None, part: PartitionField, source: IcebergType) -> str | None:
    """A bound as a person reads it; ``null`` where there is none, as in Iceberg."""
    result = part.transform.result_type(source)
    if bound is None or isinstance(result, UnknownType):
        return "null" if bound is None else None
    return value_text(part.transform, source, from_bytes(result, bound))
