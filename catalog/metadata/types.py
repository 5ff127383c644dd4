"""Iceberg's types, as values (table spec, "Schemas and Data Types")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


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


TIMESTAMPS = (TimestampType, TimestamptzType, TimestampNsType, TimestamptzNsType)
NANOSECOND_TIMESTAMPS = (TimestampNsType, TimestamptzNsType)


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
