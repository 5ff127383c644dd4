"""Partition transforms turned around: which values of a column can have been transformed to what a partition says."""

from __future__ import annotations

from typing import Any

from bergsql.catalog.metadata.exact import (
    MICROS_A_DAY,
    MICROS_AN_HOUR,
    days_from_civil,
    decimal_of,
    unscaled_decimal,
)
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import (
    NANOSECOND_TIMESTAMPS,
    DateType,
    DecimalType,
    IcebergType,
    IntegerType,
    LongType,
    UUIDType,
)
from bergsql.engine.table.successor import successor


def source_interval(transform: Transform, source: IcebergType, low: Any, high: Any) -> tuple[Any, Any]:
    """The least and the greatest source value whose transformed values can lie from ``low`` to ``high``.

    None stands for "not known" on either side, going in and coming out.
    """
    kind = transform.kind
    if kind is TransformKind.IDENTITY:
        # Writers disagree on the order of UUIDs (Java compared them as signed numbers).
        return (low, high) if not isinstance(source, UUIDType) or low == high else (None, None)
    if kind is TransformKind.TRUNCATE:
        return _truncated_from(low, high, transform.width, source)
    if not transform.is_time:
        return None, None
    # Old writers rounded times before 1970 towards zero, so that a value may stand one too high.
    first = None if low is None else low - 1 if low <= 0 else low
    lower = None if first is None else _start_of(kind, first, source)
    upper = None if high is None else _start_of(kind, high + 1, source) - 1
    return lower, upper


def _truncated_from(low: Any, high: Any, width: int, source: IcebergType) -> tuple[Any, Any]:
    """The least and the greatest source value, not known where Java's arithmetic may have overflowed."""
    limits: tuple[int, ...] = ()
    if isinstance(source, IntegerType | LongType):
        # A long may have been an int when its file was written.
        limits = (2**31, 2**63) if isinstance(source, LongType) else (2**31,)
    for limit in limits:
        if 2 * width > limit and (low is None or low < limit) and (high is None or high >= -limit):
            return None, None
        if (low is None or low < limit) and (high is None or high > limit - width):
            low = None  # the least numbers were wrapped to the greatest
    return low, _truncated_to(high, width, source)


def _truncated_to(value: Any, width: int, source: IcebergType) -> Any:
    """The greatest source value that truncates to ``value``, or something above all of them; None if there is none."""
    match value:
        case None:
            return None
        case str():
            return value if len(value) < width else successor(value)
        case bytes():
            return value if len(value) < width else successor(value)
        case int():
            return value + width - 1
    scale = source.scale if isinstance(source, DecimalType) else 0
    return decimal_of(unscaled_decimal(value, scale) + width - 1, scale)


def _start_of(kind: TransformKind, value: int, source: IcebergType) -> int:
    """The first date or time (in the source's unit) of a year, month, day or hour counted from 1970."""
    if kind is TransformKind.HOUR:
        micros = value * MICROS_AN_HOUR
    else:
        if kind is TransformKind.YEAR:
            days = days_from_civil(1970 + value, 1, 1)
        elif kind is TransformKind.MONTH:
            days = days_from_civil(1970 + value // 12, value % 12 + 1, 1)
        else:
            days = value
        if isinstance(source, DateType):
            return days
        micros = days * MICROS_A_DAY
    return micros * 1000 if isinstance(source, NANOSECOND_TIMESTAMPS) else micros
