"""The statistics of a data file, from what DuckDB says after writing it (COPY … RETURN_STATS).

DuckDB gives texts: counts and bounds by column path. Iceberg wants numbers and Appendix D's binary form by field id,
the bounds of strings and bytes cut to a length so that they still bound (spec, "Manifests").
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from bergsql.catalog.metadata.exact import days_from_civil, minimal_bytes
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
    LongType,
    StringType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UUIDType,
)
from bergsql.catalog.metadata.values import DOUBLE, FLOAT, INT, LONG
from bergsql.engine.table.column_names import Leaf, WrittenColumn, leaves
from bergsql.engine.table.properties import MetricsMode, WriteProperties
from bergsql.engine.table.successor import successor

DuckStatistics = Mapping[str, Mapping[str, str]]
"""What DuckDB says of a file: by column path, by name of the figure."""

ToBound = Callable[[str], bytes | None]


@dataclass(frozen=True, slots=True)
class FileStatistics:
    """Statistics by field id, as :class:`~bergsql.engine.table.datafile.DataFile` holds them."""

    column_sizes: dict[int, int] = field(default_factory=dict)
    value_counts: dict[int, int] = field(default_factory=dict)
    null_counts: dict[int, int] = field(default_factory=dict)
    nan_counts: dict[int, int] = field(default_factory=dict)
    lower_bounds: dict[int, bytes] = field(default_factory=dict)
    upper_bounds: dict[int, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Column:
    """One leaf and what is to be kept of it. ``lower`` and ``upper`` are None when no bounds are."""

    leaf: Leaf
    counts: bool
    nan_counts: bool
    lower: ToBound | None
    upper: ToBound | None
    mode: MetricsMode


class StatisticsReader:
    """Reads the statistics of the files of one table."""

    def __init__(self, columns: Sequence[WrittenColumn], properties: WriteProperties) -> None:
        self._columns = [
            _column(leaf, _mode(leaf, position, properties)) for position, leaf in enumerate(leaves(columns))
        ]

    def read(self, given: DuckStatistics) -> FileStatistics:
        """The statistics of one file."""
        out = FileStatistics()
        for column in self._columns:
            figures = given.get(column.leaf.path)
            if figures is None:
                continue
            field_id = column.leaf.field_id
            out.column_sizes[field_id] = int(figures["column_size_bytes"])
            if not column.counts:
                continue
            out.value_counts[field_id] = int(figures["num_values"])
            out.null_counts[field_id] = int(figures["null_count"])
            if column.nan_counts and "nan_count" in figures:
                out.nan_counts[field_id] = int(figures["nan_count"])
            if column.lower is not None and column.upper is not None:
                _put(out.lower_bounds, field_id, column.lower, figures.get("min"))
                _put(out.upper_bounds, field_id, column.upper, figures.get("max"))
        return out

    def unbounded(self, given: DuckStatistics) -> list[tuple[Leaf, MetricsMode]]:
        """The fields whose bounds DuckDB left out, or cut too short, though the file has values of them.

        It does so for long strings of wide characters and for row groups that hold only NaN.
        """
        found = []
        for column in self._columns:
            figures = given.get(column.leaf.path)
            if column.lower is None or figures is None or column.leaf.sql is None:
                continue
            values = int(figures["num_values"]) - int(figures["null_count"]) - int(figures.get("nan_count", 0))
            if values > 0 and not (_enough(figures, "min", column.mode) and _enough(figures, "max", column.mode)):
                found.append((column.leaf, column.mode))
        return found


def _enough(figures: Mapping[str, str], which: str, mode: MetricsMode) -> bool:
    text = figures.get(which)
    if text is None:
        return False
    if figures.get(f"{which}_is_exact") == "true":
        return True
    return mode.length is not None and len(text) > mode.length


def _put(bounds: dict[int, bytes], field_id: int, convert: ToBound, text: str | None) -> None:
    bound = None if text is None else convert(text)
    if bound is not None:
        bounds[field_id] = bound


def _mode(leaf: Leaf, position: int, properties: WriteProperties) -> MetricsMode:
    given = properties.column_metrics.get(leaf.name)
    if given is not None:
        return given
    if position >= properties.metrics_columns:
        return MetricsMode(counts=False, bounds=False)
    return properties.default_metrics


def _column(leaf: Leaf, mode: MetricsMode) -> _Column:
    # Java keeps nothing but the sizes of what is inside lists and maps.
    counts = mode.counts and leaf.sql is not None
    lower, upper = bound_readers(leaf.type, mode.length) if counts and mode.bounds else (None, None)
    return _Column(leaf, counts, isinstance(leaf.type, FloatType | DoubleType), lower, upper, mode)


# --- bounds -----------------------------------------------------------------------------------------------------------


def bound_readers(t: IcebergType, length: int | None) -> tuple[ToBound | None, ToBound | None]:
    """What makes lower and upper bounds of DuckDB's texts of a type's values; None for types without bounds.

    They give None when there is no bound of at most ``length`` characters or bytes.
    """
    match t:
        case StringType():
            return (lambda s: s[:length].encode()), (lambda s: upper_string(s, length))
        case BinaryType() | FixedType():
            return (lambda s: bytes.fromhex(s)[:length]), (lambda s: upper_bytes(bytes.fromhex(s), length))
        case FloatType():
            return _float_bounds(FLOAT)
        case DoubleType():
            return _float_bounds(DOUBLE)
    exact = _exact(t)
    return exact, exact


def _exact(t: IcebergType) -> ToBound | None:
    match t:
        case BooleanType():
            return lambda s: b"\x01" if s in ("1", "true") else b"\x00"
        case IntegerType():
            return lambda s: INT.pack(int(s))
        case LongType():
            return lambda s: LONG.pack(int(s))
        case DecimalType():
            return lambda s: minimal_bytes(int(s.replace(".", "")))
        case DateType():
            return lambda s: INT.pack(days(s))
        case TimeType():
            return lambda s: LONG.pack(clock(s, 6))
        case TimestampType() | TimestamptzType():
            return lambda s: LONG.pack(ticks(s, 6))
        case TimestampNsType() | TimestamptzNsType():
            return lambda s: LONG.pack(ticks(s, 9))
        case UUIDType():
            return lambda s: UUID(s).bytes
        case _:
            return None


def _float_bounds(form: struct.Struct) -> tuple[ToBound, ToBound]:
    # -0.0 is below 0.0 for Iceberg and equal for DuckDB, which may name either: only these two bound both.
    def lower(text: str) -> bytes:
        return form.pack(float(text) or -0.0)

    def upper(text: str) -> bytes:
        return form.pack(float(text) or 0.0)

    return lower, upper


def upper_string(text: str, length: int | None) -> bytes | None:
    """The least string of at most ``length`` code points that is not below any string beginning with ``text``'s.

    None if every code point is the greatest one.
    """
    if length is None or len(text) <= length:
        return text.encode()
    above = successor(text[:length])
    return None if above is None else above.encode()


def upper_bytes(data: bytes, length: int | None) -> bytes | None:
    """As :func:`upper_string`, for bytes."""
    if length is None or len(data) <= length:
        return data
    return successor(data[:length])


# --- DuckDB's texts of dates and times --------------------------------------------------------------------------------

_DATE = re.compile(r"(\d+)-(\d\d)-(\d\d)( \(BC\))?")
_CLOCK = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d+))?")
_INFINITIES = {"infinity": 1, "-infinity": -1}


def days(text: str) -> int:
    """Days since 1970 of DuckDB's text of a date (``0044-03-15 (BC)``, ``infinity``)."""
    if text in _INFINITIES:
        return _INFINITIES[text] * 0x7FFFFFFF
    m = _DATE.match(text)
    if m is None:
        raise ValueError(f"{text!r} is not a date")
    year = 1 - int(m[1]) if m[4] else int(m[1])
    return days_from_civil(year, int(m[2]), int(m[3]))


def clock(text: str, digits: int) -> int:
    """Units of 10^-digits seconds since midnight of DuckDB's text of a time."""
    m = _CLOCK.search(text)
    if m is None:
        raise ValueError(f"{text!r} is not a time")
    seconds = (int(m[1]) * 60 + int(m[2])) * 60 + int(m[3])
    units: int = 10**digits
    return seconds * units + int((m[4] or "").ljust(digits, "0")[:digits])


def ticks(text: str, digits: int) -> int:
    """Units of 10^-digits seconds since 1970 of DuckDB's text of a timestamp; an instant's is in UTC."""
    if text in _INFINITIES:
        return _INFINITIES[text] * 0x7FFFFFFFFFFFFFFF
    units: int = 10**digits
    return days(text) * 86_400 * units + clock(text, digits)
