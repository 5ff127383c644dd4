"""Functions of dates, times and timestamps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let_all
from bergsql.engine.plan.units import UNITS
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    INTEGERS,
    LTZ3,
    LTZ6,
    STAMP6,
    STAMPS,
    STRING,
    TEXTS,
    DataType,
    Kind,
)

if TYPE_CHECKING:
    from datetime import datetime

    from bergsql.engine.plan.context import Context


def _local(bound: Bound) -> str:
    """What the session's clock shows: DuckDB's text functions take no instant."""
    return f"CAST({bound.sql} AS TIMESTAMP)" if bound.type.kind is Kind.TIMESTAMP_LTZ else bound.sql


def _part(name: str, duck: str | None = None) -> Callable[[list[Bound], Context], str]:
    """A part of a date or a timestamp; of an instant, as the session's clock shows it."""

    def made(arguments: list[Bound], context: Context) -> str:
        return f"CAST({(duck or name + '({0})').format(_local(arguments[0]))} AS INTEGER)"

    return made


def _now(kind: Kind, digits: int) -> Callable[[list[Bound], Context], Bound]:
    def made(arguments: list[Bound], context: Context) -> Bound:
        from bergsql.engine.plan.constants import constant

        if context.planner.streams:  # it goes on, and each batch has its own time
            clock = "now()" if kind is Kind.TIMESTAMP_LTZ else "CAST(now() AS TIMESTAMP)"
            cut = f"date_trunc('milliseconds', {clock})" if digits == 3 else clock
            return Bound(cut, DataType(kind, digits), "", False, volatile=True)
        now = context.planner.now if kind is Kind.TIMESTAMP_LTZ else _shown_now(context)
        if now is not None:
            if digits == 3:
                now = now.replace(microsecond=now.microsecond // 1000 * 1000)
            return constant(now, DataType(kind, digits), "")
        sql = "CAST(now() AS TIMESTAMP)"
        if digits == 3:
            sql = f"date_trunc('millisecond', {sql})"
        return Bound(sql, DataType(kind, digits), "", False)

    return made


def _shown_now(context: Context) -> datetime | None:
    """What the session's clock shows as the query begins; None where only DuckDB knows its zone."""
    from bergsql.engine.plan.times import from_utc, zone

    where = zone(context.planner.relations.time_zone)
    return from_utc(context.planner.now, where) if where is not None else None


def _today(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.constants import constant

    now = None if context.planner.streams else _shown_now(context)
    return constant(now.date(), DATE, "") if now is not None else Bound("current_date", DATE, "", False)


def _now_of(arguments: list[Bound], context: Context) -> Bound:
    return _now(Kind.TIMESTAMP_LTZ, 6 if context.spark else 3)(arguments, context)


def _local_now(arguments: list[Bound], context: Context) -> Bound:
    return _now(Kind.TIMESTAMP, 6 if context.spark else 3)(arguments, context)


_SHORT = {"YYYY": "YEAR", "YY": "YEAR", "MON": "MONTH", "MM": "MONTH", "DD": "DAY"}


def _unit(word: object) -> str:
    if not isinstance(word, str):
        raise BergError(ErrorCode.INVALID, "The unit must be a literal, such as 'DAY'.")
    upper = word.upper().removeprefix("SQL_TSI_")
    upper = _SHORT.get(upper, upper)
    if upper not in UNITS:
        raise BergError(ErrorCode.INVALID, f"There is no time unit '{word}'.", hint=did_you_mean(upper, UNITS))
    return upper.lower()


_TRUNCATED = {
    "year": "YEAR YYYY YY", "quarter": "QUARTER", "month": "MONTH MON MM", "week": "WEEK", "day": "DAY DD",
    "hour": "HOUR", "minute": "MINUTE", "second": "SECOND", "millisecond": "MILLISECOND", "microsecond": "MICROSECOND",
}  # fmt: skip
"""The words for the units that Spark cuts to; for others it gives NULL."""


def _cut(unit: Bound, value: str, units: Sequence[str], type_: str) -> str:
    """``value`` cut to the unit, which may be a column's."""
    if isinstance(unit.constant, str):
        found = next((u for u in units if unit.constant.upper() in _TRUNCATED[u].split()), None)
        return f"CAST(date_trunc('{found}', {value}) AS {type_})" if found else f"CAST(NULL AS {type_})"
    if unit.is_null:
        return f"CAST(NULL AS {type_})"

    def made(both: list[str]) -> str:
        word, x = both
        cases = "".join(f" WHEN '{w}' THEN date_trunc('{u}', {x})" for u in units for w in _TRUNCATED[u].split())
        return f"CAST(CASE upper({word}){cases} END AS {type_})"

    return let_all([unit.sql, value], made)


def _date_trunc(arguments: list[Bound], context: Context) -> Bound:
    value = arguments[1]
    if value.type.kind is not Kind.TIMESTAMP_LTZ and not context.spark:
        return Bound(_cut(arguments[0], value.sql, tuple(_TRUNCATED), duckdb_name(value.type)), value.type, "")
    if value.type.kind is not Kind.TIMESTAMP_LTZ:
        from bergsql.engine.plan.casts import coerce

        value = coerce(value, LTZ6, context)
    return Bound(_cut(arguments[0], value.sql, tuple(_TRUNCATED), "TIMESTAMPTZ"), LTZ6, "")


def _trunc(arguments: list[Bound], context: Context) -> str:
    return _cut(arguments[1], arguments[0].sql, ("year", "quarter", "month", "week"), "DATE")


_DAYS = ("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY")


def _next_day(arguments: list[Bound], context: Context) -> str:
    """The next day of that name (whole, or its first two or three letters); NULL when it is none."""

    def made(both: list[str]) -> str:
        date, name = both
        names = [n for day in _DAYS for n in (day, day[:3], day[:2])]
        number = f"((list_position({names}, upper(trim({name}))) + 2) // 3)"
        return f"CASE WHEN {number} > 0 THEN {date} + CAST((({number} - isodow({date}) + 6) % 7) + 1 AS INTEGER) END"

    return let_all([a.sql for a in arguments], made)


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
    result = Bound(f"CAST({cut} AS DATE)" if value.type.kind is Kind.DATE else cut, value.type, "", value.nullable)
    if images_of(value):
        from bergsql.engine.plan.monotone import attach_floor

        attach_floor(result, word, value, unit, context)
    return result


def _unit_call(node: exp.Expr, context: Context, width: int) -> tuple[str, str, list[Bound]]:
    """A call whose first argument is a unit, such as the DAY of TIMESTAMPADD(DAY, 1, x): it, as it was written, and the
    other arguments."""
    from bergsql.engine.plan.calls import name_span
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) != width:
        name = str(node.this).upper()
        raise BergError(ErrorCode.ARITY, f"{name} takes {width} arguments.", span=span_of(node))
    first = node.expressions[0]
    if not isinstance(first, exp.Column | exp.Literal | exp.Var) or not first.name:
        name = str(node.this).upper()
        message = f"The first argument of {name} is a unit, such as DAY."
        raise BergError(ErrorCode.INVALID, message, span=span_of(first) or name_span(node))
    try:
        unit = _unit("DAY" if context.spark and first.name.upper() == "DAYOFYEAR" else first.name)
    except BergError as error:
        raise error.at(span_of(first)) from None
    return unit, first.name, [bind(a, context) for a in node.expressions[1:]]


def _timestampadd(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce
    from bergsql.engine.sql.parser.query import span_of

    unit, written, (amount, value) = _unit_call(node, context, 3)
    kept = STAMPS if context.spark else (*STAMPS, Kind.DATE, Kind.TIME)
    if value.type.kind not in kept:
        value = coerce(value, LTZ6 if context.spark else STAMP6, context, node)
    amount = coerce(amount, INT, context, span_of(node))
    number = amount.sql
    text = f"timestampadd({written}, {amount.text}, {value.text})"
    if value.type.kind is Kind.DATE and unit in ("year", "quarter", "month", "week", "day"):
        sql = f"CAST(({value.sql} + {number} * INTERVAL 1 {unit}) AS DATE)"
        return _later(Bound.of(sql, DATE, text, amount, value), value, amount, unit, context)
    if value.type.kind is Kind.DATE:
        value = coerce(value, STAMP6, context)
    moved = f"({value.sql} + {number} * INTERVAL 1 {unit})"
    if value.type.kind is Kind.TIMESTAMP_LTZ and unit in ("year", "quarter", "month", "week", "day"):
        from bergsql.engine.plan.zones import moved as moved_by

        moved = moved_by(value.sql, f"+ {number} * INTERVAL 1 {unit}", context.planner.relations.time_zone)
    return _later(Bound.of(moved, value.type, text, amount, value), value, amount, unit, context)


def _later(result: Bound, value: Bound, amount: Bound, unit: str, context: Context) -> Bound:
    if images_of(value):
        from bergsql.engine.plan.monotone import attach_units

        attach_units(result, value, amount, unit, context)
    return result


def _timestampdiff(node: exp.Expr, context: Context) -> Bound:
    """Whole units between, cut towards zero."""
    from bergsql.engine.plan.casts import coerce

    unit, written, (start, end) = _unit_call(node, context, 3)
    text = f"timestampdiff({written}, {start.text}, {end.text})"
    type_ = LTZ6 if context.spark else STAMP6
    start, end = (coerce(x, type_, context, node) if x.type.kind not in STAMPS else x for x in (start, end))
    if context.spark:
        months = {"year": 12, "quarter": 3, "month": 1}.get(unit)
        if months is None:
            sql = f"date_sub('{unit}', {_local(start)}, {_local(end)})"
        else:
            sql = let_all([_local(start), _local(end)], lambda both: f"({_whole_months(*both)} // {months})")
        return Bound.of(sql, BIGINT, text, start, end)
    sql = f"date_sub('{unit}', {_local(start)}, {_local(end)})"
    return Bound.of(f"CAST({sql} AS INTEGER)", INT, text, start, end)


def _whole_months(a: str, b: str) -> str:
    """The months from ``a`` to ``b`` that are over: not yet on the 29th of February since the 31st of January."""
    months = f"((year({b}) - year({a})) * 12 + month({b}) - month({a}))"
    into_a, into_b = (f"(epoch_us({x}) - epoch_us(date_trunc('month', {x})))" for x in (a, b))
    return (
        f"({months} - CASE WHEN {months} > 0 AND {into_b} < {into_a} THEN 1 "
        f"WHEN {months} < 0 AND {into_b} > {into_a} THEN -1 ELSE 0 END)"
    )


def _datediff(node: exp.Expr, context: Context) -> Bound:
    """Days between two dates; Spark 3.3 also takes a unit first."""
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.sql.parser.query import span_of

    if len(node.expressions) == 3:
        return _timestampdiff(node, context)
    bound = [bind(a, context) for a in node.expressions]
    text = f"{str(node.this).lower()}({', '.join(b.text for b in bound)})"
    a, b = fit_arguments("DD", "datediff", bound, context, span_of(node), node.expressions)
    return Bound.of(f"CAST({a.sql} - {b.sql} AS INTEGER)", INT, text, a, b)


def _date_add(sign: str) -> Callable[[exp.Expr, Context], Bound]:
    """Days later or earlier; DATE_ADD and DATEADD also take a unit first, as TIMESTAMPADD does."""

    def made(node: exp.Expr, context: Context) -> Bound:
        from bergsql.engine.plan.arguments import fit_arguments
        from bergsql.engine.plan.calls import name_span
        from bergsql.engine.plan.expressions import bind

        if len(node.expressions) == 3 and sign == "+":
            return _timestampadd(node, context)
        name = "date_add" if sign == "+" else "date_sub"
        bound = [bind(a, context) for a in node.expressions]
        date, days = fit_arguments("Di", str(node.this), bound, context, name_span(node), node.expressions)
        if bound[1].type.kind not in (*INTEGERS, *TEXTS, Kind.NULL):
            message = f"{str(node.this).upper()} takes a whole number of days."
            raise BergError(ErrorCode.TYPE, message, span=name_span(node))
        text = f"{name}({', '.join(b.text for b in bound)})"
        result = Bound.of(f"({date.sql} {sign} {days.sql})", DATE, text, date, days)
        if images_of(date):
            from bergsql.engine.plan.monotone import attach_days

            attach_days(result, date, days, 1 if sign == "+" else -1, context)
        return result

    return made


def _months_between(arguments: list[Bound], context: Context) -> str:
    """The months between two timestamps, a day being a 31st of one; whole between the same days and between last days.

    The seconds of a day are those that passed since it began: fewer at noon where clocks were set forward.
    """
    rounds = arguments[2] if len(arguments) > 2 else None

    def made(values: list[str]) -> str:
        x, y = values[:2]
        a, b = (_local(replace(g, sql=v)) for g, v in zip(arguments, (x, y), strict=False))
        months = f"((year({a}) - year({b})) * 12 + month({a}) - month({b}))"
        into = [f"CAST(floor(epoch({v}) - epoch(date_trunc('day', {v}))) AS BIGINT)" for v in (x, y)]
        seconds = f"((day({a}) - day({b})) * 86400 + {into[0]} - {into[1]})"
        exact = f"({months} + {seconds} / CAST(2678400 AS DOUBLE))"
        rest = f"round({exact}, 8)"
        if rounds is not None and rounds.constant is not True:
            rest = f"CASE WHEN {values[2]} THEN {rest} WHEN NOT {values[2]} THEN {exact} END"
        last = " AND ".join(f"last_day({v}) = CAST({v} AS DATE)" for v in (a, b))
        return f"CASE WHEN day({a}) = day({b}) OR ({last}) THEN CAST({months} AS DOUBLE) ELSE {rest} END"

    return let_all([a.sql for a in arguments], made)


def _day_name(duck: str) -> Callable[[list[Bound], Context], str]:
    return lambda arguments, context: f"left({duck}({arguments[0].sql}), 3)"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("current_date curdate", "fs", "", DATE, _today),
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
    Scalar("current_timezone", "fs", "", STRING, lambda a, c: string_literal(c.planner.relations.time_zone)),
    Scalar("year", "fs", "S", INT, _part("year")),
    Scalar("quarter", "fs", "S", INT, _part("quarter")),
    Scalar("month", "fs", "S", INT, _part("month")),
    Scalar("week weekofyear", "fs", "S", INT, _part("week")),
    Scalar("dayofmonth day", "fs", "S", INT, _part("day")),
    Scalar("dayofyear", "fs", "S", INT, _part("dayofyear")),
    Scalar("dayofweek", "fs", "S", INT, _part("dayofweek", "dayofweek({0}) + 1")),
    Scalar("weekday", "fs", "S", INT, _part("weekday", "isodow({0}) - 1")),
    Scalar("hour", "fs", "T", INT, _part("hour")),
    Scalar("minute", "fs", "T", INT, _part("minute")),
    Scalar("second", "fs", "T", INT, _part("second")),
    Special("date_add dateadd", "fs", _date_add("+")),
    Special("date_sub", "fs", _date_add("-")),
    Special("datediff date_diff", "fs", _datediff),
    Scalar("add_months", "fs", "Di", DATE, "CAST(({0} + to_months({1})) AS DATE)"),
    Scalar("months_between", "fs", "SSb?", DOUBLE, _months_between),
    Scalar("next_day", "fs", "Dt", DATE, _next_day),
    Scalar("dayname", "fs", "D", STRING, _day_name("dayname")),
    Scalar("monthname", "fs", "D", STRING, _day_name("monthname")),
    Scalar("last_day", "fs", "D", DATE, "last_day({0})"),
    Scalar("date_trunc", "fs", "tS", 1, _date_trunc),
    Scalar("trunc", "fs", "Dt", DATE, _trunc),
    Special("timestampadd", "fs", _timestampadd),
    Special("timestampdiff", "fs", _timestampdiff),
)
