"""Literals: numbers, text, bytes, dates and times, intervals."""

from __future__ import annotations

import math
import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.java_floats import double_text, float_text
from bergsql.engine.plan.bound import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Bound,
    string_literal,
)
from bergsql.engine.plan.coercion import MAX_DIGITS, decimal, integer_literal_type
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.time_text import time_text, timestamp_text
from bergsql.engine.plan.times import from_utc, parse_date, parse_time, parse_timestamp, to_utc, zone
from bergsql.engine.sql.parser.query import declared_type, span_of
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from datetime import tzinfo

_SMALL = {Kind.TINYINT: 7, Kind.SMALLINT: 15, Kind.INT: 31, Kind.BIGINT: 63}


def constant(value: object, type_: DataType, text: str | None = None, zone_name: str = "UTC") -> Bound:
    """A known value as a bound expression. Dates and times are as :data:`bergsql.engine.result.Row` has them."""
    sql = constant_sql(value, type_)
    return Bound(sql, type_, constant_text(value, type_, zone_name) if text is None else text, value is None, value)


def constant_sql(value: object, type_: DataType) -> str:
    """``value`` in DuckDB's SQL, of exactly the DuckDB type of ``type_``."""
    if value is None:
        return "NULL" if type_.kind is Kind.NULL else f"CAST(NULL AS {duckdb_name(type_)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _integer_sql(value, type_)
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, Decimal):
        whole = type_.precision or 38
        return f"CAST({value:f} AS DECIMAL({whole},{type_.scale or 0}))"
    if isinstance(value, float):
        return _float_sql(value, type_)
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')" if value else "''::BLOB"
    if isinstance(value, datetime):
        text = timestamp_text(value, None)
        return f"TIMESTAMPTZ '{text}+00'" if type_.kind is Kind.TIMESTAMP_LTZ else f"TIMESTAMP '{text}'"
    if isinstance(value, date):
        return f"DATE '{value.year:04}-{value.month:02}-{value.day:02}'"
    if isinstance(value, time):
        return f"TIME '{time_text(value, None)}'"
    raise TypeError(type(value).__name__)


def _integer_sql(value: int, type_: DataType) -> str:
    if type_.kind is Kind.DECIMAL:
        return f"CAST({value} AS DECIMAL({type_.precision},{type_.scale or 0}))"
    if type_.kind is Kind.INT and 0 <= value:
        return str(value)
    if type_.kind is Kind.BIGINT and value >= 2**31:
        return str(value)
    if type_.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):  # nanoseconds since 1970
        made = f"make_timestamp_ns({value})"
        return made if type_.kind is Kind.TIMESTAMP else f"CAST({made} AS {duckdb_name(type_)})"
    return f"CAST({value} AS {duckdb_name(type_)})"


def _float_sql(value: float, type_: DataType) -> str:
    shown = repr(value) if math.isfinite(value) else f"'{value}'"
    if type_.kind is Kind.DOUBLE and math.isfinite(value) and "e" in shown and value > 0:
        return shown
    return f"CAST({shown} AS {duckdb_name(type_)})"


