"""Partition transforms as DuckDB SQL: which partition each row belongs to, exactly as Iceberg defines it.

A partition value is computed as a *key*, a DuckDB value whose text says all of it (an integer for a date, hexadecimal
digits for bytes), and read back from that text by :attr:`PartitionKey.decode`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from bergsql.catalog.errors import not_supported
from bergsql.catalog.metadata.exact import MICROS_AN_HOUR, decimal_of, wrapped
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import (
    NANOSECOND_TIMESTAMPS,
    TIMESTAMPS,
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
from bergsql.engine.table.murmur_sql import hash_of_bytes, hash_of_long, hash_of_number, hash_of_uuid
from bergsql.engine.table.sql_steps import Steps


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """The column that holds a partition field's key, and how its text becomes the internal partition value."""

    column: str
    decode: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Partitioned:
    """A transform of a source column, which is given as SQL and Iceberg type."""

    transform: Transform
    source: str
    type: IcebergType


def with_partition_keys(
    source: str, fields: Sequence[Partitioned], prefix: str
) -> tuple[str, tuple[PartitionKey, ...]]:
    """``source`` (something to select from) with a key column for each partition field.

    ``prefix`` begins the names of all helper columns and must begin no column of ``source``.
    """
    steps = Steps(prefix)
    keys = tuple(_key(steps, f.transform, steps.given(f.source), f.type) for f in fields)
    return steps.over(source), keys


def _key(steps: Steps, transform: Transform, value: str, t: IcebergType) -> PartitionKey:
    match transform.kind:
        case TransformKind.IDENTITY:
            return PartitionKey(steps.add(_identity(value, t)), _decoder(t))
        case TransformKind.BUCKET:
            return PartitionKey(steps.add(f"({_hash(steps, value, t)} & {0x7FFFFFFF}) % {transform.width}"), int)
        case TransformKind.TRUNCATE:
            return _truncate(steps, value, t, transform.width)
        case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY | TransformKind.HOUR:
            return PartitionKey(steps.add(units_since_1970(transform.kind, value, t)), int)
        case TransformKind.VOID:
            return PartitionKey(steps.add("CAST(NULL AS INTEGER)"), int)
        case _:
            raise not_supported(f"Writing partitions of the transform '{transform}'")


# --- identity ---------------------------------------------------------------------------------------------------------


def _identity(value: str, t: IcebergType) -> str:
    """SQL of a value whose text is exact, and equal only for equal partition values."""
    match t:
        case DateType():
            return f"date_diff('day', DATE '1970-01-01', {value})"
        case TimeType() | TimestampType() | TimestamptzType():
            return f"epoch_us({value})"
        case TimestampNsType() | TimestamptzNsType():
            return f"epoch_ns({value})"
        case FloatType() | DoubleType():
            # As text, because DuckDB groups -0.0 with 0.0 and Iceberg does not.
            return f"CAST({value} AS VARCHAR)"
        case BinaryType() | FixedType():
            return f"hex({value})"
        case _:
            return value


def _decoder(t: IcebergType) -> Callable[[str], object]:
    match t:
        case BooleanType():
            return lambda text: text == "true"
        case FloatType():
            return lambda text: struct.unpack("<f", struct.pack("<f", float(text)))[0]
        case DoubleType():
            return float
        case DecimalType():
            return Decimal
        case UUIDType():
            return UUID
        case BinaryType() | FixedType():
            return bytes.fromhex
        case StringType():
            return str
        case _:
            return int


# --- times ------------------------------------------------------------------------------------------------------------


def units_since_1970(unit: TransformKind, value: str, t: IcebergType) -> str:
    """SQL of the whole years, months, days or hours since 1970 at a date or timestamp, in UTC.

    ``value`` is named several times in it.
    """
    moment = _moment(value, t)
    match unit:
        case TransformKind.YEAR:
            return f"year({moment}) - 1970"
        case TransformKind.MONTH:
            return f"(year({moment}) - 1970) * 12 + month({moment}) - 1"
        case TransformKind.DAY:
            return _identity(f"CAST({moment} AS DATE)", DateType())
        case _:
            return _floor_divided(_micros(value, t), MICROS_AN_HOUR)


def _moment(value: str, t: IcebergType) -> str:
    """SQL of a date, or of a timestamp without time zone, in UTC."""
    return value if isinstance(t, DateType | TimestampType) else f"make_timestamp({_micros(value, t)})"


def _micros(value: str, t: IcebergType) -> str:
    """SQL of the microseconds since 1970 of a timestamp; nanoseconds count as the microsecond that they are in."""
    return _floor_divided(f"epoch_ns({value})", 1000) if isinstance(t, NANOSECOND_TIMESTAMPS) else f"epoch_us({value})"


def _floor_divided(value: str, by: int) -> str:
    """Division that rounds down, also below zero, where DuckDB's rounds towards zero."""
    return f"(({value}) // {by} - CASE WHEN ({value}) % {by} < 0 THEN 1 ELSE 0 END)"


# --- truncate and bucket ----------------------------------------------------------------------------------------------


def _truncate(steps: Steps, value: str, t: IcebergType, width: int) -> PartitionKey:
    match t:
        case StringType():
            return PartitionKey(steps.add(f"left({value}, {width})"), str)
        case BinaryType():
            return PartitionKey(steps.add(f"hex(({value})[1:{width}])"), bytes.fromhex)
        case DecimalType(scale=scale):
            number = steps.add(unscaled(value))
            return PartitionKey(steps.add(floored(number, width)), lambda text: decimal_of(int(text), scale))
        case IntegerType() | LongType():
            # Wider than the column: the multiple below the least number may lie outside the column's own type.
            number = steps.add(f"CAST({value} AS HUGEINT)")
            bits = 32 if isinstance(t, IntegerType) else 64
            return PartitionKey(steps.add(floored(number, width, bits)), lambda text: wrapped(int(text), bits))
        case _:
            raise not_supported(f"Truncating {t}")


def floored(number: str, width: int, bits: int = 128) -> str:
    """SQL of the multiple of ``width`` below a HUGEINT, as Java computes it with numbers of so many bits.

    ``number`` is named several times in it. The multiple below the least number lies outside of its bits.
    """
    above = f"({number} % {width}) + {width}"
    if 2 * width > 1 << (bits - 1):
        above = f"{above} - CASE WHEN {above} >= {1 << (bits - 1)} THEN {1 << bits} ELSE 0 END"
    return f"{number} - ({above}) % {width}"


def unscaled(value: str) -> str:
    """SQL of a decimal's digits as a whole number; by its text, because shifting the point could overflow."""
    return f"CAST(replace(CAST({value} AS VARCHAR), '.', '') AS HUGEINT)"


def _hash(steps: Steps, value: str, t: IcebergType) -> str:
    match t:
        case IntegerType() | LongType():
            return hash_of_long(steps, f"CAST({value} AS BIGINT)")
        case DateType() | TimeType():
            return hash_of_long(steps, _identity(value, t))
        case StringType():
            return hash_of_bytes(steps, f"hex({value})", f"octet_length(encode({value}))")
        case BinaryType() | FixedType():
            return hash_of_bytes(steps, f"hex({value})", f"octet_length({value})")
        case UUIDType():
            return hash_of_uuid(steps, value)
        case DecimalType(precision=precision):
            return hash_of_number(steps, unscaled(value), 2 if precision <= 18 else 4)
        case _ if isinstance(t, TIMESTAMPS):
            return hash_of_long(steps, _micros(value, t))
        case _:
            raise not_supported(f"Bucketing {t}")
