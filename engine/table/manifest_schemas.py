"""The Avro schemas of manifests and manifest lists that Iceberg's table spec gives for each format version."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from bergsql.catalog.metadata.transforms import TransformKind
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
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema

Json = Any

_SIMPLE: dict[type[IcebergType], Json] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
    DateType: {"type": "int", "logicalType": "date"},
    TimeType: {"type": "long", "logicalType": "time-micros"},
    TimestampType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False},
    TimestamptzType: {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True},
    TimestampNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": False},
    TimestamptzNsType: {"type": "long", "logicalType": "timestamp-nanos", "adjust-to-utc": True},
    UUIDType: {"type": "fixed", "size": 16, "name": "uuid_fixed", "logicalType": "uuid"},
}


def decimal_size(precision: int) -> int:
    """The bytes that hold every unscaled value of ``precision`` digits."""
    return int(10**precision).bit_length() // 8 + 1


def avro_type(t: IcebergType) -> Json:
    """The Avro type of a partition value."""
    if isinstance(t, DecimalType):
        size = decimal_size(t.precision)
        name = f"decimal_{t.precision}_{t.scale}"
        fixed = {"type": "fixed", "size": size, "name": name, "logicalType": "decimal"}
        return {**fixed, "precision": t.precision, "scale": t.scale}
    if isinstance(t, FixedType):
        return {"type": "fixed", "size": t.length, "name": f"fixed_{t.length}"}
    return _SIMPLE[type(t)]


def partition_types(
    spec: PartitionSpec, schema: Schema, samples: Sequence[tuple[object, ...]] = ()
) -> tuple[IcebergType, ...]:
    """The types of a spec's partition values. A source column that the schema lost is judged by ``samples``."""
    found: list[IcebergType] = []
    for i, part in enumerate(spec.fields):
        source = schema.field(part.source_id)
        if source is not None:
            found.append(part.transform.result_type(source.type))
        elif part.transform.is_time or part.transform.kind is TransformKind.BUCKET:
            found.append(part.transform.result_type(LongType()))
        else:
            value = next((s[i] for s in samples if s[i] is not None), None)
            found.append(_type_of(value))
    return tuple(found)


def _type_of(value: object) -> IcebergType:
    match value:
        case bool():
            return BooleanType()
        case int():
            return LongType()
        case float():
            return DoubleType()
        case bytes():
            return BinaryType()
        case UUID():
            return UUIDType()
        case Decimal():
            exponent = value.as_tuple().exponent
            return DecimalType(38, -exponent if isinstance(exponent, int) else 0)
        case _:
            return StringType()


