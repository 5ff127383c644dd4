"""Tables made of manifests alone, for tests of planning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import LongType, NestedField, StringType
from bergsql.engine.table.datafile import DataFile, EntryStatus, ManifestContent, ManifestEntry
from bergsql.engine.table.manifest_writing import describe_manifest, encode_manifest, encode_manifest_list

SCHEMA = Schema(0, (NestedField(1, "id", LongType(), False), NestedField(2, "p", StringType(), False)))
PLAIN = PartitionSpec(0, ())
BY_P = PartitionSpec(1, (PartitionField(2, 1000, "p", Transform.parse("identity")),))
VOID = PartitionSpec(2, (PartitionField(2, 1000, "p", Transform.parse("void")),))


@dataclass
class Manifest:
    spec: PartitionSpec
    entries: Sequence[ManifestEntry]
    content: ManifestContent = ManifestContent.DATA
    sequence_number: int = 9


def metadata(folder: Path, *manifests: Manifest, missing: Sequence[int] = ()) -> TableMetadata:
    """A table whose current snapshot has these manifests; files of ``missing`` are deleted again."""
    listed = []
    for i, m in enumerate(manifests):
        data = encode_manifest(m.entries, m.spec, SCHEMA, 2, m.content, 1)
        path = folder / f"{uuid4()}.avro"
        if i not in missing:
            path.write_bytes(data)
        listed.append(
            describe_manifest(
                str(path),
                data,
                m.entries,
                m.spec,
                SCHEMA,
                snapshot_id=1,
                sequence_number=m.sequence_number,
                content=m.content,
            )
        )
    snap = folder / f"snap-{uuid4()}.avro"
    snap.write_bytes(encode_manifest_list(listed, 1, None, 9, 2))
    return TableMetadata(
        format_version=2,
        table_uuid=str(uuid4()),
        location=str(folder),
        last_sequence_number=9,
        last_updated_ms=0,
        last_column_id=2,
        schemas=(SCHEMA,),
        current_schema_id=0,
        specs=(PLAIN, BY_P, VOID),
        default_spec_id=0,
        last_partition_id=1000,
        sort_orders=(),
        default_sort_order_id=0,
        properties={},
        current_snapshot_id=1,
        snapshots=(Snapshot(1, None, 9, 0, str(snap), {}, 0),),
        snapshot_log=(),
        metadata_log=(),
        refs={},
    )


def entry(file: DataFile, sequence: int, status: EntryStatus = EntryStatus.EXISTING) -> ManifestEntry:
    return ManifestEntry(status, file, 1, sequence, sequence)


def data(path: str, p: str | None = None, spec: PartitionSpec = BY_P) -> DataFile:
    return DataFile(path, 10, 100, partition=(p,) if spec.fields else (), spec_id=spec.spec_id)
