"""Iceberg's types: values with a name, and the JSON they are written as (table spec, "Schemas" and Appendix C)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from bergsql.catalog.metadata.json_fields import (
    JsonObject,
    check_kind,
    corrupt,
    object_list,
    optional,
    others,
    required,
)

MAX_DECIMAL_PRECISION = 38


class IcebergType:
    """The root of all types. ``str()`` gives Iceberg's name."""

    __slots__ = ()
    is_primitive: ClassVar[bool] = True


class PrimitiveType(IcebergType):
    """A type without parameters: all instances of one class are equal.

    Plain classes, because twenty generated ones would cost every start of the shell ten milliseconds.
    """

    __slots__ = ()
    name: ClassVar[str] = ""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class BooleanType(PrimitiveType):
    __slots__ = ()
    name = "boolean"


class IntegerType(PrimitiveType):
    __slots__ = ()
    name = "int"


class LongType(PrimitiveType):
    __slots__ = ()
    name = "long"


class FloatType(PrimitiveType):
    __slots__ = ()
    name = "float"


class DoubleType(PrimitiveType):
    __slots__ = ()
    name = "double"


class DateType(PrimitiveType):
    __slots__ = ()
    name = "date"


class TimeType(PrimitiveType):
    __slots__ = ()
    name = "time"


class TimestampType(PrimitiveType):
    """Microseconds, without a time zone."""

    __slots__ = ()
    name = "timestamp"


class TimestamptzType(PrimitiveType):
    """Microseconds, an instant."""

    __slots__ = ()
    name = "timestamptz"


class TimestampNsType(PrimitiveType):
    """Nanoseconds, without a time zone (v3)."""

    __slots__ = ()
    name = "timestamp_ns"


class TimestamptzNsType(PrimitiveType):
    """Nanoseconds, an instant (v3)."""

    __slots__ = ()
    name = "timestamptz_ns"


class StringType(PrimitiveType):
    __slots__ = ()
    name = "string"


class UUIDType(PrimitiveType):
    __slots__ = ()
    name = "uuid"


class BinaryType(PrimitiveType):
    __slots__ = ()
    name = "binary"


class UnknownType(PrimitiveType):
    """The type of a column that holds only NULL (v3)."""

    __slots__ = ()
    name = "unknown"


class VariantType(PrimitiveType):
    """Semi-structured values (v3)."""

    __slots__ = ()
    name = "variant"


@dataclass(frozen=True, slots=True)
class DecimalType(IcebergType):
    """Exact numbers of up to ``precision`` digits, ``scale`` of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision}, {self.scale})"


@dataclass(frozen=True, slots=True)
class FixedType(IcebergType):
    """Exactly ``length`` bytes."""

    length: int

    def __str__(self) -> str:
        return f"fixed[{self.length}]"


@dataclass(frozen=True, slots=True)
class GeometryType(IcebergType):
    """Well-known binary on a plane (v3); ``crs`` None is the specification's default, OGC:CRS84."""

    crs: str | None = None

    def __str__(self) -> str:
        return f"geometry({self.crs})" if self.crs else "geometry"


@dataclass(frozen=True, slots=True)
class GeographyType(IcebergType):
    """Well-known binary on a globe (v3); ``algorithm`` None is the default, spherical."""

    crs: str | None = None
    algorithm: str | None = None

    def __str__(self) -> str:
        given = [part for part in (self.crs, self.algorithm) if part]
        return f"geography({', '.join(given)})" if given else "geography"


@dataclass(frozen=True, slots=True)
class NestedField:
    """A column, or a field of a struct. Defaults are JSON values (Appendix D), None when there is none."""

    field_id: int
    name: str
    type: IcebergType
    required: bool
    doc: str | None = None
    initial_default: Any = field(default=None, hash=False)
    write_default: Any = field(default=None, hash=False)
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class StructType(IcebergType):
    """Named fields, in order."""

    fields: tuple[NestedField, ...]
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    is_primitive: ClassVar[bool] = False

    def field(self, name: str) -> NestedField | None:
        """The direct field called ``name``."""
        return next((f for f in self.fields if f.name == name), None)

    def __str__(self) -> str:
        inner = ", ".join(
            f"{f.field_id}: {f.name}: {'required' if f.required else 'optional'} {f.type}" for f in self.fields
        )
        return f"struct<{inner}>"


@dataclass(frozen=True, slots=True)
class ListType(IcebergType):
    """Any number of values of one type."""

    element_id: int
    element: IcebergType
    element_required: bool
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    is_primitive: ClassVar[bool] = False

    @property
    def element_field(self) -> NestedField:
        return NestedField(self.element_id, "element", self.element, self.element_required)

    def __str__(self) -> str:
        return f"list<{self.element}>"


@dataclass(frozen=True, slots=True)
class MapType(IcebergType):
    """Values by keys, which are never NULL."""

    key_id: int
    key: IcebergType
    value_id: int
    value: IcebergType
    value_required: bool
    extra: Mapping[str, Any] = field(default_factory=dict, hash=False)
    is_primitive: ClassVar[bool] = False

    @property
    def key_field(self) -> NestedField:
        return NestedField(self.key_id, "key", self.key, True)

    @property
    def value_field(self) -> NestedField:
        return NestedField(self.value_id, "value", self.value, self.value_required)

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


PRIMITIVES: dict[str, IcebergType] = {
    kind.name: kind()
    for kind in (
        BooleanType,
        IntegerType,
        LongType,
        FloatType,
        DoubleType,
        DateType,
        TimeType,
        TimestampType,
        TimestamptzType,
        TimestampNsType,
        TimestamptzNsType,
        StringType,
        UUIDType,
        BinaryType,
        UnknownType,
        VariantType,
    )
}
"""The types without parameters by their names."""

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")
_GEOMETRY = re.compile(r"geometry(?:\(\s*([^,)]*?)\s*\))?")
_GEOGRAPHY = re.compile(r"geography(?:\(\s*([^,)]*?)\s*(?:,\s*(\w+)\s*)?\))?")

_FIELD_KEYS = frozenset({"id", "name", "required", "type", "doc", "initial-default", "write-default"})
_STRUCT_KEYS = frozenset({"type", "fields"})
_LIST_KEYS = frozenset({"type", "element-id", "element", "element-required"})
_MAP_KEYS = frozenset({"type", "key-id", "key", "value-id", "value", "value-required"})


def parse_type(json: object) -> IcebergType:
    """The type that ``json`` (a name or an object) describes; CORRUPT when there is no such type."""
    if isinstance(json, str):
        return PRIMITIVES.get(json) or _parse_parametric(json)
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
    """A field of a struct or schema from its JSON."""
    return NestedField(
        required(obj, "id", int),
        required(obj, "name", str),
        parse_type(obj.get("type")),
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


def children(t: IcebergType) -> tuple[NestedField, ...]:
    """The fields directly inside a type: a struct's, a list's element, a map's key and value."""
    match t:
        case StructType():
            return t.fields
        case ListType():
            return (t.element_field,)
        case MapType():
            return (t.key_field, t.value_field)
        case _:
            return ()


def walk(fields: tuple[NestedField, ...]) -> Iterator[NestedField]:
    """All fields, parents before their children."""
    for f in fields:
        yield f
        if not f.type.is_primitive:
            yield from walk(children(f.type))
