"""Avro schemas of data files: Iceberg's (spec, Appendix A "Avro"), and what any Avro schema is in Arrow.

Avro's own logical types are only read here: values travel as the numbers and bytes that they are stored as.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import not_supported
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

if TYPE_CHECKING:
    import pyarrow as pa

Json = Any
FIELD_ID = b"PARQUET:field_id"
"""The key under which Arrow fields carry their field ids."""

_PLAIN: Mapping[type[IcebergType], str] = {
    BooleanType: "boolean",
    IntegerType: "int",
    LongType: "long",
    FloatType: "float",
    DoubleType: "double",
    StringType: "string",
    BinaryType: "bytes",
}
_STAMPS: Mapping[type[IcebergType], tuple[str, bool]] = {
    TimestampType: ("timestamp-micros", False),
    TimestamptzType: ("timestamp-micros", True),
    TimestampNsType: ("timestamp-nanos", False),
    TimestamptzNsType: ("timestamp-nanos", True),
}


# --- from Iceberg -----------------------------------------------------------------------------------------------------


def record_schema(fields: Sequence[NestedField], name: str) -> Json:
    """The Avro record of a table's columns; each named type is written out once and named from then on."""
    return _record(fields, name, set())


def _record(fields: Sequence[NestedField], name: str, named: set[str]) -> Json:
    return {"type": "record", "name": name, "fields": [_field(f, named) for f in fields]}


def _field(f: NestedField, named: set[str]) -> Json:
    made: dict[str, Json] = {"name": avro_name(f.name)}
    if made["name"] != f.name:
        made["iceberg-field-name"] = f.name
    if f.doc is not None:
        made["doc"] = f.doc
    made["type"] = _optional(f, named)
    if not f.required:
        made["default"] = None
    made["field-id"] = f.field_id
    return made


def _optional(f: NestedField, named: set[str]) -> Json:
    inner = _type(f.type, f.field_id, named)
    return inner if f.required or inner == "null" else ["null", inner]


def _type(t: IcebergType, field_id: int, named: set[str]) -> Json:
    plain = _PLAIN.get(type(t))
    if plain is not None:
        return plain
    stamp = _STAMPS.get(type(t))
    if stamp is not None:
        return {"type": "long", "logicalType": stamp[0], "adjust-to-utc": stamp[1]}
    match t:
        case DateType():
            return {"type": "int", "logicalType": "date"}
        case TimeType():
            return {"type": "long", "logicalType": "time-micros"}
        case UUIDType():
            return _fixed("uuid_fixed", 16, named, logicalType="uuid")
        case FixedType(length=length):
            return _fixed(f"fixed_{length}", length, named)
        case DecimalType(precision=p, scale=s):
            size = decimal_bytes(p)
            return _fixed(f"decimal_{p}_{s}", size, named, logicalType="decimal", precision=p, scale=s)
        case StructType(fields=fields):
            return _record(fields, f"r{field_id}", named)
        case ListType() as t:
            return {"type": "array", "items": _optional(t.element_field, named), "element-id": t.element_id}
        case MapType() as t if isinstance(t.key, StringType):
            values = _optional(t.value_field, named)
            return {"type": "map", "values": values, "key-id": t.key_id, "value-id": t.value_id}
        case MapType() as t:
            pair = _record((t.key_field, t.value_field), f"k{t.key_id}_v{t.value_id}", named)
            return {"type": "array", "logicalType": "map", "items": pair}
        case UnknownType():
            return "null"
    raise not_supported(f"Writing a column of type {t} to an Avro file")


def _fixed(name: str, size: int, named: set[str], **more: Json) -> Json:
    if name in named:
        return name
    named.add(name)
    return {"type": "fixed", "name": name, "size": size, **more}


def decimal_bytes(precision: int) -> int:
    """The least number of bytes that hold every decimal of so many digits."""
    return (int(10**precision).bit_length() + 8) // 8


def avro_name(name: str) -> str:
    """The name as Iceberg's Java makes it for Avro: letters, digits and ``_``, of any script."""
    units = name.encode("utf-16-be")
    made = ""
    for i in range(0, len(units), 2):
        code = int.from_bytes(units[i : i + 2], "big")
        letter = not 0xD800 <= code < 0xE000 and (chr(code).isalnum() or code == 0x5F)
        made += chr(code) if letter else f"_x{code:X}"
    return made if made and (made[0].isalpha() or made[0] == "_") else f"_{made}"


# --- to plain values --------------------------------------------------------------------------------------------------


