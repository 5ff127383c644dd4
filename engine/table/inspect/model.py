"""What the families of metadata tables share: what is looked into, and rows as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.metadata.types import (
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
    UUIDType,
    VariantType,
)
from bergsql.engine.table.arrow_stream import ArrowStream
from bergsql.engine.table.arrow_types import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage

Fields = tuple[NestedField, ...]
BATCH_ROWS = 1024
"""How many rows are made at a time, at most."""

_WITHOUT_VALUES = (UnknownType, VariantType, GeometryType, GeographyType)
"""Types whose bounds and values are not shown: all NULL."""


class Inspected(NamedTuple):
    """A table at a snapshot, which is None while it holds nothing."""

    metadata: TableMetadata
    metadata_location: str
    storage: Storage
    snapshot: Snapshot | None


def arrow_of(t: IcebergType) -> pa.DataType:
    """The Arrow type that DuckDB reads as what SQL sees of ``t``."""
    import pyarrow as pa

    match t:
        case UUIDType():
            return pa.uuid()
        case StructType(fields=fields):
            return pa.struct([pa.field(f.name, arrow_of(f.type)) for f in fields])
        case ListType():
            return pa.list_(arrow_of(t.element))
        case MapType():
            return pa.map_(arrow_of(t.key), arrow_of(t.value))
    return pa.null() if isinstance(t, _WITHOUT_VALUES) else arrow_type(t)


def array_of(t: IcebergType, values: Sequence[Any]) -> pa.Array:
    """Internal values (catalog/metadata/values.py) as Arrow; a struct's are tuples, a map's mappings."""
    import pyarrow as pa

    match t:
        case UUIDType():
            return pa.array([None if v is None else v.bytes for v in values], pa.uuid())
        case StructType(fields=fields):
            parts = [array_of(f.type, [None if v is None else v[i] for v in values]) for i, f in enumerate(fields)]
            return struct_array(fields, parts, [v is None for v in values])
        case MapType():
            return _map_array(t, values)
    if isinstance(t, _WITHOUT_VALUES):
        return pa.nulls(len(values))
    if isinstance(t, ListType) and not t.element.is_primitive:
        return _list_array(t, values)
    return pa.array(values, arrow_of(t))


def struct_array(fields: Fields, parts: Sequence[pa.Array], missing: Sequence[bool]) -> pa.Array:
    """Structs of ``parts``, NULL where ``missing``."""
    import pyarrow as pa

    if not fields:
        return pa.array([None if m else {} for m in missing], pa.struct([]))
    named = [pa.field(f.name, part.type) for f, part in zip(fields, parts, strict=True)]
    mask = pa.array(missing, pa.bool_()) if any(missing) else None
    return pa.StructArray.from_arrays(list(parts), fields=named, mask=mask)


def _offsets(values: Sequence[Any]) -> pa.Array:
    """Where each of ``values`` begins, None where it is NULL, and where the last ends."""
    import pyarrow as pa

    offsets: list[int | None] = []
    at = 0
    for v in values:
        offsets.append(None if v is None else at)
        at += 0 if v is None else len(v)
    return pa.array([*offsets, at], pa.int32())


def _map_array(t: MapType, values: Sequence[Mapping[Any, Any] | None]) -> pa.Array:
    import pyarrow as pa

    keys = array_of(t.key, [k for v in values if v for k in v])
    items = array_of(t.value, [x for v in values if v for x in v.values()])
    return pa.MapArray.from_arrays(_offsets(values), keys, items)


def _list_array(t: ListType, values: Sequence[Sequence[Any] | None]) -> pa.Array:
    import pyarrow as pa

    items = array_of(t.element, [x for v in values if v for x in v])
    return pa.ListArray.from_arrays(_offsets(values), items)


def batch_of(columns: Mapping[str, pa.Array], fields: Fields) -> pa.RecordBatch:
    """A batch of the columns ``fields``, which all are there."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([columns[f.name] for f in fields], schema=schema_of(fields))


def rows_batches(fields: Fields, rows: Iterator[Mapping[str, Any]]) -> Iterator[pa.RecordBatch]:
    """Rows of internal values by column as batches of ``fields``; what else they hold is left out."""
    from itertools import islice

    while chunk := list(islice(rows, BATCH_ROWS)):
        yield batch_of({f.name: array_of(f.type, [row[f.name] for row in chunk]) for f in fields}, fields)


def schema_of(fields: Fields) -> pa.Schema:
    """The Arrow schema of ``fields``."""
    import pyarrow as pa

    return pa.schema([pa.field(f.name, arrow_of(f.type)) for f in fields])


@dataclass(frozen=True)
class RowStream(ArrowStream):
    """Rows of internal values; ``made`` makes their batches."""

    fields: Fields
    made: Callable[[], Iterator[pa.RecordBatch]]

    def schema(self) -> pa.Schema:
        return schema_of(self.fields)

    def batches(self) -> Iterator[pa.RecordBatch]:
        return self.made()
