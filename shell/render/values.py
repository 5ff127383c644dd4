"""The text of a value, as every layout of text shows it (tableau, csv): one writer a type.

A writer takes a value that is not NULL, as :data:`bergsql.engine.result.Row` describes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from typing import Any

from bergsql.engine.sql.types import INTEGERS, DataType, Kind

Writer = Callable[[Any], str]

NULL_INSIDE = "NULL"
"""NULL inside an ARRAY, MAP or ROW; at top level each layout has its own mark."""

_EPOCH = datetime(1970, 1, 1)


def value_writer(type_: DataType, zone: str) -> Writer:
    """What writes values of ``type_``; instants are shown in the time zone of the name ``zone``."""
    match type_.kind:
        case Kind.BOOLEAN:
            return _boolean
        case kind if kind in INTEGERS or kind in (Kind.HUGEINT, Kind.UUID):
            return str
        case Kind.FLOAT | Kind.DOUBLE:
            from bergsql.catalog.metadata.java_floats import double_text, float_text

            return float_text if type_.kind is Kind.FLOAT else double_text
        case Kind.TIME:
            return time_writer(type_.precision)
        case Kind.TIMESTAMP:
            return timestamp_writer(type_.fractional_digits)
        case Kind.TIMESTAMP_LTZ:
            return timestamp_writer(type_.fractional_digits, _time_zone(zone))
        case Kind.INTERVAL_YEAR_MONTH:
            return year_month_text
        case Kind.INTERVAL_DAY_TIME:
            return day_time_text
        case Kind.ARRAY | Kind.MULTISET:
            return _array(value_writer(type_.children[0].type, zone))
        case Kind.MAP:
            key, value = (value_writer(child.type, zone) for child in type_.children)
            return _map(key, value)
        case Kind.ROW:
            return _row([value_writer(child.type, zone) for child in type_.children])
        case _:
            return plain_text


def texts(values: Sequence[object], write: Writer, null: str) -> list[str]:
    """The text of each value of a column."""
    return [null if v is None else write(v) for v in values]


def plain_text(value: Any) -> str:
    """The text of a value that needs no type: strings, decimals, dates, bytes."""
    if isinstance(value, str):
        return value
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    return value.isoformat() if isinstance(value, date) else str(value)


def _boolean(value: bool) -> str:
    return "TRUE" if value else "FALSE"


def timestamp_writer(digits: int, zone: tzinfo = UTC) -> Writer:
    """Writes datetimes, or nanoseconds since 1970, in UTC or without a zone, padded to ``digits`` of a second."""
    length = len("yyyy-mm-dd hh:mm:ss") + (1 + digits if digits else 0)

    def write(value: datetime | int | str) -> str:
        if isinstance(value, datetime):
            try:
                local = value if zone is UTC else _in_zone(value, zone)
            except OverflowError:  # the first and last hours of the years that Python knows
                return _far_in_zone(value.isoformat(" "), zone)
            return local.isoformat(" ", "microseconds")[:length].ljust(length, "0")
        if isinstance(value, str):  # beyond the years that Python knows
            return value if zone is UTC else _far_in_zone(value, zone)
        seconds, nanos = divmod(value, 1_000_000_000)
        local = _EPOCH + timedelta(seconds=seconds)
        if zone is not UTC:
            local = _in_zone(local, zone)
        return f"{local.isoformat(' ', 'seconds')}.{nanos:09d}"[:length]

    return write


def _time_zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # takes a while to import: only results with instants need it

    return ZoneInfo(name)


def _in_zone(value: datetime, zone: tzinfo) -> datetime:
    return value.replace(tzinfo=UTC).astimezone(zone).replace(tzinfo=None)


_CYCLE = 400
"""Years after which days of the month, of the week and leap years come again."""


def _far_in_zone(text: str, zone: tzinfo) -> str:
    """An instant of a year that Python has not, written in UTC (``-0044-03-15 10:00:00``), as ``zone`` has it.

    It is moved by whole cycles of years to where the zone has the same rules: those from before its first change for
    the past, the last ones for the future.
    """
    found = re.fullmatch(r"([+-]?\d+)(-\d\d-\d\d \d\d:\d\d:\d\d)(.*)", text, re.ASCII)
    if found is None:  # infinity
        return text
    year = int(found[1])
    near = (_CYCLE if year < _CYCLE else 9200) + year % _CYCLE
    local = _in_zone(datetime.fromisoformat(f"{near:04}{found[2]}"), zone)
    year += local.year - near
    sign = "-" if year < 0 else "+" if found[1][0] == "+" else ""
    return f"{sign}{abs(year):04}{local:-%m-%d %H:%M:%S}{found[3]}"


def time_writer(precision: int | None) -> Writer:
    """Writes times of day, or nanoseconds of the day. Without a precision: as many digits as there are."""

    def write(value: time | int | str) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, int):
            seconds, nanos = divmod(value, 1_000_000_000)
            text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
        else:
            nanos = value.microsecond * 1000
            text = value.isoformat("seconds")
        fraction = f"{nanos:09d}"
        digits = (0 if not nanos else 9 if nanos % 1000 else 6) if precision is None else precision
        return f"{text}.{fraction[:digits]}" if digits else text

    return write


def year_month_text(months: int) -> str:
    """``+1-02``: a year and two months."""
    return f"{'-' if months < 0 else '+'}{abs(months) // 12}-{abs(months) % 12:02d}"


def day_time_text(micros: int) -> str:
    """``+3 00:00:00.000``: three days; six digits where there are microseconds."""
    seconds, fraction = divmod(abs(micros), 1_000_000)
    days, seconds = divmod(seconds, 86_400)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    digits = f"{fraction:06d}" if fraction % 1000 else f"{fraction // 1000:03d}"
    return f"{'-' if micros < 0 else '+'}{days} {clock}.{digits}"


def _array(element: Writer) -> Writer:
    return lambda value: f"[{', '.join(NULL_INSIDE if x is None else element(x) for x in value)}]"


def _map(key: Writer, value: Writer) -> Writer:
    def write(pairs: list[tuple[object, object]]) -> str:
        parts = (f"{NULL_INSIDE if k is None else key(k)}={NULL_INSIDE if v is None else value(v)}" for k, v in pairs)
        return f"{{{', '.join(parts)}}}"

    return write


def _row(parts: list[Writer]) -> Writer:
    def write(values: tuple[object, ...]) -> str:
        inner = (NULL_INSIDE if v is None else part(v) for part, v in zip(parts, values, strict=True))
        return f"({', '.join(inner)})"

    return write
