"""Values of Iceberg's types: the internal form, Python's and the binary one (spec, Appendix D); JSON's: value_json.py.

Internal values: bool, int, float, Decimal at the type's scale, str, bytes, uuid.UUID; int days for a date, int
microseconds of the day for a time, int microseconds since 1970 for timestamps (nanoseconds for the ns types); tuple for
a struct, list for a list, list of pairs for a map; None for NULL. Python values are those of engine/result.py: dates,
times and naive datetimes (in UTC for an instant) instead of the ints, except that nanoseconds stay ints.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.exact import MICROS_A_DAY, decimal_of, minimal_bytes, unscaled_decimal
from bergsql.catalog.metadata.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    GeographyType,
    GeometryType,
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

EPOCH = datetime(1970, 1, 1)
EPOCH_ORDINAL = date(1970, 1, 1).toordinal()
_MICROSECOND = timedelta(microseconds=1)


def to_internal(t: IcebergType, value: object) -> object:
    """The internal form of a Python value; internal values pass through. TYPE error when it is not of the type."""
    if value is None:
        return None
    match t, value:
        case BooleanType(), bool():
            return value
        case ((IntegerType() | LongType()), int()) if not isinstance(value, bool):
            return value
        case ((FloatType() | DoubleType()), (int() | float())) if not isinstance(value, bool):
            return float(value)
        case DecimalType(scale=scale), (Decimal() | int()) if not isinstance(value, bool):
            return decimal_of(unscaled_decimal(Decimal(value), scale), scale)
        case StringType(), str():
            return value
        case UUIDType(), (UUID() | str()):
            return value if isinstance(value, UUID) else UUID(value)
        case ((BinaryType() | FixedType() | GeometryType() | GeographyType()), (bytes() | bytearray() | memoryview())):
            return bytes(value)
        case _ if (ticks := _to_ticks(t, value)) is not None:
            return ticks
    raise BergError(ErrorCode.TYPE, f"{value!r} is not a value of type {t}.")


def _to_ticks(t: IcebergType, value: object) -> int | None:
    """Days, microseconds or nanoseconds of a date or time value; None when ``t`` does not take it."""
    match t, value:
        case ((DateType() | TimeType() | TimestampType() | TimestamptzType()), int()) if not isinstance(value, bool):
            return value
        case ((TimestampNsType() | TimestamptzNsType()), int()) if not isinstance(value, bool):
            return value
        case DateType(), date() if not isinstance(value, datetime):
            return value.toordinal() - EPOCH_ORDINAL
        case TimeType(), time():
            return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
        case ((TimestampType() | TimestamptzType()), datetime()):
            return _micros(value)
        case ((TimestampNsType() | TimestamptzNsType()), datetime()):
            return _micros(value) * 1000
        case _:
            return None


def _micros(moment: datetime) -> int:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return (moment - EPOCH) // _MICROSECOND


def to_python(t: IcebergType, value: Any) -> object:
    """The Python form of an internal value (nested ones included); INVALID for years Python's calendar lacks."""
    if value is None:
        return None
    try:
        match t:
            case DateType():
                return date.fromordinal(value + EPOCH_ORDINAL)
            case TimeType():
                return (EPOCH + timedelta(microseconds=value)).time()
            case TimestampType() | TimestamptzType():
                return EPOCH + timedelta(microseconds=value)
            case StructType():
                return tuple(to_python(f.type, v) for f, v in zip(t.fields, value, strict=True))
            case ListType():
                return [to_python(t.element, v) for v in value]
            case MapType():
                return [(to_python(t.key, k), to_python(t.value, v)) for k, v in value]
            case _:
                return value
    except (OverflowError, ValueError) as e:
        raise BergError(ErrorCode.INVALID, f"The {t} {value} is outside the years 1 to 9999.") from e


# --- the binary form -------------------------------------------------------------------------------------------------

INT = struct.Struct("<i")
LONG = struct.Struct("<q")
FLOAT = struct.Struct("<f")
DOUBLE = struct.Struct("<d")
"""How numbers are laid out; dates and times are numbers."""


def to_bytes(t: IcebergType, value: object) -> bytes:
    """The binary form of a primitive value (Python's or internal), as bounds in manifests hold it."""
    internal: Any = to_internal(t, value)
    match t:
        case BooleanType():
            return b"\x01" if internal else b"\x00"
        case IntegerType() | DateType():
            return INT.pack(internal)
        case LongType() | TimeType() | TimestampType() | TimestamptzType() | TimestampNsType() | TimestamptzNsType():
            return LONG.pack(internal)
        case FloatType():
            return FLOAT.pack(internal)
        case DoubleType():
            return DOUBLE.pack(internal)
        case StringType():
            return str(internal).encode()
        case UUIDType():
            return bytes(internal.bytes)
        case DecimalType(scale=scale):
            return minimal_bytes(unscaled_decimal(internal, scale))
        case BinaryType() | FixedType():
            return bytes(internal)
        case _:
            raise BergError(ErrorCode.TYPE, f"A {t} has no binary form.")


def from_bytes(t: IcebergType, data: bytes) -> Any:
    """The internal value of a binary form. A bound written before the column was promoted is promoted too."""
    reader = _READERS.get(type(t))
    try:
        if reader is not None:
            return reader(data)
        if isinstance(t, DecimalType):
            return decimal_of(int.from_bytes(data, "big", signed=True), t.scale)
    except (struct.error, ValueError) as e:
        raise BergError(ErrorCode.CORRUPT, f"{data.hex()} is not the binary form of a {t}.") from e
    raise BergError(ErrorCode.TYPE, f"A {t} has no binary form.")


def _read_long(data: bytes) -> int:
    (number,) = INT.unpack(data) if len(data) == INT.size else LONG.unpack(data)
    return int(number)


def _read_double(data: bytes) -> float:
    (number,) = FLOAT.unpack(data) if len(data) == FLOAT.size else DOUBLE.unpack(data)
    return float(number)


def _read_micros(data: bytes) -> int:
    # Four bytes are days: the column was a date when the file was written (v3).
    return int(INT.unpack(data)[0]) * MICROS_A_DAY if len(data) == INT.size else int(LONG.unpack(data)[0])


def _read_nanos(data: bytes) -> int:
    return _read_micros(data) * 1000 if len(data) == INT.size else int(LONG.unpack(data)[0])


_READERS: dict[type[IcebergType], Callable[[bytes], Any]] = {
    BooleanType: lambda data: data != b"\x00",
    IntegerType: lambda data: INT.unpack(data)[0],
    DateType: lambda data: INT.unpack(data)[0],
    LongType: _read_long,
    TimeType: lambda data: LONG.unpack(data)[0],
    TimestampType: _read_micros,
    TimestamptzType: _read_micros,
    TimestampNsType: _read_nanos,
    TimestamptzNsType: _read_nanos,
    FloatType: lambda data: FLOAT.unpack(data)[0],
    DoubleType: _read_double,
    StringType: lambda data: data.decode(),
    UUIDType: lambda data: UUID(bytes=bytes(data)),
    BinaryType: bytes,
    FixedType: bytes,
}
