"""Dates, timestamps and intervals made of numbers, numbers of them, and timestamps moved between zones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import let, let_all
from bergsql.engine.plan.zones import clock_in, clock_in_any, instant, instant_in, instant_in_any
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BIGINT, DATE, INT, INTEGERS, LTZ6, STAMP6, DataType, Kind

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.context import Context

DAY_TIME, YEAR_MONTH = DataType(Kind.INTERVAL_DAY_TIME), DataType(Kind.INTERVAL_YEAR_MONTH)


def instant_of_number(value: Bound, factor: int) -> str:
    """So many parts of a second since 1970, ``factor`` microseconds each, as an instant."""
    if value.type.kind in INTEGERS:
        return f"make_timestamptz(CAST({value.sql} AS BIGINT) * {factor})"
    if value.type.kind is Kind.DECIMAL:
        scale = value.type.scale or 0
        whole = f"CAST({value.sql} AS DECIMAL(38,{scale}))" if value.type.precision != 38 else value.sql
        return f"make_timestamptz(CAST({whole} * {factor} AS BIGINT))"
    return f"make_timestamptz(CAST(trunc({value.sql} * {factor}) AS BIGINT))"


def _make_timestamp(type_: DataType) -> Callable[[list[Bound], Context], str]:
    """Of year, month, day, hour, minute and second (with a fraction), in the session's zone or one that is named. NULL
    where there is no such time; a 60th second is the next minute's first."""

    def made(arguments: list[Bound], context: Context) -> str:
        sql = [a.sql for a in arguments]
        sql[5] = f"TRY_CAST({sql[5]} AS DECIMAL(16,6))"

        def local(values: list[str]) -> str:
            y, mo, d, h, mi, s = values[:6]
            day = f"format('{{:04d}}-{{:02d}}-{{:02d}} ', {y}, {mo}, {d})"
            clock = f"format('{{:02d}}:{{:02d}}', {h}, {mi})"
            start = f"TRY_CAST({day} || {clock} || ':00' AS TIMESTAMP)"
            valid = f"{y} BETWEEN 0 AND 9999 AND {h} BETWEEN 0 AND 23 AND {s} BETWEEN 0 AND 60"
            return f"CASE WHEN {valid} THEN {start} + to_microseconds(CAST({s} * 1000000 AS BIGINT)) END"

        stamp = let_all(sql[:6], local)
        if type_.kind is Kind.TIMESTAMP:
            return stamp
        if len(arguments) < 7:
            return instant(stamp, context.planner.relations.time_zone)
        return _at_zone(stamp, arguments[6])

    return made


def _at_zone(stamp: str, where: Bound) -> str:
    """The instant at which a clock in the zone shows ``stamp``."""
    if isinstance(where.constant, str):
        return instant_in(stamp, where.constant)
    return let_all([stamp, where.sql], lambda both: instant_in_any(*both))


def _clock_at(at: str, where: Bound) -> str:
    """What a clock in the zone shows at an instant."""
    if isinstance(where.constant, str):
        return clock_in(at, where.constant)
    return let_all([at, where.sql], lambda both: clock_in_any(*both))


def _from_utc(arguments: list[Bound], context: Context) -> str:
    """The clock in UTC read as if it were that of the zone: the wall clock moves by the zone's offset."""
    at, where = _as_instant(arguments[0], context), arguments[1]
    zone = context.planner.relations.time_zone
    if where.is_null:
        return "CAST(NULL AS TIMESTAMPTZ)"
    return instant(_clock_at(instant_in(clock_in(at, zone), "UTC"), where), zone)


def _to_utc(arguments: list[Bound], context: Context) -> str:
    at, where = _as_instant(arguments[0], context), arguments[1]
    zone = context.planner.relations.time_zone
    if where.is_null:
        return "CAST(NULL AS TIMESTAMPTZ)"
    return instant(clock_in(_at_zone(clock_in(at, zone), where), "UTC"), zone)


def _as_instant(value: Bound, context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    return coerce(value, LTZ6, context).sql


def _convert_timezone(arguments: list[Bound], context: Context) -> Bound:
    """CONVERT_TIMEZONE([from,] to, timestamp): what a clock in the second zone shows when one in the first shows it."""
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.casts import coerce

    *zones, stamp = arguments
    zones = fit_arguments("t" * len(zones), "convert_timezone", zones, context, None)
    session = context.planner.relations.time_zone
    source = zones[0] if len(zones) == 2 else Bound(string_literal(session), zones[0].type, "", constant=session)
    local = coerce(stamp, STAMP6, context)
    names = ["current_timezone()"] if len(zones) == 1 else []
    text = f"convert_timezone({', '.join([*names, *(a.text for a in arguments)])})"
    if source.is_null or zones[-1].is_null:
        return Bound("CAST(NULL AS TIMESTAMP)", STAMP6, text)
    return Bound(_clock_at(_at_zone(local.sql, source), zones[-1]), STAMP6, text)


def _make_dt_interval(arguments: list[Bound], context: Context) -> Bound:
    """Of days, hours, minutes and seconds; what is left out is none."""
    factors = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000)
    terms = [f"CAST({a.sql} AS HUGEINT) * {f}" for a, f in zip(arguments[:3], factors[:3], strict=False)]
    if len(arguments) > 3:
        terms.append(f"CAST(TRY_CAST({arguments[3].sql} AS DECIMAL(18,6)) * 1000000 AS HUGEINT)")
    sql = f"to_microseconds(CAST({' + '.join(terms) or '0'} AS BIGINT))"
    return Bound(sql, DAY_TIME, _text_of("make_dt_interval", arguments, ("0", "0", "0", "0.000000")))


