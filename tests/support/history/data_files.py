"""Writes rows as other engines' data and delete files hold them: Parquet, Avro and ORC, with field ids or without.

The writers are pyarrow's and fastavro's: nothing of the engine's reading is in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import fastavro
import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq

from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
)
from bergsql.catalog.metadata.values import to_internal
from bergsql.engine.table.orc_data import nulls_below

FORMATS = ("parquet", "avro", "orc")
Row = Mapping[int, Any]
_ARROW: Mapping[type[IcebergType], pa.DataType] = {
    BooleanType: pa.bool_(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
    DateType: pa.date32(),
    TimeType: pa.time64("us"),
    TimestampType: pa.timestamp("us"),
    TimestamptzType: pa.timestamp("us", "UTC"),
    TimestampNsType: pa.timestamp("ns"),
    TimestamptzNsType: pa.timestamp("ns", "UTC"),
    StringType: pa.string(),
    BinaryType: pa.binary(),
    UUIDType: pa.binary(16),
}
_ORC: Mapping[type[IcebergType], tuple[pa.DataType, dict[str, str]]] = {
    TimeType: (pa.int64(), {"iceberg.long-type": "TIME"}),
    TimestampType: (pa.timestamp("ns"), {"iceberg.timestamp-unit": "MICROS"}),
    TimestamptzType: (pa.timestamp("ns", "UTC"), {"iceberg.timestamp-unit": "MICROS"}),
    TimestampNsType: (pa.timestamp("ns"), {"iceberg.timestamp-unit": "NANOS"}),
    TimestamptzNsType: (pa.timestamp("ns", "UTC"), {"iceberg.timestamp-unit": "NANOS"}),
    UUIDType: (pa.binary(), {"iceberg.binary-type": "UUID"}),
}
_AVRO: Mapping[type[IcebergType], Any] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "long", "logicalType": "time-micros"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    TimestampNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    TimestamptzNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    StringType: "string",
    BinaryType: "bytes",
}


def write_file(
    path: Path, file_format: str, fields: Sequence[NestedField], rows: Sequence[Row], *, ids: bool = True
) -> None:
    """Write ``rows`` (values by field id) with the columns ``fields``; without ``ids`` only their names say which."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # A column of unknown type holds nothing but NULL and is not stored.
    fields = [f for f in fields if not isinstance(f.type, UnknownType)]
    if file_format == "avro":
        _write_avro(path, fields, rows, ids)
        return
    in_orc = file_format == "orc"
    schema = pa.schema([_field(f, ids, in_orc) for f in fields])
    arrays = [
        pa.array([_stored(f.type, row.get(f.field_id), in_orc) for row in rows], t.type)
        for f, t in zip(fields, schema, strict=True)
    ]
    if in_orc:
        arrays = [nulls_below(a) for a in arrays]
        orc.write_table(pa.Table.from_arrays(arrays, schema=schema), path)
    else:
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), path, row_group_size=4)


def _field(f: NestedField, ids: bool, in_orc: bool) -> pa.Field:
    kind, metadata = _arrow(f.type, ids, in_orc)
    if ids:
        metadata = {**metadata, "iceberg.id" if in_orc else "PARQUET:field_id": str(f.field_id)}
    return pa.field(f.name, kind, not f.required, metadata or None)


def _arrow(kind: IcebergType, ids: bool, in_orc: bool) -> tuple[pa.DataType, dict[str, str]]:
    def part(f: NestedField) -> pa.Field:
        return _field(f, ids, in_orc)

    match kind:
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale), {}
        case FixedType(length):
            return (
                (pa.binary(), {"iceberg.binary-type": "FIXED", "iceberg.length": str(length)})
                if in_orc
                else (pa.binary(length), {})
            )
        case StructType(fields):
            return pa.struct([part(f) for f in fields if not isinstance(f.type, UnknownType)]), {}
        case ListType():
            return pa.list_(part(kind.element_field)), {}
        case MapType():
            return pa.map_(part(kind.key_field), part(kind.value_field)), {}
    if in_orc and type(kind) in _ORC:
        return _ORC[type(kind)]
    return _ARROW[type(kind)], {}


