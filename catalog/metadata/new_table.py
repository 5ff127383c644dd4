"""The first metadata of a table, and what replaces a table's definition in place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bergsql.catalog import clock
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import (
    AddPartitionSpec,
    AddSchema,
    AddSortOrder,
    RemoveSnapshotRef,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetProperties,
    TableUpdate,
)
from bergsql.catalog.metadata.partition import FIRST_PARTITION_ID, PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema, assign_fresh_ids, assign_ids_like
from bergsql.catalog.metadata.schema_rules import check_schema
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH
from bergsql.catalog.metadata.sort import UNSORTED, SortOrder
from bergsql.catalog.metadata.table_metadata import MAX_FORMAT_VERSION, TableMetadata
from bergsql.catalog.metadata.transforms import VOID

FORMAT_VERSION = "format-version"
DEFAULT_FORMAT_VERSION = 2

PERSISTED_DEFAULTS = {"write.parquet.compression-codec": "zstd"}
"""Properties that Iceberg 1.4 and later write into every new table, so that later defaults do not change it."""

RESERVED = frozenset(
    {
        FORMAT_VERSION,
        "uuid",
        "snapshot-count",
        "current-snapshot-summary",
        "current-snapshot-id",
        "current-snapshot-timestamp-ms",
        "current-schema",
        "default-partition-spec",
        "default-sort-order",
    }
)
"""Keys that other engines show among the properties, though they are not stored there."""


def check_not_reserved(keys: Iterable[str]) -> None:
    """Refuse keys that cannot be properties of a table."""
    for key in keys:
        if key in RESERVED:
            raise BergError(ErrorCode.OPTION, f"'{key}' is not a property that can be set or removed.")


def parse_format_version(text: str) -> int:
    """The value of the property ``format-version``.

    :raises BergError: OPTION, when there is no such version.
    """
    if not (text.isascii() and text.isdigit()):
        raise BergError(ErrorCode.OPTION, f"'{text}' is not a value of '{FORMAT_VERSION}': it takes 1, 2 or 3.")
    version = int(text)
    check_format_version(version)
    return version


def check_format_version(version: int) -> None:
    """Refuse a version that there is not."""
    if not 1 <= version <= MAX_FORMAT_VERSION:
        raise BergError(ErrorCode.OPTION, f"There is no format version {version}: '{FORMAT_VERSION}' takes 1, 2 or 3.")


def new_table_metadata(
    schema: Schema,
    spec: PartitionSpec,
    order: SortOrder,
    location: str,
    properties: Mapping[str, str],
    format_version: int = DEFAULT_FORMAT_VERSION,
    *,
    now_ms: int | None = None,
) -> TableMetadata:
    """The metadata of a table without data.

    All ids are new (columns from 1, partition fields from 1000); ``spec`` and ``order`` refer to the ids of ``schema``
    as given. The property ``format-version`` decides over ``format_version`` and is not stored.
    """
    from uuid import uuid4

    kept = dict(properties)
    version = parse_format_version(kept.pop(FORMAT_VERSION, str(format_version)))
    check_not_reserved(kept)
    fresh, last_column_id = assign_fresh_ids(schema)
    check_schema(fresh, version)
    fields = tuple(
        replace(f, source_id=_moved(f.source_id, schema, fresh), field_id=FIRST_PARTITION_ID + i)
        for i, f in enumerate(spec.fields)
    )
    new_spec = PartitionSpec(0, fields)
    new_order = _moved_order(order, schema, fresh)
    return TableMetadata(
        format_version=version,
        table_uuid=str(uuid4()),
        location=location.rstrip("/"),
        last_sequence_number=0,
        last_updated_ms=clock.now_ms() if now_ms is None else now_ms,
        last_column_id=last_column_id,
        schemas=(fresh,),
        current_schema_id=0,
        specs=(new_spec,),
        default_spec_id=0,
        last_partition_id=new_spec.last_field_id,
        sort_orders=(new_order,),
        default_sort_order_id=new_order.order_id,
        properties={**kept, **{k: v for k, v in PERSISTED_DEFAULTS.items() if k not in kept}},
        current_snapshot_id=None,
        snapshots=(),
        snapshot_log=(),
        metadata_log=(),
        refs={},
    )


def _moved(field_id: int, given: Schema, fresh: Schema) -> int:
    """The id that the field has in ``fresh``, found by its name."""
    name = given.name_of(field_id)
    moved = None if name is None else fresh.find(name)
    if moved is None:
        raise BergError(ErrorCode.INVALID, f"The table has no column with the id {field_id} to partition or sort by.")
    return moved.field_id


def _moved_order(order: SortOrder, given: Schema, fresh: Schema) -> SortOrder:
    if order.is_unsorted:
        return UNSORTED
    return SortOrder(1, tuple(replace(f, source_id=_moved(f.source_id, given, fresh)) for f in order.fields))


def replacement_updates(
    base: TableMetadata,
    schema: Schema,
    spec: PartitionSpec,
    order: SortOrder,
    location: str | None,
    properties: Mapping[str, str],
) -> list[TableUpdate]:
    """The updates that give a table another definition and no data, and keep its history (REPLACE TABLE).

    Columns that keep their dotted name keep their id, and a partition field that is equal to an earlier one has that
    one's id. ``properties`` are added to those of the table. Behind these updates a snapshot may be added; its parent
    is None.
    """
    fresh, _ = assign_ids_like(schema, base.schema, base.last_column_id)
    fields = tuple(replace(f, source_id=_moved(f.source_id, schema, fresh)) for f in spec.fields)
    return [
        RemoveSnapshotRef(MAIN_BRANCH),
        *([SetProperties(dict(properties))] if properties else []),
        AddSchema(fresh),
        SetCurrentSchema(),
        AddPartitionSpec(_reassigned(base, fields)),
        SetDefaultSpec(),
        AddSortOrder(_moved_order(order, schema, fresh)),
        SetDefaultSortOrder(),
        *([SetLocation(location.rstrip("/"))] if location else []),
    ]


def _reassigned(base: TableMetadata, fields: tuple[PartitionField, ...]) -> PartitionSpec:
    """The fields with the ids that they would have had if the table's specs had been evolved to them."""
    if base.format_version > 1:
        known = {(f.source_id, f.transform): f.field_id for s in reversed(base.specs) for f in s.fields}
        last = base.last_partition_id
        out = []
        for f in fields:
            field_id = known.get((f.source_id, f.transform))
            if field_id is None:
                last += 1
                field_id = last
            out.append(replace(f, field_id=field_id))
        return PartitionSpec(0, tuple(out))
    # In v1 the position of a field is its identity: what is gone stays as a void transform.
    wanted = {(f.source_id, f.transform): f for f in fields}
    out = []
    for old in base.spec.fields:
        kept = wanted.pop((old.source_id, old.transform), None)
        if kept is not None:
            out.append(replace(old, name=kept.name))
        else:
            out.append(replace(old, transform=VOID, name=_unused_name(old, fields)))
    first = FIRST_PARTITION_ID + len(out)
    out += [replace(f, field_id=first + i) for i, f in enumerate(wanted.values())]
    return PartitionSpec(0, tuple(out))


def _unused_name(gone: PartitionField, fields: tuple[PartitionField, ...]) -> str:
    taken = any(f.name == gone.name for f in fields)
    return f"{gone.name}_{gone.field_id}" if taken else gone.name
