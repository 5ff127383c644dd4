"""EXTRACT and DATE_PART: the parts of dates, times, timestamps and intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BIGINT, DOUBLE, INT, INTERVALS, LTZ6, STAMP6, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

TINYINT, SECONDS = DataType(Kind.TINYINT), DataType(Kind.DECIMAL, 8, 6)

_WORDS = {
    "YEAR": "Y YEARS YR YRS", "QUARTER": "QTR", "MONTH": "MON MONS MONTHS", "WEEK": "W WEEKS",
    "DAY": "D DAYS DAYOFMONTH", "DOW": "DAYOFWEEK", "ISODOW": "DAYOFWEEK_ISO DOW_ISO", "DOY": "DAYOFYEAR",
    "HOUR": "H HOURS HR HRS", "MINUTE": "M MIN MINS MINUTES", "SECOND": "S SEC SECONDS SECS", "ISOYEAR": "YEAROFWEEK",
    "EPOCH": "", "CENTURY": "", "DECADE": "", "MILLENNIUM": "", "MILLISECOND": "", "MICROSECOND": "",
}  # fmt: skip
"""The parts, and the other words for them."""
_PART_OF = {word: part for part, words in _WORDS.items() for word in (part, *words.split())}
_SQL = {
    "YEAR": "year({0})", "QUARTER": "quarter({0})", "MONTH": "month({0})", "WEEK": "week({0})", "DAY": "day({0})",
    "DOY": "dayofyear({0})", "DOW": "(dayofweek({0}) + 1)", "HOUR": "hour({0})", "MINUTE": "minute({0})",
    "SECOND": "second({0})", "EPOCH": "floor(epoch({0}))", "ISODOW": "isodow({0})", "ISOYEAR": "isoyear({0})",
    "CENTURY": "century({0})", "DECADE": "decade({0})", "MILLENNIUM": "millennium({0})",
    "MILLISECOND": "(millisecond({0}) % 1000)", "MICROSECOND": "(microsecond({0}) % 1000000)",
}  # fmt: skip
_OF_MONTHS = {"YEAR": "({0} // 12)", "MONTH": "({0} % 12)"}
_OF_MICROS = {
    "DAY": "({0} // 86400000000)", "HOUR": "({0} // 3600000000 % 24)", "MINUTE": "({0} // 60000000 % 60)",
    "SECOND": "({0} // 1000000 % 60)", "EPOCH": "({0} // 1000000)", "MILLISECOND": "({0} // 1000 % 1000)",
    "MICROSECOND": "({0} % 1000000)",
}  # fmt: skip


def _extract(arguments: list[Bound], context: Context) -> Bound:
    if arguments[0].is_null and context.spark:
        return Bound("CAST(NULL AS DOUBLE)", DOUBLE, "")
    if not isinstance(arguments[0].constant, str):
        raise BergError(ErrorCode.INVALID, "The unit must be a literal, such as 'DAY'.")
    word = arguments[0].constant.upper()
    part = _PART_OF.get(word)
    if part is None:
        raise BergError(ErrorCode.INVALID, f"EXTRACT knows no unit {word}.", hint=did_you_mean(word, _PART_OF))
    value = arguments[1]
    if value.type.kind in TEXTS:
        from bergsql.engine.plan.casts import coerce

        value = coerce(value, LTZ6 if context.spark else STAMP6, context)
    if value.type.kind in INTERVALS:
        return _of_interval(part, value, context)
    if value.type.kind not in (*STAMPS, Kind.DATE, Kind.TIME, Kind.NULL):
        raise BergError(ErrorCode.TYPE, f"EXTRACT takes a date, a time or a timestamp, not {value.type.kind.value}.")
    at = value.sql
    if value.type.kind is Kind.TIMESTAMP_LTZ and part != "EPOCH":
        at = f"CAST({at} AS TIMESTAMP)"
    if context.spark and part == "SECOND":
        return Bound(let(at, lambda x: _seconds(f"microsecond({x})")), SECONDS, "")
    sql = _SQL[part].format(at)
    if context.spark and part != "EPOCH":
        return Bound(f"CAST({sql} AS INTEGER)", INT, "")
    return Bound(f"CAST({sql} AS BIGINT)", BIGINT, "")


def _seconds(micros: str) -> str:
    return f"CAST(CAST({micros} AS DECIMAL(18,0)) * 0.000001 AS DECIMAL(8,6))"


def _of_interval(part: str, value: Bound, context: Context) -> Bound:
    """Of an interval, its sign goes to every part."""
    months = value.type.kind is Kind.INTERVAL_YEAR_MONTH
    template = (_OF_MONTHS if months else _OF_MICROS).get(part)
    if template is None:
        what = "years and months" if months else "days and time"
        raise BergError(ErrorCode.INVALID, f"An interval of {what} has no {part}.")
    if months:
        total = let(value.sql, lambda x: f"(datepart('year', {x}) * 12 + datepart('month', {x}))")
    else:
        total = f"epoch_us({value.sql})"
    if not context.spark:
        return Bound(f"CAST({template.format(total)} AS BIGINT)", BIGINT, "")
    if part == "SECOND":
        return Bound(_seconds(f"({total} % 60000000)"), SECONDS, "")
    type_ = INT if part in ("YEAR", "DAY") else TINYINT if part in ("MONTH", "HOUR", "MINUTE") else BIGINT
    name = {Kind.INT: "INTEGER", Kind.TINYINT: "TINYINT", Kind.BIGINT: "BIGINT"}[type_.kind]
    return Bound(f"CAST({template.format(total)} AS {name})", type_, "")


FUNCTIONS: tuple[Function, ...] = (
    Scalar("extract", "fs", "ta", INT, _extract),
    Scalar("date_part datepart", "fs", "ta", INT, _extract),
)
