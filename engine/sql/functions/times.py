"""Functions of dates, times and timestamps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.units import UNITS
from bergsql.engine.sql.functions.java_patterns import java_format
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    INTERVALS,
    NUMBERS,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Kind,
)

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

LTZ3, LTZ6 = DataType(Kind.TIMESTAMP_LTZ, 3), DataType(Kind.TIMESTAMP_LTZ, 6)
STAMP3, STAMP6 = DataType(Kind.TIMESTAMP, 3), DataType(Kind.TIMESTAMP, 6)


def _format_sql(pattern: Bound) -> str:
    if not isinstance(pattern.constant, str):
        raise not_supported("A date pattern that is not a literal")
    return string_literal(java_format(pattern.constant))


def _local(bound: Bound) -> str:
    """What the session's clock shows: DuckDB's text functions take no instant."""
    return f"CAST({bound.sql} AS TIMESTAMP)" if bound.type.kind is Kind.TIMESTAMP_LTZ else bound.sql


def _date_format(arguments: list[Bound], context: Context) -> str:
    return _formatted(_local(arguments[0]), arguments[1])


def _formatted(timestamp: str, pattern: Bound) -> str:
    if pattern.constant == "":  # which DuckDB refuses
        return f"CASE WHEN {timestamp} IS NOT NULL THEN '' END"
    return f"strftime({timestamp}, {_format_sql(pattern)})"


def _part(name: str, duck: str | None = None) -> Callable[[list[Bound], Context], str]:
    """A part of a date or a timestamp; of an instant, as the session's clock shows it."""

    def made(arguments: list[Bound], context: Context) -> str:
        return f"CAST({(duck or name + '({0})').format(_local(arguments[0]))} AS INTEGER)"

    return made


_EXTRACT = {
    "YEAR": "year({0})", "YEARS": "year({0})", "QUARTER": "quarter({0})", "MONTH": "month({0})", "WEEK": "week({0})",
    "DAY": "day({0})", "DAYOFMONTH": "day({0})", "DOY": "dayofyear({0})", "DAYOFYEAR": "dayofyear({0})",
    "DOW": "(dayofweek({0}) + 1)", "DAYOFWEEK": "(dayofweek({0}) + 1)", "HOUR": "hour({0})", "MINUTE": "minute({0})",
    "SECOND": "second({0})", "EPOCH": "CAST(floor(epoch({0})) AS BIGINT)", "ISODOW": "isodow({0})",
    "ISOYEAR": "isoyear({0})", "CENTURY": "century({0})", "DECADE": "decade({0})", "MILLENNIUM": "millennium({0})",
    "MILLISECOND": "(millisecond({0}) % 1000)", "MICROSECOND": "(microsecond({0}) % 1000000)",
    "DAYOFWEEK_ISO": "isodow({0})", "DOW_ISO": "isodow({0})",
}  # fmt: skip


def _extract(arguments: list[Bound], context: Context) -> Bound:
    if not isinstance(arguments[0].constant, str):
        raise BergError(ErrorCode.INVALID, "The unit must be a literal, such as 'DAY'.")
    unit = arguments[0].constant.upper()
    template = _EXTRACT.get(unit)
    if template is None:
        raise BergError(ErrorCode.INVALID, f"EXTRACT knows no unit {unit}.", hint=did_you_mean(unit, _EXTRACT))
    value = arguments[1]
    if value.type.kind in TEXTS:
        from bergsql.engine.plan.casts import coerce

        value = coerce(value, LTZ6 if context.spark else STAMP6, context)
    if value.type.kind not in (*STAMPS, *INTERVALS, Kind.DATE, Kind.TIME, Kind.NULL):
        raise BergError(ErrorCode.TYPE, f"EXTRACT takes a date, a time or a timestamp, not {value.type.kind.value}.")
    sql = template.format(_local(value))
    if context.spark and unit == "SECOND":
        seconds = f"CAST(second({_local(value)}) + CAST(microsecond({_local(value)}) % 1000000 AS DECIMAL(8,0)) "
        return Bound(f"{seconds}* 0.000001 AS DECIMAL(8,6))", DataType(Kind.DECIMAL, 8, 6), "")
    if context.spark:
        return Bound(f"CAST({sql} AS INTEGER)", INT, "")
    return Bound(f"CAST({sql} AS BIGINT)", BIGINT, "")