def avro_name(name: str) -> str:
    """An Avro name for a field's name, made as Java's writer makes it."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    units = name.encode("utf-16-be", "surrogatepass")
    chars = [chr(int.from_bytes(units[i : i + 2])) for i in range(0, len(units), 2)]
    return "".join(
        c if c == "_" or c.isalpha() or (i and c.isdecimal()) else f"_{c}" if c.isdecimal() else f"_x{ord(c):X}"
        for i, c in enumerate(chars)
    )


def _field(number: int, name: str, kind: Json) -> dict[str, Json]:
    return {"name": name, "type": kind, "field-id": number}


def _optional(number: int, name: str, kind: Json) -> dict[str, Json]:
    return {"name": name, "type": ["null", kind], "default": None, "field-id": number}


def _map(number: int, name: str, key_id: int, value_id: int, value: str) -> dict[str, Json]:
    parts = [_field(key_id, "key", "int"), _field(value_id, "value", value)]
    record = {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": parts}
    return _optional(number, name, {"type": "array", "items": record, "logicalType": "map"})


def _array(number: int, name: str, element_id: int, items: Json) -> dict[str, Json]:
    return _optional(number, name, {"type": "array", "items": items, "element-id": element_id})


@lru_cache(maxsize=64)
def manifest_schema(version: int, names: tuple[str, ...], ids: tuple[int, ...], types: tuple[IcebergType, ...]) -> str:
    """The schema (JSON) of a manifest's entries, for partition fields of these names, ids and types."""
    partition: list[Json] = []
    defined: set[str] = set()
    for name, number, kind in zip(names, ids, types, strict=True):
        made = avro_type(kind)
        if isinstance(made, dict) and "name" in made:
            if made["name"] in defined:  # Avro allows a named type to be defined once only
                made = made["name"]
            else:
                defined.add(made["name"])
        part = _optional(number, avro_name(name), made)
        partition.append(part if part["name"] == name else {**part, "iceberg-field-name": name})
    later = version >= 2
    data_file = [
        *([_field(134, "content", "int")] if later else []),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        *([] if later else [_field(105, "block_size_in_bytes", "long")]),
        _map(108, "column_sizes", 117, 118, "long"),
        _map(109, "value_counts", 119, 120, "long"),
        _map(110, "null_value_counts", 121, 122, "long"),
        _map(137, "nan_value_counts", 138, 139, "long"),
        _map(125, "lower_bounds", 126, 127, "bytes"),
        _map(128, "upper_bounds", 129, 130, "bytes"),
        _optional(131, "key_metadata", "bytes"),
        _array(132, "split_offsets", 133, "long"),
        *([_array(135, "equality_ids", 136, "int")] if later else []),
        _optional(140, "sort_order_id", "int"),
        *([_optional(142, "first_row_id", "long")] if version >= 3 else []),
        *([_optional(143, "referenced_data_file", "string")] if later else []),
        *([_optional(144, "content_offset", "long")] if version >= 3 else []),
        *([_optional(145, "content_size_in_bytes", "long")] if version >= 3 else []),
    ]
    sequence = [_optional(3, "sequence_number", "long"), _optional(4, "file_sequence_number", "long")]
    entry = [
        _field(0, "status", "int"),
        _optional(1, "snapshot_id", "long"),
        *(sequence if later else []),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": data_file}),
    ]
    return json.dumps({"type": "record", "name": "manifest_entry", "fields": entry})


_SUMMARY = [
    _field(509, "contains_null", "boolean"),
    _optional(518, "contains_nan", "boolean"),
    _optional(510, "lower_bound", "bytes"),
    _optional(511, "upper_bound", "bytes"),
]


@lru_cache(maxsize=4)
def manifest_list_schema(version: int) -> str:
    """The schema (JSON) of a manifest list."""
    later = version >= 2
    count = _field if later else _optional
    fields = [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        *([_field(517, "content", "int")] if later else []),
        *([_field(515, "sequence_number", "long")] if later else []),
        *([_field(516, "min_sequence_number", "long")] if later else []),
        _field(503, "added_snapshot_id", "long"),
        count(504, "added_files_count", "int"),
        count(505, "existing_files_count", "int"),
        count(506, "deleted_files_count", "int"),
        count(512, "added_rows_count", "long"),
        count(513, "existing_rows_count", "long"),
        count(514, "deleted_rows_count", "long"),
        _array(507, "partitions", 508, {"type": "record", "name": "r508", "fields": _SUMMARY}),
        _optional(519, "key_metadata", "bytes"),
        *([_optional(520, "first_row_id", "long")] if version >= 3 else []),
    ]
    return json.dumps({"type": "record", "name": "manifest_file", "fields": fields})


def _ids(fields: list[dict[str, Json]]) -> dict[str, int]:
    return {f["name"]: f["field-id"] for f in fields}


def entry_ids() -> dict[str, int]:
    """The ids of a manifest entry's fields by name, its data file's among them, in the latest version's order."""
    *entry, data_file = json.loads(manifest_schema(3, (), (), ()))["fields"]
    return _ids(entry) | _ids(data_file["type"]["fields"])


def manifest_list_ids() -> dict[str, int]:
    """The ids of a manifest list's fields by name, in the latest version's order."""
    return _ids(json.loads(manifest_list_schema(3))["fields"])


def summary_ids() -> dict[str, int]:
    """The ids of the fields of a manifest list's partition summaries by name."""
    return _ids(_SUMMARY)
