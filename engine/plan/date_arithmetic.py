"""Dates, timestamps and intervals in ``+``, ``-`` and ``*``."""

from __future__ import annotations

from bergsql.catalog.errors import BergError
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.casts import coerce
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.sql.parser.query import Place
from bergsql.engine.sql.types import DATE, INT, INTEGERS, INTERVALS, NUMBERS, STAMPS, TEXTS, DataType, Kind

DAY_TIME = DataType(Kind.INTERVAL_DAY_TIME)
DAYS_ONLY = DataType(Kind.INTERVAL_DAY_TIME, 0)
"""The type of an interval that is a whole number of days: only then Spark's ``date + interval`` is a date."""


def mixed_interval(place: Place) -> BergError:
    """Spark's "Cannot mix year-month and day-time fields": how long such an interval is depends on where it begins."""
    return type_error(
        "An interval is of months, or of days and times, never of both.",
        place,
        "Add the two one by one: d + INTERVAL 1 MONTH + INTERVAL 2 DAY.",
    )


def date_arithmetic(symbol: str, a: Bound, b: Bound, context: Context) -> Bound | None:
    """The result when an operand is a date, a timestamp or an interval; else None."""
    x, y = a.type.kind, b.type.kind
    temporal = (*STAMPS, Kind.DATE, Kind.TIME)
    if symbol == "+" and x in INTERVALS and y in temporal:
        return date_arithmetic("+", b, a, context)
    if x in TEXTS and y in INTERVALS and context.spark and symbol in "+-":
        a = coerce(a, DataType(Kind.TIMESTAMP_LTZ, 6), context)
        x = Kind.TIMESTAMP_LTZ
    if x in temporal and y in INTERVALS and symbol in "+-":
        moved = _moved(symbol, a, b, context)
        if images_of(a) and x is not Kind.TIME:
            from bergsql.engine.plan.monotone import attach_moved

            stamp = a if moved.type.kind is x else coerce(a, moved.type, context)
            attach_moved(moved, symbol, stamp, b, context)
        return moved
    if x is Kind.DATE and y in INTEGERS and symbol in "+-" and context.spark:
        word = "date_add" if symbol == "+" else "date_sub"
        days = coerce(b, INT, context)
        result = Bound.of(f"({a.sql} {symbol} {days.sql})", DATE, f"{word}({a.text}, {b.text})", a, days)
        if images_of(a):
            from bergsql.engine.plan.monotone import attach_days

            attach_days(result, a, days, 1 if symbol == "+" else -1, context)
        return result
    if symbol == "-" and x in temporal and y in temporal:
        return _difference(a, b, context)
    if x in INTERVALS and y in INTERVALS and symbol in "+-" and x is y:
        return Bound.of(f"({a.sql} {symbol} {b.sql})", a.type, f"({a.text} {symbol} {b.text})", a, b)
    if x in INTERVALS and y in INTERVALS and symbol in "+-":
        raise mixed_interval(None)
    if symbol == "*" and ((x in INTERVALS and y in NUMBERS) or (x in NUMBERS and y in INTERVALS)):
        return _scaled(a, b)
    if symbol == "/" and x in INTERVALS and y in NUMBERS:
        made = "to_months(CAST(round(epoch_us({0}) / 2592000000000 / {1}) AS INTEGER))"
        if x is Kind.INTERVAL_DAY_TIME:
            made = "to_microseconds(CAST(round(epoch_us({0}) / {1}) AS BIGINT))"
        return Bound.of(made.format(a.sql, b.sql), DataType(x), f"({a.text} / {b.text})", a, b, nullable=True)
    return None


def _moved(symbol: str, a: Bound, b: Bound, context: Context) -> Bound:
    text = f"{a.text} {symbol} {b.text}"
    sql = f"({a.sql} {symbol} {b.sql})"
    if a.type.kind is Kind.TIME:
        return Bound.of(sql, a.type, text, a, b)
    if a.type.kind is Kind.TIMESTAMP_LTZ and b.type.kind is Kind.INTERVAL_YEAR_MONTH:
        from bergsql.engine.plan.zones import moved

        sql = moved(a.sql, f"{symbol} {b.sql}", context.planner.relations.time_zone)
    if a.type.kind is not Kind.DATE:
        return Bound.of(sql, _with_fraction(a.type, b.type), text, a, b)
    # DuckDB makes a TIMESTAMP of it.
    if context.spark and b.type.kind is Kind.INTERVAL_DAY_TIME and b.type.precision != 0:
        stamp = coerce(a, DataType(Kind.TIMESTAMP_LTZ, 6), context)
        return Bound.of(f"({stamp.sql} {symbol} {b.sql})", stamp.type, text, stamp, b)
    if context.spark and b.type.kind is Kind.INTERVAL_DAY_TIME:
        days = b.text if symbol == "+" else f"(- {b.text})"
        text = f"date_add({a.text}, extractansiintervaldays({days}))"
    return Bound.of(f"CAST({sql} AS DATE)", DATE, text, a, b)


def _with_fraction(stamp: DataType, interval: DataType) -> DataType:
    """Flink's TIMESTAMP(0) plus an interval has milliseconds."""
    if stamp.precision is not None and stamp.precision < 3 and interval.kind is Kind.INTERVAL_DAY_TIME:
        return DataType(stamp.kind, 3)
    return stamp


def _difference(a: Bound, b: Bound, context: Context) -> Bound:
    text = f"({a.text} - {b.text})"
    if a.type.kind is Kind.DATE and b.type.kind is Kind.DATE:
        return Bound.of(f"to_days(CAST({a.sql} - {b.sql} AS INTEGER))", DAYS_ONLY, text, a, b)
    wanted = a.type if a.type.kind in STAMPS else b.type
    if Kind.TIMESTAMP_LTZ in (a.type.kind, b.type.kind):
        wanted = DataType(Kind.TIMESTAMP_LTZ, 6)
    a, b = coerce(a, wanted, context), coerce(b, wanted, context)
    if context.spark and wanted.kind is Kind.TIMESTAMP_LTZ:  # what clocks show: a day is 24 hours
        between = f"epoch_us(CAST({a.sql} AS TIMESTAMP)) - epoch_us(CAST({b.sql} AS TIMESTAMP))"
        return Bound.of(f"to_microseconds({between})", DAY_TIME, text, a, b)
    return Bound.of(f"to_microseconds(epoch_us({a.sql}) - epoch_us({b.sql}))", DAY_TIME, text, a, b)


def _scaled(a: Bound, b: Bound) -> Bound:
    interval, number = (a, b) if a.type.kind in INTERVALS else (b, a)
    if interval.type.kind is Kind.INTERVAL_YEAR_MONTH:
        months = f"(datepart('year', {interval.sql}) * 12 + datepart('month', {interval.sql}))"
        sql = f"to_months(CAST(round({months} * {number.sql}) AS INTEGER))"
    else:
        sql = f"to_microseconds(CAST(round(epoch_us({interval.sql}) * {number.sql}) AS BIGINT))"
    return Bound.of(sql, DataType(interval.type.kind), f"({a.text} * {b.text})", a, b)
