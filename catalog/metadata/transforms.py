"""Partition transforms: what they take and what they give for a value (spec, "Partition Transforms").

Values are internal ones (see values.py): days for a date, microseconds or nanoseconds for times and timestamps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from uuid import UUID

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.exact import (
    MICROS_A_DAY,
    MICROS_AN_HOUR,
    civil_from_days,
    decimal_of,
    java_remainder,
    minimal_bytes,
    unscaled_decimal,
    wrapped,
)
from bergsql.catalog.metadata.types import (
    NANOSECOND_TIMESTAMPS,
    TIMESTAMPS,
    BinaryType,
    DateType,
    DecimalType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    LongType,
    StringType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)


class TransformKind(StrEnum):
    IDENTITY = "identity"
    BUCKET = "bucket"
    TRUNCATE = "truncate"
    YEAR = "year"
    MONTH = "month"
    DAY = "day"
    HOUR = "hour"
    VOID = "void"
    UNKNOWN = "unknown"


_TIME_KINDS = frozenset({TransformKind.YEAR, TransformKind.MONTH, TransformKind.DAY, TransformKind.HOUR})

_WITH_WIDTH = re.compile(r"(bucket|truncate)\[(\d+)\]")
_MORE_THAN_ANY_WIDTH = 1 << 31
_NOT_IDENTITY = (VariantType, GeometryType, GeographyType, UnknownType)
_BUCKETED = (
    IntegerType,
    LongType,
    DecimalType,
    DateType,
    TimeType,
    *TIMESTAMPS,
    StringType,
    UUIDType,
    FixedType,
    BinaryType,
)
_TRUNCATED = (IntegerType, LongType, DecimalType, StringType, BinaryType)


@dataclass(frozen=True, slots=True)
class Transform:
    """A partition transform. ``width`` is of bucket and truncate; ``text`` the name of one that is not known here."""

    kind: TransformKind
    width: int = 0
    text: str = ""

    def of(self, column: str) -> str:
        """The transform of a column as DDL writes it: ``day(ts)``, ``bucket(16, id)``, the column for identity."""
        if self.kind is TransformKind.IDENTITY:
            return column
        width = f"{self.width}, " if self.width else ""
        return f"{self.text or self.kind.value}({width}{column})"

    @staticmethod
    def parse(text: str) -> Transform:
        """``bucket[4]``, ``day``, … as in table metadata; a name of the future gives UNKNOWN."""
        if m := _WITH_WIDTH.fullmatch(text.lower()):
            width = int(m[2])
            if 0 < width < _MORE_THAN_ANY_WIDTH:
                return Transform(TransformKind(m[1]), width)
        elif text.lower() in _WITHOUT_WIDTH:
            return Transform(TransformKind(text.lower()))
        return Transform(TransformKind.UNKNOWN, text=text)

    def __str__(self) -> str:
        if self.kind is TransformKind.UNKNOWN:
            return self.text
        return f"{self.kind.value}[{self.width}]" if self.width else self.kind.value

    @property
    def is_time(self) -> bool:
        """Whether it is year, month, day or hour."""
        return self.kind in _TIME_KINDS

    def can_apply(self, source: IcebergType) -> bool:
        """Whether values of ``source`` can be transformed."""
        match self.kind:
            case TransformKind.IDENTITY:
                return source.is_primitive and not isinstance(source, _NOT_IDENTITY)
            case TransformKind.BUCKET:
                return isinstance(source, _BUCKETED)
            case TransformKind.TRUNCATE:
                return isinstance(source, _TRUNCATED)
            case TransformKind.HOUR:
                return isinstance(source, TIMESTAMPS)
            case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY:
                return isinstance(source, (DateType, *TIMESTAMPS))
            case _:
                return True

    def check(self, source: IcebergType) -> None:
        """Refuse a source type that cannot be transformed."""
        if not self.can_apply(source):
            raise BergError(ErrorCode.INVALID, f"Invalid source type {source} for transform: {self}.")

    def result_type(self, source: IcebergType) -> IcebergType:
        """The type of transformed values. A day is a date, as in the manifests that Java writes."""
        match self.kind:
            case TransformKind.BUCKET | TransformKind.YEAR | TransformKind.MONTH | TransformKind.HOUR:
                return IntegerType()
            case TransformKind.DAY:
                return DateType()
            case TransformKind.UNKNOWN:
                return StringType()
            case _:
                return source

    def apply(self, value: object, source: IcebergType) -> object:
        """The transformed value of one internal value; None for None, and always for void."""
        if value is None or self.kind is TransformKind.VOID:
            return None
        match self.kind:
            case TransformKind.IDENTITY:
                return value
            case TransformKind.BUCKET:
                return (bucket_hash(value, source) & 0x7FFFFFFF) % self.width
            case TransformKind.TRUNCATE:
                return truncate_value(value, self.width, source)
            case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY | TransformKind.HOUR:
                return _time_part(self.kind, _as_int(value), source)
            case _:
                raise BergError(ErrorCode.UNSUPPORTED, f"The partition transform '{self}' is not known here.")


IDENTITY = Transform(TransformKind.IDENTITY)
YEAR = Transform(TransformKind.YEAR)
MONTH = Transform(TransformKind.MONTH)
DAY = Transform(TransformKind.DAY)
HOUR = Transform(TransformKind.HOUR)
VOID = Transform(TransformKind.VOID)

_WITHOUT_WIDTH = frozenset({t.kind.value for t in (IDENTITY, YEAR, MONTH, DAY, HOUR, VOID)})


def bucket(count: int) -> Transform:
    """``bucket[count]``; the count must be positive."""
    return _with_width(TransformKind.BUCKET, count, "number of buckets")


def truncate(width: int) -> Transform:
    """``truncate[width]``; the width must be positive."""
    return _with_width(TransformKind.TRUNCATE, width, "width")


def _with_width(kind: TransformKind, width: int, what: str) -> Transform:
    if not 0 < width < _MORE_THAN_ANY_WIDTH:
        message = f"Invalid {what} for transform {kind.value}: {width} (must be from 1 to {_MORE_THAN_ANY_WIDTH - 1})."
        raise BergError(ErrorCode.INVALID, message)
    return Transform(kind, width)


def _as_int(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is not an internal value")
    return value


def bucket_hash(value: object, source: IcebergType) -> int:
    """Iceberg's 32-bit Murmur3 hash of an internal value (spec, Appendix B), signed."""
    from mmh3 import hash as murmur3

    return murmur3(hashed_bytes(value, source))