def constant_text(value: object, type_: DataType, zone_name: str) -> str:
    """Spark's text of a literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value) if type_.kind is Kind.FLOAT else double_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            local = _local(value, type_, zone_name)
            word = "TIMESTAMP_NTZ" if type_.kind is Kind.TIMESTAMP else "TIMESTAMP"
            return f"{word} '{timestamp_text(local, None)}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{time_text(value, None)}'"
        case Decimal():
            return f"{value:f}"
    return str(value)


def _local(value: datetime, type_: DataType, zone_name: str) -> datetime:
    where = zone(zone_name)
    shown = from_utc(value, where) if type_.kind is Kind.TIMESTAMP_LTZ and where else value
    return shown or value


# --- from the tree ----------------------------------------------------------------------------------------------------


def bind_literal(node: exp.Expr, context: Context) -> Bound:
    """A number or a string."""
    text = str(node.this)
    if node.args.get("is_string"):
        type_ = STRING if context.spark else DataType(Kind.CHAR, len(text))
        return Bound(string_literal(text), type_, text, False, text)
    return bind_number(text, node)


def bind_number(text: str, node: exp.Expr | None) -> Bound:
    """``1`` is INT (BIGINT, DECIMAL when it must), ``1.5`` DECIMAL, ``1e10`` DOUBLE."""
    if text.isdigit():
        value = int(text)
        type_ = integer_literal_type(value)
        if type_.kind is Kind.DECIMAL:
            return _decimal_literal(Decimal(value), node)
        return Bound(text.lstrip("0") or "0", type_, str(value), False, value)
    if "e" in text or "E" in text:
        return constant(float(text), DOUBLE)
    return _decimal_literal(Decimal(text), node)


def _decimal_literal(value: Decimal, node: exp.Expr | None) -> Bound:
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent) if isinstance(exponent, int) and exponent < 0 else 0
    precision = max(len(digits), scale)
    if precision > MAX_DIGITS:
        raise BergError(
            ErrorCode.TYPE,
            f"The number has {precision} digits; a decimal holds {MAX_DIGITS}.",
            span=span_of(node) if node is not None else None,
        )
    return constant(value, decimal(precision, scale))


def negated(operand: Bound) -> Bound | None:
    """``-`` in front of a number literal: a literal itself (``-2147483648`` is an INT)."""
    value = operand.constant
    if isinstance(value, bool) or not isinstance(value, int | Decimal | float):
        return None
    if isinstance(value, int):
        type_ = operand.type
        if type_.kind is Kind.BIGINT and value == 2**31:
            type_ = INT
        if type_.kind in _SMALL and value == -(2 ** _SMALL[type_.kind]):
            return None
        return constant(-value, type_)
    if isinstance(value, Decimal):
        if value == 2**63:
            return constant(-(2**63), BIGINT)
        return constant(-value, operand.type)
    return constant(-value, operand.type)


def bind_null(node: exp.Expr, context: Context) -> Bound:  # noqa: ARG001
    return Bound("NULL", NULL, "NULL", True, None)


def bind_boolean(node: exp.Expr, context: Context) -> Bound:  # noqa: ARG001
    return constant(bool(node.this), BOOLEAN)


def bind_hex(node: exp.Expr, context: Context) -> Bound:
    digits = str(node.this)
    try:
        value = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)
    except ValueError:
        raise BergError(
            ErrorCode.SYNTAX, f"X'{digits}' is not made of hexadecimal digits.", span=span_of(node)
        ) from None
    type_ = BYTES if context.spark else DataType(Kind.BINARY, len(value))
    return constant(value, type_)


def bind_typed_literal(node: exp.Expr, context: Context, negative: bool = False) -> Bound:
    """``DATE '…'``, ``TIMESTAMP '…'``, ``1L`` and the like."""
    type_ = declared_type(node.args["to"])
    written = str(node.this.this)
    if negative:
        return _suffixed_number("-" + written, type_, node)
    if not node.this.args.get("is_string"):
        return _suffixed_number(written, type_, node)
    found: object = None
    if type_.kind is Kind.DATE:
        found = parse_date(written)
    elif type_.kind is Kind.TIME:
        parsed = parse_time(written)
        found = parsed[0] if parsed else None
    elif type_.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_LTZ):
        found = timestamp_value(written, type_, context.planner.relations.time_zone)
    if found is None:
        raise BergError(
            ErrorCode.TYPE, f"'{written}' is not a {type_.kind.value.split('_')[0]}.", span=span_of(node.this)
        )
    return constant(found, type_, None, context.planner.relations.time_zone)


def timestamp_value(text: str, type_: DataType, zone_name: str) -> datetime | int | None:
    """The timestamp that ``text`` means: naive (an instant: in UTC); nanoseconds since 1970 when precision > 6."""
    parsed = parse_timestamp(text)
    if parsed is None:
        return None
    stamp, nanos, written_zone = parsed
    where: tzinfo | None = written_zone or zone(zone_name)
    found: datetime | None = stamp
    if type_.kind is Kind.TIMESTAMP_LTZ:
        found = to_utc(stamp, where) if where else None
    digits = 6 if type_.precision is None else type_.precision
    if found is None:
        return None
    if digits > 6:
        micros = (found - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        return micros * 1000 + nanos % 1000 // 10 ** (9 - digits) * 10 ** (9 - digits)
    unit = 10 ** (6 - digits)
    return found.replace(microsecond=found.microsecond // unit * unit)


def _suffixed_number(written: str, type_: DataType, node: exp.Expr) -> Bound:
    if type_.kind in _SMALL:
        value = int(written)
        if not -(2 ** _SMALL[type_.kind]) <= value < 2 ** _SMALL[type_.kind]:
            raise BergError(
                ErrorCode.TYPE, f"{written} is out of range for {type_.kind.value}.", span=span_of(node.this)
            )
        return constant(value, type_)
    if type_.kind is Kind.DECIMAL:
        return _decimal_literal(Decimal(written), node.this)
    return constant(float(written), type_)


# --- intervals --------------------------------------------------------------------------------------------------------

_MICROS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_PART = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s+([a-zA-Z]+)")
_SPAN = re.compile(r"([+-]?)(?:(\d+)\s+)?(?:(\d+):)?(?:(\d+):)?(\d+(?:\.\d+)?)")


def unit_name(word: str) -> str:
    """``days`` → ``DAY``."""
    upper = word.upper()
    return upper[:-1] if upper.endswith("S") and upper[:-1] in (*_MICROS, *_MONTHS) else upper


def bind_interval(node: exp.Expr, context: Context) -> Bound:
    """``INTERVAL '3' DAY``, ``INTERVAL '1-2' YEAR TO MONTH``, Spark's ``interval '1 day 2 hours'``."""
    value, unit = node.this, node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _span_interval(str(value.this), unit, node)
    if value is not None and not isinstance(value, exp.Literal | exp.Neg):
        return _computed_interval(node, context)
    sign = -1 if isinstance(value, exp.Neg) else 1
    written = str((value.this if isinstance(value, exp.Neg) else value).this)
    if unit is None:
        return _many_parts(written, node)
    name = unit_name(str(unit.this))
    try:
        amount = Decimal(written.strip()) * sign
    except ArithmeticError:
        raise BergError(
            ErrorCode.SYNTAX, f"'{written}' is not a number of {name.lower()}s.", span=span_of(node)
        ) from None
    return make_interval(*_amounts(amount, name, node), _unit_text(written, sign, name))


