"""Equality delete files (spec, "Equality Delete Files"): rows that go by their keys, wherever they are in older files.

They are written as data files of the key's columns are, with bounds of these, in the partitions of their rows: a file
reaches the data files of its own partition, and of an unpartitioned spec all of the table's. So what went into files
of an older spec is reached by delete files of that spec.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.table.datafile import DataFile, FileContent, ManifestContent
from bergsql.engine.table.manifest_lists import read_manifest_list
from bergsql.engine.table.row_rewrite import with_schema
from bergsql.engine.table.staging import DELETES
from bergsql.engine.table.writer import write_into

if TYPE_CHECKING:
    import duckdb

    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.properties import WriteProperties
    from bergsql.engine.table.staging import Staging


def key_of(schema: Schema) -> tuple[NestedField, ...]:
    """The columns of a table's key, in the table's order; none without one.

    :raises BergError: UNSUPPORTED for a key inside of a struct.
    """
    for field_id in schema.identifier_field_ids:
        if all(f.field_id != field_id for f in schema.fields):
            raise not_supported(f"Upserting by a field of a struct ('{schema.name_of(field_id)}')")
    return tuple(f for f in schema.fields if f.field_id in schema.identifier_field_ids)


def check_partitioned_by_key(schema: Schema, spec: PartitionSpec) -> None:
    """Refuse a partition field of a column that is not in the key.

    A row with the same key might be in another partition, where the delete file of the new one would not find it.

    :raises BergError: INVALID naming the column.
    """
    missing = _outside_of_key(schema, spec)
    if missing is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"{missing}, by which the table is partitioned, is not in the key: "
            "a row that is upserted might be in another partition.",
            hint="Make it a part of the PRIMARY KEY, or partition the table by columns of the key.",
        )


def used_specs(metadata: TableMetadata, head: Snapshot | None, storage: Storage) -> set[int]:
    """The ids of the specs that data files at ``head`` have."""
    listed = () if head is None else read_manifest_list(storage, head, metadata)
    return {m.spec_id for m in listed if m.content == ManifestContent.DATA and m.has_live_files}


def _outside_of_key(schema: Schema, spec: PartitionSpec, *, whole: bool = False) -> str | None:
    """A column that partitions are made of and that is not in the key, as a sentence begins with it.

    ``whole``: one that is not in the schema.
    """
    for field in spec.fields:
        if field.transform.kind is not TransformKind.VOID and field.source_id not in schema.identifier_field_ids:
            column = schema.name_of(field.source_id)
            if column and whole:
                continue
            return f"Column '{column}'" if column else f"The column of '{field.name}', which was dropped"
    return None


def reaching_specs(
    metadata: TableMetadata, head: Snapshot | None, storage: Storage, *, whole: bool = False
) -> tuple[PartitionSpec, ...]:
    """The specs to write delete files in, so that they reach every data file at ``head`` and of the current spec.

    ``whole``: the rows that go are known with all their columns, not by their keys alone.

    :raises BergError: INVALID where a file of an older spec lies in a partition that is not known.
    """
    used = used_specs(metadata, head, storage)
    specs = [s for s in metadata.specs if s.spec_id in used or s.spec_id == metadata.default_spec_id]
    everywhere = next((s for s in specs if s.is_unpartitioned), None)
    if everywhere is not None:
        return (everywhere,)
    for spec in specs:
        missing = _outside_of_key(metadata.schema, spec, whole=whole)
        if missing is not None:
            raise BergError(
                ErrorCode.INVALID,
                f"{missing}, by which older files of the table are partitioned, is not in the key: "
                "rows in them cannot be upserted.",
                hint="MERGE INTO changes rows wherever they are.",
            )
    return tuple(specs)


def write_equality_deletes(
    staging: Staging,
    cursor: duckdb.DuckDBPyConnection,
    sql: str,
    key: Sequence[NestedField],
    specs: Iterable[PartitionSpec],
    metadata: TableMetadata,
    storage: Storage,
    settings: WriteProperties,
    *,
    others: Sequence[NestedField] = (),
) -> list[DataFile]:
    """Write delete files of keys, in each of ``specs`` anew. ``sql`` gives the key's columns, in DuckDB's types.

    Behind them it gives the columns ``others``, which tell the partitions that the rows were in.

    What ``staging`` has in the making is thrown away; ``settings`` are those of delete files.
    """
    schema = Schema(metadata.schema.schema_id, (*key, *others))
    of_keys = replace(with_schema(metadata, schema), sort_orders=(UNSORTED,), default_sort_order_id=UNSORTED.order_id)
    ids = tuple(f.field_id for f in key)
    made: list[DataFile] = []
    for spec in specs:
        staging.clear()
        in_spec = replace(of_keys, default_spec_id=spec.spec_id)
        written = write_into(staging, cursor, sql, {}, in_spec, storage, settings, ending=DELETES)
        made += (replace(f, content=FileContent.EQUALITY_DELETES, equality_ids=ids) for f in written.files)
    return made