def _make_ym_interval(arguments: list[Bound], context: Context) -> Bound:
    terms = [f"CAST({a.sql} AS BIGINT) * {f}" for a, f in zip(arguments, (12, 1), strict=False)]
    sql = f"to_months(CAST({' + '.join(terms) or '0'} AS INTEGER))"
    return Bound(sql, YEAR_MONTH, _text_of("make_ym_interval", arguments, ("0", "0")))


def _text_of(name: str, arguments: list[Bound], defaults: tuple[str, ...]) -> str:
    return f"{name}({', '.join([*(a.text for a in arguments), *defaults[len(arguments) :]])})"


def _make_interval(arguments: list[Bound], context: Context) -> Bound:
    """Of years, months, weeks, days, hours, minutes and seconds.

    An interval is of months or of days and time here: one of both is refused, by name.
    """
    text = _text_of("make_interval", arguments, ("0", "0", "0", "0", "0", "0", "0.000000"))
    months, rest = arguments[:2], arguments[2:]
    if all(a.constant == 0 for a in rest):
        return Bound(_make_ym_interval(months, context).sql, YEAR_MONTH, text)
    if any(a.constant != 0 for a in months):
        from bergsql.engine.plan.date_arithmetic import mixed_interval

        raise mixed_interval(None)
    days = f"CAST({rest[0].sql} AS INTEGER) * 7"
    if len(rest) > 1:
        days += f" + CAST({rest[1].sql} AS INTEGER)"
    if len(rest) <= 2 or all(a.constant == 0 for a in rest[2:]):
        return Bound(f"to_days({days})", DataType(Kind.INTERVAL_DAY_TIME, 0), text)
    factors = (3600, 60, 1)
    terms = [f"TRY_CAST({a.sql} AS DECIMAL(18,6)) * {f}" for a, f in zip(rest[2:], factors, strict=False)]
    micros = f"to_microseconds(CAST(({' + '.join(terms)}) * 1000000 AS BIGINT))"
    return Bound(f"(to_days({days}) + {micros})", DAY_TIME, text)


def _whole(template: str) -> Callable[[list[Bound], Context], str]:
    """Of an instant; a TIMESTAMP is what the session's clock shows."""
    return lambda arguments, context: template.format(_as_instant(arguments[0], context))


def _window_time(arguments: list[Bound], context: Context) -> Bound:
    value = arguments[0]
    if [f.name for f in value.type.children] != ["start", "end"]:
        raise BergError(ErrorCode.TYPE, "WINDOW_TIME takes the column of a window.")
    end = let(value.sql, lambda x: f'({x}."end" - to_microseconds(1))')
    return Bound(end, value.type.children[1].type, "")


def _window(node: exp.Expr, context: Context) -> Bound:
    """Spark's WINDOW. A SELECT replaces the calls among its items and keys before it binds them: this one is not so."""
    from bergsql.engine.plan.calls import name_span

    raise BergError(
        ErrorCode.INVALID,
        f"WINDOW cannot stand in {context.clause}.",
        span=name_span(node),
        hint="It stands among the items or in GROUP BY of a query.",
    )


FUNCTIONS: tuple[Function, ...] = (
    Special("window", "s", _window),
    Scalar("make_date", "fs", "iii", DATE, "TRY(make_date({0}, {1}, {2}))"),
    Scalar("make_timestamp try_make_timestamp", "s", "iiiiiat?", LTZ6, _make_timestamp(LTZ6)),
    Scalar("make_timestamp try_make_timestamp", "f", "iiiiia", STAMP6, _make_timestamp(STAMP6)),
    Scalar("make_timestamp_ltz try_make_timestamp_ltz", "fs", "iiiiiat?", LTZ6, _make_timestamp(LTZ6)),
    Scalar("make_timestamp_ntz try_make_timestamp_ntz", "fs", "iiiiia", STAMP6, _make_timestamp(STAMP6)),
    Scalar("make_dt_interval", "fs", "i?i?i?a?", DAY_TIME, _make_dt_interval),
    Scalar("make_ym_interval", "fs", "i?i?", YEAR_MONTH, _make_ym_interval),
    Scalar("make_interval try_make_interval", "fs", "i?i?i?i?i?i?a?", DAY_TIME, _make_interval),
    Scalar("timestamp_seconds", "fs", "n", LTZ6, lambda a, c: instant_of_number(a[0], 1_000_000)),
    Scalar("timestamp_millis", "fs", "l", LTZ6, "make_timestamptz({0} * 1000)"),
    Scalar("timestamp_micros", "fs", "l", LTZ6, "make_timestamptz({0})"),
    Scalar("unix_seconds", "fs", "S", BIGINT, _whole("CAST(floor(epoch_us({0}) / 1000000) AS BIGINT)")),
    Scalar("unix_millis", "fs", "S", BIGINT, _whole("CAST(floor(epoch_us({0}) / 1000) AS BIGINT)")),
    Scalar("unix_micros", "fs", "S", BIGINT, _whole("epoch_us({0})")),
    Scalar("unix_date", "fs", "D", INT, "CAST({0} - DATE '1970-01-01' AS INTEGER)"),
    Scalar("date_from_unix_date", "fs", "i", DATE, "(DATE '1970-01-01' + {0})"),
    Scalar("from_utc_timestamp", "fs", "St", LTZ6, _from_utc),
    Scalar("to_utc_timestamp", "fs", "St", LTZ6, _to_utc),
    Scalar("convert_timezone", "fs", "aaa?", STAMP6, _convert_timezone),
    Scalar("window_time", "s", "a", LTZ6, _window_time),
)
