"""Values of random tables: which there are of each type, and one text by which two equal ones are known.

Values are Python's: a struct is a dict by field id, a map a list of pairs, a timestamp of nanoseconds an int.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any
from uuid import UUID

from bergsql.catalog.metadata.types import (
    PRIMITIVES,
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

EPOCH = datetime(1970, 1, 1)
NANOSECONDS = (TimestampNsType, TimestamptzNsType)
_MOMENTS = (
    EPOCH,
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2024, 2, 29, 12, 34, 56, 123456),
    datetime(2024, 3, 1),
    datetime(2023, 12, 31, 23, 0),
    datetime(1965, 7, 4, 1, 2, 3),
)
_POOLS: dict[type[IcebergType], tuple[Any, ...]] = {
    BooleanType: (False, True),
    IntegerType: (0, 1, 2, 3, -1, 7, 100, 2**31 - 1, -(2**31)),
    LongType: (0, 1, 2, 3, -1, 7, 100, 2**31, 2**53 + 1, -(2**60)),
    FloatType: (0.0, -0.0, 1.5, -2.25, 1024.0, math.inf, -math.inf, math.nan),
    DoubleType: (0.0, -0.0, 1.5, -2.25, 0.1, 1e300, math.inf, -math.inf, math.nan),
    DateType: tuple(m.date() for m in _MOMENTS),
    TimeType: (time(), time(12, 34, 56, 123456), time(23, 59, 59, 999999)),
    TimestampType: _MOMENTS,
    TimestamptzType: tuple(m.replace(tzinfo=UTC) for m in _MOMENTS),
    TimestampNsType: (0, -1, 1_709_210_096_123_456_789, 1_709_251_200_000_000_000, 999),
    TimestamptzNsType: (0, -1, 1_709_210_096_123_456_789, 1_709_251_200_000_000_000, 999),
    StringType: ("", "a", "ab", "abc", "abd", "b", "it's", "北京", "😀x", "zz" * 20, "%_\\"),
    UUIDType: (UUID(int=0), UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7"), UUID(int=2**127 + 5)),
    BinaryType: (b"", b"\0", b"abc", b"\xff\xff", b"\xff" * 20),
}
_DECIMAL_UNITS = (0, 1, -1, 150, -99, 99999, -12345)


def random_value(kind: IcebergType, random: Random, *, null: float = 0.2) -> Any:
    """A value of the type, NULL as often as ``null``."""
    if random.random() < null or isinstance(kind, UnknownType):
        return None
    match kind:
        case DecimalType(scale=scale):
            return Decimal(random.choice(_DECIMAL_UNITS)).scaleb(-scale)
        case FixedType(length=length):
            return random.choice((b"\0", b"a", b"\xff")) * length
        case StructType(fields):
            return {f.field_id: random_value(f.type, random, null=_nulls(f)) for f in fields}
        case ListType():
            size = random.choice((0, 1, 1, 2, 3))
            return [random_value(kind.element, random, null=_nulls(kind.element_field)) for _ in range(size)]
        case MapType():
            keys = {token(kind.key, k): k for k in (random_value(kind.key, random, null=0) for _ in range(2))}
            pairs = [(k, random_value(kind.value, random, null=_nulls(kind.value_field))) for k in keys.values()]
            return pairs[: random.choice((0, 1, 2))]
    return random.choice(_POOLS[type(kind)])


def _nulls(f: NestedField) -> float:
    return 0.0 if f.required else 0.2


def widened(kind: IcebergType, value: Any) -> Any:
    """A value of ``kind``, or of a type that was promoted to it, as one of ``kind``."""
    if value is None:
        return None
    match kind:
        case StructType(fields):
            return {f.field_id: widened(f.type, value[f.field_id]) for f in fields}
        case ListType():
            return [widened(kind.element, v) for v in value]
        case MapType():
            return [(k, widened(kind.value, v)) for k, v in value]
        case TimestampType() if not isinstance(value, datetime):
            return datetime.combine(value, time())
        case TimestampNsType() if isinstance(value, date):
            return (datetime.combine(value, time()) - EPOCH) // timedelta(microseconds=1) * 1000
    return value


def token(kind: IcebergType, value: Any) -> object:
    """The value as a thing to compare: equal for equal values of the type, read from files or given by DuckDB.

    Values of a type that ``kind`` was promoted from count as the promoted ones. Structs may be dicts by id or by name.
    """
    if value is None:
        return None
    match kind:
        case StructType(fields):
            by_id = not value or isinstance(next(iter(value)), int)
            return tuple(token(f.type, value[f.field_id if by_id else f.name]) for f in fields)
        case ListType():
            return [token(kind.element, v) for v in value]
        case MapType():
            pairs = value.items() if isinstance(value, dict) else value
            return sorted(((token(kind.key, k), token(kind.value, v)) for k, v in pairs), key=repr)
        case FloatType() | DoubleType():
            return "nan" if math.isnan(value) else repr(float(value))
        case DecimalType(scale=scale):
            return f"{value:.{scale}f}"
        case TimestampType() | TimestampNsType():
            return str(widened(kind, value))
        case TimestamptzType():
            return str(value.astimezone(UTC))
        case BinaryType() | FixedType():
            return bytes(value)
    return value


def leaf_types(version: int) -> list[IcebergType]:
    """The types of single values that tables of this format version may have, but for those without an order."""
    later = (*NANOSECONDS, UnknownType)
    kinds = [kind for kind in PRIMITIVES.values() if type(kind) in _POOLS or type(kind) in later]
    kinds = [kind for kind in kinds if version >= 3 or not isinstance(kind, later)]
    return [*kinds, DecimalType(9, 2), DecimalType(20, 4), FixedType(3)]
