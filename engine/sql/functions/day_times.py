"""Times of day: Spark 4.1's functions of its type TIME."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let, let_all
from bergsql.engine.sql.functions.java_patterns import Dialect
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.functions.time_reading import read_local
from bergsql.engine.sql.types import BIGINT, STRING, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

TIME6 = DataType(Kind.TIME, 6)
_UNITS = {
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
"""The units of a time of day, in microseconds."""


def _of_micros(micros: str) -> str:
    return f"(TIME '00:00:00' + to_microseconds({micros}))"


def _make_time(arguments: list[Bound], context: Context) -> str:
    """Of hour, minute and second (with a fraction). What no clock shows is an error, as in Spark without ANSI too."""
    sql = [a.sql for a in arguments]
    sql[2] = f"TRY_CAST({sql[2]} AS DECIMAL(16,6))"

    def made(values: list[str]) -> str:
        hour, minute, second = values
        valid = f"{hour} BETWEEN 0 AND 23 AND {minute} BETWEEN 0 AND 59 AND {second} >= 0 AND {second} < 60"
        micros = f"{hour} * 3600000000 + {minute} * 60000000 + CAST({second} * 1000000 AS BIGINT)"
        shown = f"format('{{}}:{{}}:{{}}', {hour}, {minute}, CAST({second} AS VARCHAR))"
        wrong = failure("There is no time of day %s.", shown)
        return (
            f"CASE WHEN {hour} IS NULL OR {minute} IS NULL OR {second} IS NULL THEN NULL "
            f"WHEN {valid} THEN {_of_micros(micros)} ELSE {wrong} END"
        )

    return let_all(sql, made)


def _unit(bound: Bound, name: str) -> str:
    """SQL of a unit's microseconds."""
    if isinstance(bound.constant, str):
        word = bound.constant.upper()
        if word not in _UNITS:
            raise BergError(
                ErrorCode.INVALID,
                f"{name} knows no unit '{bound.constant}'.",
                hint=did_you_mean(word, _UNITS) or f"A time of day has {', '.join(_UNITS)}.",
            )
        return str(_UNITS[word])
    cases = " ".join(f"WHEN '{word}' THEN {micros}" for word, micros in _UNITS.items())
    wrong = failure(f"{name} knows no unit '%s'.", bound.sql)
    return f"(CASE upper({bound.sql}) {cases} ELSE CASE WHEN {bound.sql} IS NOT NULL THEN {wrong} END END)"


def _time_of(bound: Bound, name: str, context: Context) -> Bound:
    from bergsql.engine.plan.casts import coerce, type_text

    if bound.type.kind is Kind.TIME:
        return bound
    if bound.type.kind in TEXTS or bound.type.kind is Kind.NULL:
        return coerce(bound, TIME6, context)
    raise BergError(ErrorCode.TYPE, f"{name} takes times of day, not {type_text(bound.type, context.flavour)}.")


def _time_diff(arguments: list[Bound], context: Context) -> str:
    """Whole units from the first time to the second, cut towards zero."""
    unit = _unit(arguments[0], "TIME_DIFF")
    start, end = (_time_of(a, "TIME_DIFF", context).sql for a in arguments[1:])
    return f"((epoch_us({end}) - epoch_us({start})) // {unit})"


def _time_trunc(arguments: list[Bound], context: Context) -> Bound:
    unit = _unit(arguments[0], "TIME_TRUNC")
    time = _time_of(arguments[1], "TIME_TRUNC", context)
    micros = let(f"epoch_us({time.sql})", lambda x: f"({x} - {x} % {unit})")
    return Bound(_of_micros(micros), time.type, "")


def _time(arguments: list[Bound], context: Context) -> Bound:
    """A cast, whose column is named after the argument."""
    from bergsql.engine.plan.casts import coerce

    return coerce(arguments[0], TIME6, context)


def _read(arguments: list[Bound], context: Context) -> str:
    """SQL of the time that text shows, after a pattern or as a cast reads it; NULL where it does not read."""
    from bergsql.engine.plan.casts import convert_sql
    from bergsql.engine.sql.functions.time_text import literal_pattern

    text = arguments[0].sql
    if len(arguments) == 1:
        return convert_sql(text, STRING, TIME6, context, safe=True)
    if arguments[1].is_null:
        return "CAST(NULL AS TIME)"
    return f"CAST({read_local(text, literal_pattern(arguments[1]), Dialect.SPARK)} AS TIME)"


def _to_time(arguments: list[Bound], context: Context) -> str:
    if any(a.is_null for a in arguments):
        return "CAST(NULL AS TIME)"
    wrong = failure("The text '%s' is no time of day.", arguments[0].sql)
    read = _read(arguments, context)
    return f"CASE WHEN {arguments[0].sql} IS NOT NULL THEN coalesce({read}, {wrong}) END"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("make_time", "s", "iia", TIME6, _make_time),
    Scalar("time_diff", "s", "taa", BIGINT, _time_diff),
    Scalar("time_trunc", "s", "ta", TIME6, _time_trunc),
    Scalar("time", "s", "a", TIME6, _time),
    Scalar("to_time", "s", "tt?", TIME6, _to_time),
    Scalar("try_to_time", "s", "tt?", TIME6, _read),
)
