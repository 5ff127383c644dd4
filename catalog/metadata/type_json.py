"""Iceberg's types as the JSON they are written as (table spec, Appendix C)."""

from __future__ import annotations

import re
from typing import Any

from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.json_fields import (
    JsonObject,
    check_kind,
    corrupt,
    object_list,
    optional,
    others,
    required,
    within,
)
from bergsql.catalog.metadata.types import (
    PRIMITIVES,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
)

MAX_DECIMAL_PRECISION = 38

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_GEOMETRY = re.compile(r"geometry(?:\(\s*([^)]*?)\s*\))?", re.IGNORECASE)
_GEOGRAPHY = re.compile(r"geography(?:\(\s*([^,)]*?)\s*(?:,\s*(\w+)\s*)?\))?", re.IGNORECASE)

_FIELD_KEYS = frozenset({"id", "name", "required", "type", "doc", "initial-default", "write-default"})
_STRUCT_KEYS = frozenset({"type", "fields"})
_LIST_KEYS = frozenset({"type", "element-id", "element", "element-required"})
_MAP_KEYS = frozenset({"type", "key-id", "key", "value-id", "value", "value-required"})


def parse_type(json: object) -> IcebergType:
    """The type that ``json`` (a name or an object) describes; CORRUPT when there is no such type."""
    if isinstance(json, str):
        return PRIMITIVES.get(json.lower()) or _parse_parametric(json)
    obj = check_kind(json, dict, "A type")
    match obj.get("type"):
        case "struct":
            return StructType(object_list(obj, "fields", parse_field), others(obj, _STRUCT_KEYS))
        case "list":
            return ListType(
                required(obj, "element-id", int),
                parse_type(obj.get("element")),
                required(obj, "element-required", bool),
                others(obj, _LIST_KEYS),
            )
        case "map":
            return MapType(
                required(obj, "key-id", int),
                parse_type(obj.get("key")),
                required(obj, "value-id", int),
                parse_type(obj.get("value")),
                required(obj, "value-required", bool),
                others(obj, _MAP_KEYS),
            )
        case unknown:
            raise corrupt(f"There is no nested type '{unknown}'.")


def _parse_parametric(text: str) -> IcebergType:
    if m := _DECIMAL.fullmatch(text):
        precision, scale = int(m[1]), int(m[2])
        if not 1 <= precision <= MAX_DECIMAL_PRECISION or scale > precision:
            raise corrupt(f"There is no type '{text}': a decimal has at most {MAX_DECIMAL_PRECISION} digits.")
        return DecimalType(precision, scale)
    if m := _FIXED.fullmatch(text):
        return FixedType(int(m[1]))
    if m := _GEOMETRY.fullmatch(text):
        return GeometryType(m[1] or None)
    if m := _GEOGRAPHY.fullmatch(text):
        return GeographyType(m[1] or None, m[2])
    raise corrupt(f"There is no type '{text}'.")


def parse_field(obj: JsonObject) -> NestedField:
    """A field of a struct or schema from its JSON. CORRUPT naming it when there is no such type."""
    name = required(obj, "name", str)
    try:
        type_ = parse_type(obj.get("type"))
    except BergError as e:
        raise corrupt(f"Column '{name}': {within(e.message)}") from e
    return NestedField(
        required(obj, "id", int),
        name,
        type_,
        required(obj, "required", bool),
        optional(obj, "doc", str),
        obj.get("initial-default"),
        obj.get("write-default"),
        others(obj, _FIELD_KEYS),
    )


def type_to_json(t: IcebergType) -> str | dict[str, Any]:
    """The JSON of a type, members in Java's order."""
    match t:
        case StructType():
            return {"type": "struct", "fields": [field_to_json(f) for f in t.fields], **t.extra}
        case ListType():
            return {
                "type": "list",
                "element-id": t.element_id,
                "element": type_to_json(t.element),
                "element-required": t.element_required,
                **t.extra,
            }
        case MapType():
            return {
                "type": "map",
                "key-id": t.key_id,
                "key": type_to_json(t.key),
                "value-id": t.value_id,
                "value": type_to_json(t.value),
                "value-required": t.value_required,
                **t.extra,
            }
        case _:
            return str(t)


def field_to_json(f: NestedField) -> dict[str, Any]:
    """The JSON of a field, members in Java's order."""
    out: dict[str, Any] = {"id": f.field_id, "name": f.name, "required": f.required, "type": type_to_json(f.type)}
    if f.doc is not None:
        out["doc"] = f.doc
    if f.initial_default is not None:
        out["initial-default"] = f.initial_default
    if f.write_default is not None:
        out["write-default"] = f.write_default
    return {**out, **f.extra} if f.extra else out
