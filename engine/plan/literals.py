"""Literals: numbers, text, bytes, dates and times, intervals."""

from __future__ import annotations

import math
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.java_floats import double_text, float_text
from bergsql.engine.plan.bound import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DOUBLE,
    INT,
    NULL,
    STRING,
    Bound,
    string_literal,
)
from bergsql.engine.plan.coercion import MAX_DIGITS, decimal, integer_literal_type
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.intervals import bind_interval
from bergsql.engine.plan.time_text import time_text, timestamp_text
from bergsql.engine.plan.times import from_utc, parse_date, parse_time, parse_timestamp, to_utc, zone
from bergsql.engine.sql.parser.query import declared_type, span_of
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable
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
    if type_.kind is Kind.INT and value >= 0:
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
        return constant(value.copy_negate(), operand.type)
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
        kept = int(10 ** (9 - digits))
        return micros * 1000 + nanos % 1000 // kept * kept
    unit = int(10 ** (6 - digits))
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


LITERALS: dict[type[exp.Expr], Callable[[exp.Expr, Context], Bound]] = {
    exp.Literal: bind_literal,
    exp.Null: bind_null,
    exp.Boolean: bind_boolean,
    exp.HexString: bind_hex,
    exp.Interval: bind_interval,
}
