"""Dates and timestamps from and to text, after patterns of Java's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.java_patterns import Dialect
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.functions.time_reading import read_instant, read_local, reads_zone
from bergsql.engine.sql.functions.time_writing import written
from bergsql.engine.sql.types import (
    BIGINT,
    DATE,
    LTZ3,
    LTZ6,
    NUMBERS,
    STAMP3,
    STAMP6,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Kind,
)

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_PLAIN = "yyyy-MM-dd HH:mm:ss"
_UNREADABLE = "CAST('-9223372036854775808' AS BIGINT)"
"""What Flink's UNIX_TIMESTAMP gives for text that does not read."""


def literal_pattern(bound: Bound) -> str:
    """The pattern as written.

    :raises BergError: UNSUPPORTED where it is not a literal: its SQL is made while the query is planned.
    """
    if not isinstance(bound.constant, str):
        hint = "It is translated before a row is seen. CASE p WHEN 'yyyy' THEN … chooses among several."
        raise not_supported("A date pattern that is not a literal", None, hint)
    return bound.constant


def _dialect(context: Context) -> Dialect:
    return Dialect.SPARK if context.spark else Dialect.FLINK


def _session_zone(context: Context) -> str:
    return context.planner.relations.time_zone


def _date_format(arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    value, pattern = arguments
    if pattern.is_null:
        return "CAST(NULL AS VARCHAR)"
    text = literal_pattern(pattern)
    if context.spark and any(c in text for c in "VzOXxZ"):
        value = coerce(value, LTZ6, context)
    where = _session_zone(context) if value.type.kind is Kind.TIMESTAMP_LTZ else None
    return written(value.sql, text, _dialect(context), where)


def _from_unixtime(arguments: list[Bound], context: Context) -> str:
    pattern = literal_pattern(arguments[1]) if len(arguments) > 1 else _PLAIN
    dialect = Dialect.SPARK if context.spark else Dialect.SIMPLE
    return written(f"make_timestamptz({arguments[0].sql} * 1000000)", pattern, dialect, _session_zone(context))


def _to_date(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce, convert_sql

    value = arguments[0]
    if len(arguments) > 1 and value.type.kind in TEXTS:
        pattern = literal_pattern(arguments[1])
        if context.spark and reads_zone(pattern, Dialect.SPARK):
            read = read_instant(value.sql, pattern, Dialect.SPARK, _session_zone(context))
        else:
            read = read_local(value.sql, pattern, Dialect.SPARK if context.spark else Dialect.SIMPLE)
        return Bound(f"CAST({read} AS DATE)", DATE, "")
    if context.spark or value.type.kind not in TEXTS:
        return replace(coerce(value, DATE, context), text="")
    return Bound(convert_sql(value.sql, STRING, DATE, context, safe=True), DATE, "")


def _to_stamp(of_spark: DataType, of_flink: DataType) -> Callable[[list[Bound], Context], Bound]:
    """TO_TIMESTAMP and its like: text, after a pattern or as a cast reads it, and other timestamps and dates."""

    def made(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.casts import convert, convert_sql

        type_ = of_spark if context.spark else of_flink
        value = arguments[0]
        if len(arguments) > 1 and value.type.kind in TEXTS:
            return Bound(_read_stamp(value.sql, arguments[1], type_, context), type_, "")
        if context.spark:
            if type_.kind is Kind.TIMESTAMP and value.type.kind in NUMBERS:
                message = f"TO_TIMESTAMP_NTZ takes text, a date or a timestamp, not {value.type.kind.value}."
                raise BergError(ErrorCode.TYPE, message)
            return Bound(convert(value, type_, context).sql, type_, "")
        return Bound(convert_sql(value.sql, value.type, type_, context, safe=True), type_, "")

    return made


def _read_stamp(text: str, pattern: Bound, type_: DataType, context: Context) -> str:
    from bergsql.engine.plan.casts import cut_fraction

    if pattern.is_null:
        return f"CAST(NULL AS {'TIMESTAMPTZ' if type_.kind is Kind.TIMESTAMP_LTZ else 'TIMESTAMP'})"
    dialect = _dialect(context)
    if type_.kind is Kind.TIMESTAMP_LTZ:
        return read_instant(text, literal_pattern(pattern), dialect, _session_zone(context))
    if dialect is Dialect.SPARK:
        return read_local(text, literal_pattern(pattern), dialect)
    # Flink then tries what java.sql.Timestamp reads: one digit where the pattern has two.
    usual = r"'^\s*(\d{4}-\d{1,2}-\d{1,2}( \d{1,2}:\d{1,2}:\d{1,2}(\.\d{1,9})?)?)\s*$'"
    read = let(
        text,
        lambda x: (
            f"coalesce({read_local(x, literal_pattern(pattern), dialect)}, "
            f"TRY_CAST(regexp_extract({x}, {usual}, 1) AS TIMESTAMP))"
        ),
    )
    return cut_fraction(read, STAMP6, type_)


def _to_timestamp_ltz(arguments: list[Bound], context: Context) -> Bound:
    """Flink's TO_TIMESTAMP_LTZ(number[, precision]) and TO_TIMESTAMP_LTZ(text[, pattern[, zone]])."""
    value = arguments[0]
    if value.type.kind in TEXTS:
        return _text_to_instant(arguments, context)
    if len(arguments) > 2:
        raise BergError(ErrorCode.ARITY, "TO_TIMESTAMP_LTZ of a number takes 1 to 2 arguments, not 3.")
    digits = arguments[1].constant if len(arguments) > 1 else 3
    if digits not in (0, 3):
        raise BergError(ErrorCode.INVALID, "The precision of TO_TIMESTAMP_LTZ is 0 (seconds) or 3 (milliseconds).")
    if value.type.kind not in (*NUMBERS, Kind.NULL):
        raise BergError(ErrorCode.TYPE, f"TO_TIMESTAMP_LTZ takes a number or text, not {value.type.kind.value}.")
    from bergsql.engine.sql.functions.time_making import instant_of_number

    return Bound(instant_of_number(value, 1_000_000 if digits == 0 else 1000), LTZ3, "", value.nullable)


def _text_to_instant(arguments: list[Bound], context: Context) -> Bound:
    """Text without a zone is read in UTC unless a third argument names another."""
    from bergsql.engine.plan.casts import cut_fraction
    from bergsql.engine.plan.zones import instant_in, instant_in_any

    pattern = literal_pattern(arguments[1]) if len(arguments) > 1 else None
    where = arguments[2] if len(arguments) > 2 else None
    if pattern is not None and reads_zone(pattern, Dialect.FLINK):
        sql = read_instant(arguments[0].sql, pattern, Dialect.FLINK, "UTC")
        return Bound(cut_fraction(sql, LTZ6, LTZ3), LTZ3, "")
    local = _to_stamp(STAMP3, STAMP3)(arguments[:2], context).sql
    if where is None or isinstance(where.constant, str):
        sql = instant_in(local, where.constant if where is not None and isinstance(where.constant, str) else "UTC")
    else:
        sql = let(local, lambda x: instant_in_any(x, where.sql))
    return Bound(sql, LTZ3, "")


def _unix_timestamp(arguments: list[Bound], context: Context) -> str:
    if not arguments:
        return "CAST(floor(epoch(now())) AS BIGINT)"
    value = arguments[0]
    if value.type.kind in TEXTS:
        pattern = literal_pattern(arguments[1]) if len(arguments) > 1 else _PLAIN
        if context.spark:
            read = read_instant(value.sql, pattern, Dialect.SPARK, _session_zone(context))
            return f"CAST(floor(epoch({read})) AS BIGINT)"

        def or_least(x: str) -> str:
            read = read_instant(x, pattern, Dialect.SIMPLE, _session_zone(context))
            seconds = f"CAST(floor(epoch({read})) AS BIGINT)"
            return f"coalesce({seconds}, CASE WHEN {x} IS NOT NULL THEN {_UNREADABLE} END)"

        return let(value.sql, or_least)
    if value.type.kind not in (*STAMPS, Kind.DATE, Kind.NULL):
        raise BergError(
            ErrorCode.TYPE, f"UNIX_TIMESTAMP takes text, a date or a timestamp, not {value.type.kind.value}."
        )
    from bergsql.engine.plan.casts import coerce

    at = coerce(value, LTZ6, context).sql
    # Spark cuts the fraction off, towards 1970.
    return f"CAST(trunc(epoch({at})) AS BIGINT)" if context.spark else f"CAST(floor(epoch({at})) AS BIGINT)"


def _convert_tz(arguments: list[Bound], context: Context) -> str:
    """Flink's CONVERT_TZ(text, from, to): text, NULL where it does not read."""
    from bergsql.engine.plan.zones import clock_in, clock_in_any, instant_in, instant_in_any

    text, source, target = arguments
    local = read_local(text.sql, _PLAIN, Dialect.SIMPLE)
    at = (
        instant_in(local, source.constant)
        if isinstance(source.constant, str)
        else let(local, lambda x: instant_in_any(x, source.sql))
    )
    shown = (
        clock_in(at, target.constant)
        if isinstance(target.constant, str)
        else let(at, lambda x: clock_in_any(x, target.sql))
    )
    return written(shown, _PLAIN, Dialect.SIMPLE, None)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("date_format", "fs", "St", STRING, _date_format),
    Scalar("to_date try_to_date", "fs", "at?", DATE, _to_date),
    Scalar("to_timestamp", "fs", "at?", LTZ6, _to_stamp(LTZ6, STAMP3)),
    Scalar("try_to_timestamp", "fs", "at?", LTZ6, _to_stamp(LTZ6, STAMP3)),
    Scalar("to_timestamp_ltz", "s", "at?", LTZ6, _to_stamp(LTZ6, LTZ3)),
    Scalar("to_timestamp_ltz", "f", "aa?t?", LTZ3, _to_timestamp_ltz),
    Scalar("to_timestamp_ntz", "fs", "at?", STAMP6, _to_stamp(STAMP6, STAMP6)),
    Scalar("unix_timestamp", "fs", "a?t?", BIGINT, _unix_timestamp),
    Scalar("to_unix_timestamp", "fs", "at?", BIGINT, _unix_timestamp),
    Scalar("from_unixtime", "fs", "lt?", STRING, _from_unixtime),
    Scalar("convert_tz", "f", "ttt", STRING, _convert_tz),
)