def _unit_text(written: str, sign: int, name: str) -> str:
    text = written.strip()
    if name == "WEEK" and text.isdigit():
        text, name = str(int(text) * 7), "DAY"
    elif name in ("HOUR", "MINUTE", "SECOND"):
        whole, point, rest = text.partition(".")
        text = whole.rjust(2, "0") + point + rest
    return f"INTERVAL '{'-' if sign < 0 else ''}{text}' {name}"


def _amounts(amount: Decimal, name: str, node: exp.Expr) -> tuple[int, int]:
    if name in _MONTHS and amount == int(amount):
        return int(amount) * _MONTHS[name], 0
    if name in _MICROS:
        return 0, int(amount * _MICROS[name])
    raise BergError(ErrorCode.SYNTAX, f"An interval cannot be {amount} {name}.", span=span_of(node))


def make_interval(months: int, micros: int, text: str) -> Bound:
    """A constant interval."""
    if months:
        return Bound(f"to_months({months})", DataType(Kind.INTERVAL_YEAR_MONTH), text, False)
    days, rest = divmod(abs(micros), _MICROS["DAY"])
    sign = "-" if micros < 0 else ""
    # Whole days are kept apart: over a change to summer time a day is not 24 hours.
    sql = f"(to_days({sign}{days}) + to_microseconds({sign}{rest}))"
    return Bound(sql, DataType(Kind.INTERVAL_DAY_TIME, None if rest else 0), text, False)


def _many_parts(written: str, node: exp.Expr) -> Bound:
    months = micros = 0
    position = 0
    text = written.strip()
    if text.lower().startswith("interval "):
        text = text[9:]
    while found := _PART.match(text, position):
        amount = Decimal(found.group(1).replace(" ", ""))
        m, u = _amounts(amount, unit_name(found.group(2)), node)
        months, micros, position = months + m, micros + u, found.end()
    if position == 0 or text[position:].strip():
        raise BergError(ErrorCode.SYNTAX, f"'{written}' is not an interval.", span=span_of(node))
    if months and micros:
        raise not_supported("An interval of both months and days", span_of(node), "Add the two parts one by one.")
    return make_interval(months, micros, f"INTERVAL '{text}'")


def _span_interval(written: str, unit: exp.Expr, node: exp.Expr) -> Bound:
    first, last = unit_name(str(unit.this.this)), unit_name(str(unit.expression.this))
    text = f"INTERVAL '{written}' {first} TO {last}"
    stripped = written.strip()
    if first == "YEAR" and last == "MONTH":
        found = re.fullmatch(r"([+-]?)(\d+)-(\d+)", stripped)
        if found:
            months = int(found.group(2)) * 12 + int(found.group(3))
            return Bound(
                f"to_months({'-' if found.group(1) == '-' else ''}{months})",
                DataType(Kind.INTERVAL_YEAR_MONTH),
                text,
                False,
            )
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if first in order and last in order and order.index(first) < order.index(last):
        names = order[order.index(first) : order.index(last) + 1]
        numbers = re.split(r"[\s:]+", stripped.lstrip("+-"))
        if len(numbers) == len(names) and all(re.fullmatch(r"\d+(\.\d+)?", n) for n in numbers):
            total = sum(int(Decimal(n) * _MICROS[u]) for n, u in zip(numbers, names, strict=True))
            return make_interval(0, -total if stripped.startswith("-") else total, text)
    raise BergError(ErrorCode.SYNTAX, f"'{written}' is not an interval of {first} to {last}.", span=span_of(node))


def _computed_interval(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind

    amount = bind(node.this, context)
    unit = node.args.get("unit")
    name = unit_name(str(unit.this)) if unit is not None else "DAY"
    if name in _MONTHS:
        sql = f"to_months(CAST({amount.sql} AS INTEGER) * {_MONTHS[name]})"
        return Bound(sql, DataType(Kind.INTERVAL_YEAR_MONTH), f"INTERVAL {amount.text} {name}")
    if name in ("DAY", "WEEK"):
        sql = f"to_days(CAST({amount.sql} AS INTEGER) * {7 if name == 'WEEK' else 1})"
    else:
        sql = f"to_microseconds(CAST({amount.sql} * {_MICROS.get(name, 0)} AS BIGINT))"
    return Bound(sql, DataType(Kind.INTERVAL_DAY_TIME), f"INTERVAL {amount.text} {name}")


LITERALS = {
    exp.Literal: bind_literal,
    exp.Null: bind_null,
    exp.Boolean: bind_boolean,
    exp.HexString: bind_hex,
    exp.Interval: bind_interval,
}
DATE_TYPES = (DATE,)
