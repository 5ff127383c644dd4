"""Literals that say their type: ``DATE '…'``, ``TIMESTAMP '…'``, ``X'…'``, ``1L``."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.constants import constant
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.integers import BITS, wrap_int
from bergsql.engine.plan.literals import decimal_literal, in_range, string_value
from bergsql.engine.plan.times import parse_date, parse_time, parse_timestamp, to_utc, zone
from bergsql.engine.sql.parser.query import declared_type, span_of
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import BYTES, STAMPS, DataType, Kind

if TYPE_CHECKING:
    from datetime import tzinfo


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
    written = string_value(node.this)
    found: object = None
    if type_.kind is Kind.DATE:
        found = parse_date(written)
    elif type_.kind is Kind.TIME:
        parsed = parse_time(written)
        found = parsed[0] if parsed else None
    elif type_.kind in STAMPS:
        found = timestamp_value(written, type_, context.planner.relations.time_zone)
    if found is None and re.match(r"\s*(?:[+-]|\d{5})", written, re.ASCII):
        return _far_literal(written, type_, context)
    if found is None:
        raise BergError(
            ErrorCode.TYPE, f"'{written}' is not a {type_.kind.value.split('_')[0]}.", span=span_of(node.this)
        )
    return constant(found, type_, None, context.planner.relations.time_zone)


def _far_literal(written: str, type_: DataType, context: Context) -> Bound:
    """A day of a year that Python has not: DuckDB reads it, and refuses it while the query runs."""
    from bergsql.engine.plan.cast_text import from_text

    sql = from_text(string_literal(written), type_, context.planner.relations.time_zone, strict=True)
    word = "TIMESTAMP_NTZ" if type_.kind is Kind.TIMESTAMP else type_.kind.value.split("_")[0]
    return Bound(sql or "NULL", type_, f"{word} '{written.strip()}'", False)


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
    digits = type_.fractional_digits
    if found is None:
        return None
    if digits > 6:
        micros = (found - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        kept = int(10 ** (9 - digits))
        return micros * 1000 + nanos % 1000 // kept * kept
    unit = int(10 ** (6 - digits))
    return found.replace(microsecond=found.microsecond // unit * unit)


def _suffixed_number(written: str, type_: DataType, node: exp.Expr) -> Bound:
    if type_.kind in BITS:
        value = int(written[:40])  # which is out of range already
        if value != wrap_int(value, type_.kind):
            raise BergError(
                ErrorCode.TYPE, f"{written} is out of range for {type_.kind.value}.", span=span_of(node.this)
            )
        return constant(value, type_)
    if type_.kind is Kind.DECIMAL:
        return decimal_literal(written, node.this)
    return constant(in_range(written, type_, node.this), type_)
