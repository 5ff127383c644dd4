"""How partition values read in paths below ``data/`` and to people, as Java's writers put them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from bergsql.catalog.metadata.exact import civil_from_days, decimal_of, unscaled_decimal
from bergsql.catalog.metadata.java_floats import double_text, float_text
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import (
    DateType,
    DecimalType,
    FloatType,
    IcebergType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
)

_UNESCAPED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-*_")
_DAY = 86_400


def partition_path(spec: PartitionSpec, schema: Schema, values: Sequence[object]) -> str:
    """``birthday=2022-02-01/country=china`` for a file's internal partition values; "" without partitions."""
    parts = []
    for f, value in zip(spec.fields, values, strict=True):
        source = schema.field(f.source_id)
        text = value_text(f.transform, UnknownType() if source is None else source.type, value)
        parts.append(f"{escape(f.name)}={escape(text)}")
    return "/".join(parts)


def escape(text: str) -> str:
    """Text as one part of a path, escaped as Java's URLEncoder does: a blank is ``+``, other bytes ``%XX``."""
    encoded = text.encode()
    if _UNESCAPED.issuperset(encoded):
        return text
    return "".join(chr(b) if b in _UNESCAPED else "+" if b == 0x20 else f"%{b:02X}" for b in encoded)


def value_text(transform: Transform, source: IcebergType, value: object) -> str:
    """An internal value of a transform as text: ``2022-02-01``, ``2022-02``, ``2022-02-01-13``, ``null``, …"""
    match transform.kind, value:
        case _, None:
            return "null"
        case TransformKind.YEAR, int():
            return f"{1970 + value:04d}"
        case TransformKind.MONTH, int():
            year, month = divmod(value, 12)
            return f"{1970 + year:04d}-{month + 1:02d}"
        case TransformKind.DAY, int():
            return date_text(value)
        case TransformKind.HOUR, int():
            day, hour = divmod(value, 24)
            return f"{date_text(day)}-{hour:02d}"
        case ((TransformKind.IDENTITY | TransformKind.TRUNCATE), _):
            return identity_text(source, value)
        case _:
            return str(value)


def identity_text(t: IcebergType, value: object) -> str:
    """An internal value of a primitive type as text."""
    match t, value:
        case DateType(), int():
            return date_text(value)
        case TimeType(), int():
            return _clock_text(*divmod(value, 1_000_000), digits=6, seconds=False)
        case ((TimestampType() | TimestamptzType()), int()):
            return timestamp_text(value, 6, instant=isinstance(t, TimestamptzType))
        case ((TimestampNsType() | TimestamptzNsType()), int()):
            return timestamp_text(value, 9, instant=isinstance(t, TimestamptzNsType))
        case DecimalType(scale=scale), Decimal():
            return str(decimal_of(unscaled_decimal(value, scale), scale))  # 0E-10, as Java's BigDecimal has it
        case _, bool():
            return "true" if value else "false"
        case FloatType(), float():
            return float_text(value)
        case _, float():
            return double_text(value)
        case _, bytes():
            from base64 import b64encode

            return b64encode(value).decode()
        case _:
            return str(value)


def date_text(days: int) -> str:
    """``2022-02-01`` of days since 1970."""
    year, month, day = civil_from_days(days)
    return f"{year:04d}-{month:02d}-{day:02d}"


def timestamp_text(ticks: int, digits: int, *, instant: bool) -> str:
    """``2022-02-01T13:05:00.25`` of ticks of 10^-digits seconds since 1970; ``+00:00`` behind an instant."""
    seconds, fraction = divmod(ticks, 10**digits)
    day, second = divmod(seconds, _DAY)
    clock = _clock_text(second, fraction, digits=digits, seconds=True)
    return f"{date_text(day)}T{clock}{'+00:00' if instant else ''}"


def _clock_text(second: int, fraction: int, *, digits: int, seconds: bool) -> str:
    minutes, s = divmod(second, 60)
    text = f"{minutes // 60:02d}:{minutes % 60:02d}"
    if seconds or s or fraction:
        text += f":{s:02d}"
    return f"{text}.{fraction:0{digits}d}".rstrip("0") if fraction else text
