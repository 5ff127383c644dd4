"""Single values as JSON, as the defaults of columns are stored (spec, Appendix D)."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from bergsql.catalog.metadata.exact import days_from_civil, decimal_of, unscaled_decimal
from bergsql.catalog.metadata.json_fields import corrupt
from bergsql.catalog.metadata.partition_text import date_text
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
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)

_DATE = re.compile(r"([+-]?\d{4,})-(\d\d)-(\d\d)")
_TIME = re.compile(r"(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?")
_OFFSET = re.compile(r"(?:Z|([+-])(\d\d):(\d\d))")


def value_to_json(t: IcebergType, value: Any) -> Any:
    """The JSON of an internal value (values.py says what those are)."""
    if value is None:
        return None
    match t:
        case DecimalType(scale=scale):
            return f"{decimal_of(unscaled_decimal(value, scale), scale):f}"
        case DateType():
            return date_text(value)
        case TimeType():
            return _clock(value, 6)
        case TimestampType() | TimestamptzType():
            return _moment(value, 6, instant=isinstance(t, TimestamptzType))
        case TimestampNsType() | TimestamptzNsType():
            return _moment(value, 9, instant=isinstance(t, TimestamptzNsType))
        case UUIDType():
            return str(value)
        case BinaryType() | FixedType():
            return bytes(value).hex().upper()
        case StructType():
            return {str(f.field_id): value_to_json(f.type, v) for f, v in zip(t.fields, value, strict=True)}
        case ListType():
            return [value_to_json(t.element, v) for v in value]
        case MapType():
            return {
                "keys": [value_to_json(t.key, k) for k, _ in value],
                "values": [value_to_json(t.value, v) for _, v in value],
            }
        case _:
            return value


def value_from_json(t: IcebergType, json: Any) -> Any:
    """The internal value of a JSON one; CORRUPT when it is not of the type."""
    if json is None:
        return None
    try:
        return _read(t, json)
    except (ValueError, TypeError, KeyError, InvalidOperation) as e:
        raise corrupt(f"{json!r} is not a value of type {t}.") from e


def _read(t: IcebergType, json: Any) -> Any:
    match t, json:
        case (BooleanType(), bool()) | (StringType(), str()):
            return json
        case ((IntegerType() | LongType()), int()) if not isinstance(json, bool):
            return json
        case ((FloatType() | DoubleType()), (int() | float())) if not isinstance(json, bool):
            return float(json)
        case DecimalType(scale=scale), str():
            return decimal_of(unscaled_decimal(Decimal(json), scale), scale)
        case DateType(), str():
            return _read_date(json)
        case TimeType(), str():
            return _read_clock(json, 6)
        case ((TimestampType() | TimestamptzType()), str()):
            return _read_moment(json, 6)
        case ((TimestampNsType() | TimestamptzNsType()), str()):
            return _read_moment(json, 9)
        case UUIDType(), str():
            return UUID(json)
        case ((BinaryType() | FixedType()), str()):
            return bytes.fromhex(json)
        case StructType(), dict():
            # A field that the JSON leaves out has its own default.
            return tuple(value_from_json(f.type, json.get(str(f.field_id), f.initial_default)) for f in t.fields)
        case ListType(), list():
            return [value_from_json(t.element, v) for v in json]
        case MapType(), dict():
            pairs = zip(json["keys"], json["values"], strict=True)
            return [(value_from_json(t.key, k), value_from_json(t.value, v)) for k, v in pairs]
        case _:
            raise TypeError("another type")


def _moment(ticks: int, digits: int, *, instant: bool) -> str:
    days, rest = divmod(ticks, 86_400 * 10**digits)
    return f"{date_text(days)}T{_clock(rest, digits)}{'+00:00' if instant else ''}"


def _clock(ticks: int, digits: int) -> str:
    seconds, fraction = divmod(ticks, 10**digits)
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:0{digits}d}"


def _read_date(text: str) -> int:
    m = _DATE.fullmatch(text)
    if m is None:
        raise ValueError(text)
    year, month, day = int(m[1]), int(m[2]), int(m[3])
    days = days_from_civil(year, month, day)
    if not 1 <= month <= 12 or date_text(days)[-5:] != text[-5:]:
        raise ValueError(text)
    return days


def _read_clock(text: str, digits: int) -> int:
    m = _TIME.fullmatch(text)
    if m is None or int(m[1]) > 23 or int(m[2]) > 59 or int(m[3] or 0) > 59:
        raise ValueError(text)
    seconds = (int(m[1]) * 60 + int(m[2])) * 60 + int(m[3] or 0)
    return seconds * int(10**digits) + int((m[4] or "0").ljust(9, "0")[:digits])


def _read_moment(text: str, digits: int) -> int:
    day, _, clock = text.partition("T")
    offset = _OFFSET.search(clock)
    minutes = 0
    if offset is not None:
        clock = clock[: offset.start()]
        if offset[1]:
            minutes = (int(offset[2]) * 60 + int(offset[3])) * (-1 if offset[1] == "-" else 1)
    return (_read_date(day) * 1440 - minutes) * 60 * int(10**digits) + _read_clock(clock, digits)