def _date_add(sign: str) -> Callable[[list[Bound], Context], str]:
    def made(arguments: list[Bound], context: Context) -> str:
        return f"({arguments[0].sql} {sign} {arguments[1].sql})"

    return made


def _now(kind: Kind, digits: int) -> Callable[[list[Bound], Context], Bound]:
    def made(arguments: list[Bound], context: Context) -> Bound:
        sql = "now()"
        if kind is Kind.TIMESTAMP:
            sql = "CAST(now() AS TIMESTAMP)"
        if digits == 3:
            sql = f"date_trunc('millisecond', {sql})"
        return Bound(sql, DataType(kind, digits), "", False)

    return made


def _now_of(arguments: list[Bound], context: Context) -> Bound:
    return _now(Kind.TIMESTAMP_LTZ, 6 if context.spark else 3)(arguments, context)


def _local_now(arguments: list[Bound], context: Context) -> Bound:
    return _now(Kind.TIMESTAMP, 6 if context.spark else 3)(arguments, context)


def _to_date(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce

    value = arguments[0]
    if len(arguments) > 1 and value.type.kind in TEXTS:
        return Bound(f"CAST(try_strptime({value.sql}, {_format_sql(arguments[1])}) AS DATE)", DATE, "")
    if context.spark or value.type.kind not in TEXTS:
        return replace(coerce(value, DATE, context), text="")
    from bergsql.engine.plan.casts import convert_sql

    return Bound(convert_sql(value.sql, STRING, DATE, context, safe=True), DATE, "")


def _to_timestamp(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.casts import convert, convert_sql

    type_ = LTZ6 if context.spark else STAMP3
    value = arguments[0]
    if len(arguments) > 1 and value.type.kind in TEXTS:
        read = f"try_strptime({value.sql}, {_format_sql(arguments[1])})"
        return Bound(f"CAST({read} AS TIMESTAMPTZ)" if context.spark else read, type_, "")
    if context.spark:
        return Bound(convert(value, type_, context).sql, type_, "")
    return Bound(convert_sql(value.sql, value.type, type_, context, safe=True), type_, "")


def _to_timestamp_ltz(arguments: list[Bound], context: Context) -> Bound:
    """Flink's TO_TIMESTAMP_LTZ(number, precision)."""
    value = arguments[0]
    digits = arguments[1].constant if len(arguments) > 1 else 3
    if value.type.kind in TEXTS:
        from bergsql.engine.plan.casts import convert_sql

        return Bound(convert_sql(value.sql, STRING, LTZ3, context, safe=True), LTZ3, "")
    if digits not in (0, 3):
        raise BergError(ErrorCode.INVALID, "The precision of TO_TIMESTAMP_LTZ is 0 (seconds) or 3 (milliseconds).")
    if value.type.kind not in (*NUMBERS, Kind.NULL):
        raise BergError(ErrorCode.TYPE, f"TO_TIMESTAMP_LTZ takes a number or text, not {value.type.kind.value}.")
    return Bound(_instant(value, 1_000_000 if digits == 0 else 1000), LTZ3, "", value.nullable)


def _instant(value: Bound, factor: int) -> str:
    """So many parts of a second since 1970, ``factor`` microseconds each, as an instant."""
    number = f"CAST({value.sql} AS BIGINT)" if value.type.kind in INTEGERS else value.sql
    return f"make_timestamptz(CAST({number} * {factor} AS BIGINT))"


def _unix_timestamp(arguments: list[Bound], context: Context) -> str:
    if not arguments:
        return "CAST(floor(epoch(now())) AS BIGINT)"
    value = arguments[0]
    if value.type.kind in TEXTS:
        pattern = _format_sql(arguments[1]) if len(arguments) > 1 else "'%Y-%m-%d %H:%M:%S'"
        return f"CAST(floor(epoch(CAST(try_strptime({value.sql}, {pattern}) AS TIMESTAMPTZ))) AS BIGINT)"
    from bergsql.engine.plan.casts import coerce

    return f"CAST(floor(epoch({coerce(value, LTZ6, context).sql})) AS BIGINT)"


def _from_unixtime(arguments: list[Bound], context: Context) -> str:
    timestamp = f"CAST(make_timestamptz({arguments[0].sql} * 1000000) AS TIMESTAMP)"
    if len(arguments) > 1:
        return _formatted(timestamp, arguments[1])
    return f"strftime({timestamp}, '%Y-%m-%d %H:%M:%S')"


_SHORT = {"YYYY": "YEAR", "YY": "YEAR", "MON": "MONTH", "MM": "MONTH", "DD": "DAY"}


def _unit(word: object) -> str:
    if not isinstance(word, str):
        raise BergError(ErrorCode.INVALID, "The unit must be a literal, such as 'DAY'.")
    upper = word.upper().removeprefix("SQL_TSI_")
    upper = _SHORT.get(upper, upper)
    if upper not in UNITS:
        raise BergError(ErrorCode.INVALID, f"There is no time unit '{word}'.", hint=did_you_mean(upper, UNITS))
    return upper.lower()


_DATE_UNITS = ("year", "quarter", "month", "week")


def _known_unit(bound: Bound) -> str | None:
    """The unit that Spark cuts to; None where it gives NULL, for what is no unit."""
    if bound.is_null:
        return None
    try:
        return _unit(bound.constant)
    except BergError:
        if isinstance(bound.constant, str):
            return None
        raise


def _date_trunc(arguments: list[Bound], context: Context) -> Bound:
    unit, value = _known_unit(arguments[0]), arguments[1]
    sql = f"CAST(NULL AS {duckdb_name(value.type)})" if unit is None else f"date_trunc('{unit}', {value.sql})"
    return Bound(sql, value.type, "")


_DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")


def _next_day(arguments: list[Bound], context: Context) -> str:
    """The next day of that name; NULL when it is none."""
    date, name = arguments[0].sql, arguments[1].sql
    number = f"list_position({list(_DAYS)}, left(upper({name}), 3))"
    return f"CASE WHEN {number} > 0 THEN {date} + CAST((({number} - isodow({date}) + 6) % 7) + 1 AS INTEGER) END"


def _trunc(arguments: list[Bound], context: Context) -> str:
    unit = _known_unit(arguments[1])
    if unit not in _DATE_UNITS:
        return "CAST(NULL AS DATE)"
    return f"CAST(date_trunc('{unit}', {arguments[0].sql}) AS DATE)"


def floor_to_unit(word: str, arguments: list[Bound], context: Context) -> Bound:
    """Flink's FLOOR(ts TO DAY) and CEIL(ts TO DAY). A week begins on Sunday."""
    value, unit = arguments[0], _unit(arguments[1].constant)
    if value.type.kind is Kind.TIME:
        if unit not in ("hour", "minute", "second"):
            raise BergError(ErrorCode.INVALID, f"A TIME has no {unit.upper()} to be cut to.")
        day = replace(value, sql=f"(DATE '1970-01-01' + {value.sql})", type=STAMP6)
        cut_day = floor_to_unit(word, [day, arguments[1]], context)
        return replace(cut_day, sql=f"CAST({cut_day.sql} AS TIME)", type=value.type)
    if value.type.kind not in (*STAMPS, Kind.DATE):
        from bergsql.engine.plan.casts import coerce

        value = coerce(value, STAMP6, context)
    cut = f"date_trunc('{unit}', {value.sql})"
    if unit == "week":
        cut = f"(date_trunc('week', {value.sql} + INTERVAL 1 DAY) - INTERVAL 1 DAY)"
    if word == "ceil":
        cut = f"CASE WHEN {cut} = {value.sql} THEN {value.sql} ELSE {cut} + INTERVAL 1 {unit} END"
    return Bound(f"CAST({cut} AS DATE)" if value.type.kind is Kind.DATE else cut, value.type, "", value.nullable)


def _unit_call(node: exp.Expr, context: Context, width: int) -> tuple[str, list[Bound]]:
    """A call whose first argument is a unit, such as the DAY of TIMESTAMPADD(DAY, 1, x)."""
    from bergsql.engine.plan.calls import name_span
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) != width:
        name = str(node.this).upper()
        raise BergError(ErrorCode.ARITY, f"{name} takes {width} arguments.", span=span_of(node))
    first = node.expressions[0]
    if not isinstance(first, exp.Column | exp.Literal) or not first.name:
        name = str(node.this).upper()
        message = f"The first argument of {name} is a unit, such as DAY."
        raise BergError(ErrorCode.INVALID, message, span=span_of(first) or name_span(node))
    try:
        unit = _unit(first.name)
    except BergError as error:
        raise error.at(span_of(first)) from None
    return unit, [bind(a, context) for a in node.expressions[1:]]


def _timestampadd(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce
    from bergsql.engine.sql.parser.query import span_of

    unit, (amount, value) = _unit_call(node, context, 3)
    if value.type.kind not in (*STAMPS, Kind.DATE):
        value = coerce(value, LTZ6 if context.spark else STAMP6, context, node)
    amount = coerce(amount, INT, context, span_of(node))
    number = amount.sql
    moved = f"({value.sql} + {number} * INTERVAL 1 {unit})"
    text = f"timestampadd({unit.upper()}, {amount.text}, {value.text})"
    if value.type.kind is Kind.DATE and unit in ("year", "quarter", "month", "week", "day"):
        return Bound.of(f"CAST({moved} AS DATE)", DATE, text, amount, value)
    if value.type.kind is Kind.DATE:
        value = coerce(value, LTZ6 if context.spark else STAMP6, context)
        moved = f"({value.sql} + {number} * INTERVAL 1 {unit})"
    return Bound.of(moved, value.type, text, amount, value)


def _timestampdiff(node: exp.Expr, context: Context) -> Bound:
    """Whole units between, cut towards zero."""
    from bergsql.engine.plan.casts import coerce

    unit, (start, end) = _unit_call(node, context, 3)
    text = f"timestampdiff({unit.upper()}, {start.text}, {end.text})"
    type_ = LTZ6 if context.spark else STAMP6
    start, end = (coerce(x, type_, context, node) if x.type.kind not in STAMPS else x for x in (start, end))
    sql = f"date_sub('{unit}', {_local(start)}, {_local(end)})"
    if context.spark:
        return Bound.of(sql, BIGINT, text, start, end)
    return Bound.of(f"CAST({sql} AS INTEGER)", INT, text, start, end)


def _datediff(node: exp.Expr, context: Context) -> Bound:
    """Days between two dates; Spark 3.3 also takes a unit first."""
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) == 3:
        return _timestampdiff(node, context)
    bound = [bind(a, context) for a in node.expressions]
    text = f"{str(node.this).lower()}({', '.join(b.text for b in bound)})"
    a, b = fit_arguments("DD", "datediff", bound, context, span_of(node))
    return Bound.of(f"CAST({a.sql} - {b.sql} AS INTEGER)", INT, text, a, b)


def _months_between(arguments: list[Bound], context: Context) -> str:
    a, b = (_local(x) for x in arguments)
    return (
        f"CASE WHEN day({a}) = day({b}) OR (last_day({a}) = CAST({a} AS DATE) AND last_day({b}) = CAST({b} AS DATE)) "
        f"THEN CAST((year({a}) - year({b})) * 12 + month({a}) - month({b}) AS DOUBLE) "
        f"ELSE round((year({a}) - year({b})) * 12 + month({a}) - month({b}) + "
        f"(epoch({a} - date_trunc('month', {a})) - epoch({b} - date_trunc('month', {b}))) / 2678400, 8) END"
    )


FUNCTIONS: tuple[Function, ...] = (
    Scalar("current_date curdate", "fs", "", DATE, "current_date"),
    Scalar("current_timestamp now", "fs", "", LTZ6, _now_of),
    Scalar("current_row_timestamp", "f", "", LTZ3, _now_of),
    Scalar("localtimestamp", "fs", "", STAMP6, _local_now),
    Scalar(
        "current_time localtime",
        "f",
        "",
        DataType(Kind.TIME, 0),
        "CAST(date_trunc('second', CAST(now() AS TIMESTAMP)) AS TIME)",
    ),
    Scalar("current_timezone", "s", "", STRING, lambda a, c: string_literal(c.planner.relations.time_zone)),
    Scalar("year", "fs", "S", INT, _part("year")),
    Scalar("quarter", "fs", "S", INT, _part("quarter")),
    Scalar("month", "fs", "S", INT, _part("month")),
    Scalar("week weekofyear", "fs", "S", INT, _part("week")),
    Scalar("dayofmonth day", "fs", "S", INT, _part("day")),
    Scalar("dayofyear", "fs", "S", INT, _part("dayofyear")),
    Scalar("dayofweek", "fs", "S", INT, _part("dayofweek", "dayofweek({0}) + 1")),
    Scalar("weekday", "s", "S", INT, _part("weekday", "isodow({0}) - 1")),
    Scalar("hour", "fs", "S", INT, _part("hour")),
    Scalar("minute", "fs", "S", INT, _part("minute")),
    Scalar("second", "fs", "S", INT, _part("second")),
    Scalar("extract", "fs", "ta", INT, _extract),
    Scalar("date_part datepart", "s", "ta", INT, _extract),
    Scalar("date_format", "fs", "St", STRING, _date_format),
    Scalar("date_add dateadd", "s", "Di", DATE, _date_add("+")),
    Scalar("date_sub", "s", "Di", DATE, _date_add("-")),
    Special("datediff date_diff", "s", _datediff),
    Scalar("add_months", "s", "Di", DATE, "CAST(({0} + to_months({1})) AS DATE)"),
    Scalar("months_between", "s", "SS", DOUBLE, _months_between),
    Scalar("next_day", "s", "Dt", DATE, _next_day),
    Scalar("last_day", "s", "D", DATE, "last_day({0})"),
    Scalar("make_date", "s", "iii", DATE, "TRY(make_date({0}, {1}, {2}))"),
    Scalar("to_date", "fs", "at?", DATE, _to_date),
    Scalar("to_timestamp", "fs", "at?", LTZ6, _to_timestamp),
    Scalar("to_timestamp_ltz", "f", "ai?", LTZ3, _to_timestamp_ltz),
    Scalar("unix_timestamp", "fs", "at?", BIGINT, _unix_timestamp),
    Scalar("from_unixtime", "fs", "lt?", STRING, _from_unixtime),
    Scalar("timestamp_seconds", "s", "n", LTZ6, lambda a, c: _instant(a[0], 1_000_000)),
    Scalar("timestamp_millis", "s", "l", LTZ6, "make_timestamptz({0} * 1000)"),
    Scalar("timestamp_micros", "s", "l", LTZ6, "make_timestamptz({0})"),
    Scalar("unix_seconds", "s", "S", BIGINT, "CAST(floor(epoch({0})) AS BIGINT)"),
    Scalar("unix_millis", "s", "S", BIGINT, "epoch_ms({0})"),
    Scalar("unix_micros", "s", "S", BIGINT, "epoch_us({0})"),
    Scalar("unix_date", "s", "D", INT, "CAST({0} - DATE '1970-01-01' AS INTEGER)"),
    Scalar("date_trunc", "s", "tS", 1, _date_trunc),
    Scalar("trunc", "s", "Dt", DATE, _trunc),
    Special("timestampadd", "fs", _timestampadd),
    Special("timestampdiff", "fs", _timestampdiff),
)