def _stored(kind: IcebergType, value: Any, in_orc: bool) -> Any:
    """The value as Arrow takes it."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {
                f.name: _stored(f.type, value[f.field_id], in_orc)
                for f in fields
                if not isinstance(f.type, UnknownType)
            }
        case ListType():
            return [_stored(kind.element, v, in_orc) for v in value]
        case MapType():
            return [(_stored(kind.key, k, in_orc), _stored(kind.value, v, in_orc)) for k, v in value]
        case TimeType() if in_orc:
            return to_internal(kind, value)
    return value.bytes if isinstance(value, UUID) else value


# --- Avro -------------------------------------------------------------------------------------------------------------


def _write_avro(path: Path, fields: Sequence[NestedField], rows: Sequence[Row], ids: bool) -> None:
    schema, convert = _record(fields, "table", ids, set())
    with path.open("wb") as out:
        fastavro.writer(out, fastavro.parse_schema(schema), [convert(row) for row in rows])


def _record(fields: Sequence[NestedField], name: str, ids: bool, named: set[str]) -> tuple[Any, Callable[[Any], Any]]:
    kept = [f for f in fields if not isinstance(f.type, UnknownType)]
    parts = [_optional(f, ids, named) for f in kept]
    described = [
        {
            # With ids the names do not matter, and Avro does not take all.
            "name": f"c{f.field_id}" if ids else f.name,
            "type": kind,
            **({} if f.required else {"default": None}),
            **({"field-id": f.field_id} if ids else {}),
        }
        for f, (kind, _) in zip(kept, parts, strict=True)
    ]

    def convert(value: Any) -> Any:
        return {d["name"]: c(value.get(f.field_id)) for d, f, (_, c) in zip(described, kept, parts, strict=True)}

    return {"type": "record", "name": name, "fields": described}, convert


def _optional(f: NestedField, ids: bool, named: set[str]) -> tuple[Any, Callable[[Any], Any]]:
    kind, convert = _avro(f.type, f.field_id, ids, named)
    if f.required:
        return kind, convert
    return ["null", kind], lambda value: None if value is None else convert(value)


def _avro(kind: IcebergType, number: int, ids: bool, named: set[str]) -> tuple[Any, Callable[[Any], Any]]:
    match kind:
        case StructType(fields):
            return _record(fields, f"r{number}", ids, named)
        case ListType():
            item, convert = _optional(kind.element_field, ids, named)
            made = {"type": "array", "items": item, **({"element-id": kind.element_id} if ids else {})}
            return made, lambda value: [convert(v) for v in value]
        case MapType() if isinstance(kind.key, StringType):
            item, convert = _optional(kind.value_field, ids, named)
            numbers = {"key-id": kind.key_id, "value-id": kind.value_id} if ids else {}
            return {"type": "map", "values": item, **numbers}, lambda value: {k: convert(v) for k, v in value}
        case MapType():
            pair, convert = _record((kind.key_field, kind.value_field), f"k{number}", ids, named)
            made = {"type": "array", "logicalType": "map", "items": pair}
            return made, lambda value: [convert({kind.key_id: k, kind.value_id: v}) for k, v in value]
        case DecimalType(precision, scale):
            size = (int(10**precision).bit_length() + 8) // 8
            made = {"logicalType": "decimal", "precision": precision, "scale": scale}
            fixed = _fixed(f"decimal_{precision}_{scale}", size, named, made)
            return fixed, lambda value: Decimal(value)
        case FixedType(length):
            return _fixed(f"fixed_{length}", length, named, {}), lambda value: value
        case UUIDType():
            return _fixed("uuid_fixed", 16, named, {"logicalType": "uuid"}), lambda value: value.bytes
    return _AVRO[type(kind)], lambda value: to_internal(kind, value)


def _fixed(name: str, size: int, named: set[str], more: Mapping[str, Any]) -> Any:
    if name in named:
        return name
    named.add(name)
    return {"type": "fixed", "name": name, "size": size, **more}