def numbered(schema: Json) -> Json:
    """The schema with its fields called ``f0``, ``f1``, … in each record, which any program takes for names.

    What they are really called is under ``called``.
    """
    if isinstance(schema, list):
        return [numbered(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for key in ("type", "items", "values"):
        if isinstance(made.get(key), dict | list):
            made[key] = numbered(made[key])
    if "fields" in made:
        made["fields"] = [
            {**{k: v for k, v in numbered(f).items() if k not in ("default", "aliases")}, "name": f"f{i}"}
            | {"called": f["name"]}
            for i, f in enumerate(made["fields"])
        ]
    return made


def without_logical_types(schema: Json) -> Json:
    """The schema whose values are the numbers and bytes that are stored."""
    if isinstance(schema, list):
        return [without_logical_types(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {k: v for k, v in schema.items() if k != "logicalType"}
    for key in ("type", "items", "values"):
        if isinstance(plain.get(key), dict | list):
            plain[key] = without_logical_types(plain[key])
    if "fields" in plain:
        plain["fields"] = [without_logical_types(f) for f in plain["fields"]]
    return plain


def expanded(schema: Json) -> Json:
    """The schema with every name of a type replaced by the type; ValueError for one that holds itself."""
    return _expanded(schema, {}, "", ())


def _expanded(schema: Json, known: dict[str, Json], space: str, inside: tuple[str, ...]) -> Json:
    if isinstance(schema, list):
        return [_expanded(s, known, space, inside) for s in schema]
    if isinstance(schema, str):
        found = known.get(schema) or known.get(f"{space}.{schema}")
        if schema in inside or f"{space}.{schema}" in inside:
            raise ValueError(f"its type '{schema}' holds itself")
        return schema if found is None else found
    kind = schema["type"]
    if isinstance(kind, dict | list):
        return _expanded(kind, known, space, inside)
    made = dict(schema)
    if kind in ("record", "fixed", "enum", "error"):
        space = schema.get("namespace", space)
        name = schema["name"] if "." in schema["name"] or not space else f"{space}.{schema['name']}"
        if kind in ("record", "error"):
            within = (*inside, name)
            made["fields"] = [{**f, "type": _expanded(f["type"], known, space, within)} for f in schema["fields"]]
        made["name"] = name
        made.pop("namespace", None)
        known[name] = made
    for key in ("items", "values"):
        if key in schema:
            made[key] = _expanded(schema[key], known, space, inside)
    return made


def named_once(schema: Json, seen: set[str] | None = None) -> Json:
    """An expanded schema with each named type written out where it comes first, and named from then on."""
    seen = set() if seen is None else seen
    if isinstance(schema, list):
        return [named_once(s, seen) for s in schema]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    if "name" in schema and schema["type"] in ("record", "error", "fixed", "enum"):
        if schema["name"] in seen:
            return schema["name"]
        seen.add(schema["name"])
        if "fields" in schema:
            made["fields"] = [{**f, "type": named_once(f["type"], seen)} for f in schema["fields"]]
    for key in ("items", "values"):
        if key in schema:
            made[key] = named_once(schema[key], seen)
    return made


# --- to Arrow ---------------------------------------------------------------------------------------------------------


def value_type(schema: Json) -> Json:
    """What an optional type is when it is not NULL; ValueError for other unions."""
    if not isinstance(schema, list):
        return schema
    others = [s for s in schema if s != "null" and not (isinstance(s, dict) and s.get("type") == "null")]
    if len(others) > 1:
        raise ValueError("it has a union of several types")
    return others[0] if others else "null"


def is_map_of_pairs(schema: Json) -> bool:
    """Whether an Avro array is how Iceberg writes a map whose keys are not strings."""
    return bool(schema.get("logicalType") == "map")


def arrow_fields(schema: Json) -> list[pa.Field]:
    """The columns of an expanded record schema, with their field ids."""
    return [_arrow_field(f.get("called", f["name"]), f["type"], f.get("field-id")) for f in schema["fields"]]


def _arrow_field(name: str, schema: Json, field_id: int | None) -> pa.Field:
    import pyarrow as pa

    metadata = None if field_id is None else {FIELD_ID: str(field_id).encode()}
    return pa.field(name, _arrow_type(value_type(schema)), metadata=metadata)


def _arrow_type(schema: Json) -> pa.DataType:
    import pyarrow as pa

    more: Mapping[str, Json] = schema if isinstance(schema, dict) else {}
    kind = more.get("type", schema)
    logical = more.get("logicalType")
    if logical == "decimal":
        return pa.decimal128(more["precision"], more.get("scale", 0))
    if isinstance(logical, str) and kind in ("int", "long"):
        made = _time_type(logical, bool(more.get("adjust-to-utc", False)))
        if made is not None:
            return made
    match kind:
        case "record" | "error":
            return pa.struct(arrow_fields(schema))
        case "array" if is_map_of_pairs(more):
            key, value = arrow_fields(value_type(more["items"]))[:2]
            return pa.map_(key.with_name("key").with_nullable(False), value.with_name("value"))
        case "array":
            return pa.list_(_arrow_field("element", more["items"], more.get("element-id")))
        case "map":
            key = _arrow_field("key", "string", more.get("key-id")).with_nullable(False)
            return pa.map_(key, _arrow_field("value", more["values"], more.get("value-id")))
        case "fixed":
            return pa.binary(more["size"])
    plain = {
        "null": pa.null(),
        "boolean": pa.bool_(),
        "int": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "bytes": pa.binary(),
        "enum": pa.string(),
    }
    if kind not in plain:
        raise ValueError(f"its type {kind!r} is not known")
    return plain[kind]


def _time_type(logical: str, utc: bool) -> pa.DataType | None:
    import pyarrow as pa

    match logical:
        case "date":
            return pa.date32()
        case "time-millis":
            return pa.time32("ms")
        case "time-micros":
            return pa.time64("us")
    kind, _, unit = logical.rpartition("-")
    units = {"millis": "ms", "micros": "us", "nanos": "ns"}
    if kind in ("timestamp", "local-timestamp") and unit in units:
        # Old writers leave ``adjust-to-utc`` out; as in Java, that is a timestamp without a time zone.
        return pa.timestamp(units[unit], "UTC" if utc and kind == "timestamp" else None)
    return None