def hashed_bytes(value: object, source: IcebergType) -> bytes:
    """The bytes whose hash is a value's bucket hash (spec, Appendix B)."""
    match value:
        case bool():
            raise TypeError("booleans have no bucket")
        case int():
            # Nanoseconds hash like the microseconds that they are in, so that a column's precision may change.
            widened = value // 1000 if isinstance(source, NANOSECOND_TIMESTAMPS) else value
            return widened.to_bytes(8, "little", signed=True)
        case str():
            return value.encode()
        case bytes():
            return value
        case UUID():
            return value.bytes
        case Decimal():
            scale = source.scale if isinstance(source, DecimalType) else None
            return minimal_bytes(unscaled_decimal(value, scale))
        case _:
            raise TypeError(f"{value!r} has no bucket")


def truncate_value(value: object, width: int, source: IcebergType) -> object:
    """The value truncated to ``width``: code points, bytes, or the multiple of the width below it.

    Where Java's arithmetic overflows (below the least multiple, and for widths of more than 2^30 of ints) the result
    is not that multiple but what Java gives: it stands in the metadata of tables.
    """
    match value:
        case str() | bytes():
            return value[:width]
        case int():
            bits = 32 if isinstance(source, IntegerType) else 64
            above = java_remainder(wrapped(java_remainder(value, width) + width, bits), width)
            return wrapped(value - above, bits)
        case Decimal() if isinstance(source, DecimalType):
            unscaled = unscaled_decimal(value, source.scale)
            return decimal_of(unscaled - unscaled % width, source.scale)
        case _:
            raise TypeError(f"{value!r} cannot be truncated")


def _time_part(kind: TransformKind, value: int, source: IcebergType) -> int:
    if isinstance(source, DateType):
        days = value
    else:
        micros = value // 1000 if isinstance(source, NANOSECOND_TIMESTAMPS) else value
        if kind is TransformKind.HOUR:
            return micros // MICROS_AN_HOUR
        days = micros // MICROS_A_DAY
    if kind is TransformKind.DAY:
        return days
    year, month, _ = civil_from_days(days)
    return year - 1970 if kind is TransformKind.YEAR else (year - 1970) * 12 + month - 1
