"""Casts of literals, done while planning: ``ts > '2024-01-01'`` is then a comparison that can be pushed down."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from decimal import Context as DecimalContext
from typing import Final

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.java_floats import double_text, float_text
from bergsql.engine.plan.cast_text import FALSE_WORDS, TRUE_WORDS, target_name
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.integers import wrap_int
from bergsql.engine.plan.time_text import timestamp_text
from bergsql.engine.plan.times import from_utc, parse_date, parse_time, to_utc, zone
from bergsql.engine.plan.typed_literals import timestamp_value
from bergsql.engine.sql.parser.query import Place, span_of
from bergsql.engine.sql.types import FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

EXACT = DecimalContext(prec=100)
"""Python computes with 28 digits unless told otherwise; decimals here have 38."""

UNFOLDED: Final = object()
"""Says that DuckDB shall cast it."""

_INTEGER = r"(?a)[+-]?\d+(?:\.\d*)?|[+-]?\.\d*"
_NUMBER = r"(?a)[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SPECIAL = {
    "nan": math.nan,
    "inf": math.inf,
    "infinity": math.inf,
    "+inf": math.inf,
    "+infinity": math.inf,
    "-inf": -math.inf,
    "-infinity": -math.inf,
}


def fold_cast(
    value: object, source: DataType, to: DataType, context: Context, *, safe: bool = False, place: Place = None
) -> object:
    """The value of a literal cast to ``to`` (None: it is NULL), or :data:`UNFOLDED`.

    :raises BergError: when flink's CAST of it fails.
    """
    if source.kind in TEXTS and isinstance(value, str):
        if to.kind in TEXTS:
            return UNFOLDED
        found = _from_text(value, to, context.planner.relations.time_zone, ansi=safe and context.spark)
        if found is None and not context.spark and not safe:
            raise BergError(
                ErrorCode.TYPE,
                f"'{value}' cannot be cast to {target_name(to)}.",
                span=span_of(place),
                hint="TRY_CAST gives NULL for text that does not read.",
            )
        return found
    if isinstance(value, bool):
        return UNFOLDED
    if isinstance(value, int) and source.kind in INTEGERS:
        return _from_integer(value, to, safe=safe)
    if isinstance(value, Decimal):
        return _from_decimal(value, to)
    if isinstance(value, float) and to.kind is Kind.DOUBLE and source.kind is Kind.FLOAT:
        return value
    if isinstance(value, float) and to.kind is Kind.DECIMAL:
        shortest = float_text(value) if source.kind is Kind.FLOAT else repr(value)
        return _rounded(Decimal(shortest), to) if math.isfinite(value) else None
    if to.kind in TEXTS:
        return _to_text(value, source, to)
    if isinstance(value, datetime) and source.kind is not to.kind and to.kind in STAMPS:
        return _to_other_clock(value, to, context)
    if isinstance(value, date) and not isinstance(value, datetime) and to.kind in STAMPS:
        return timestamp_value(value.isoformat(), to, context.planner.relations.time_zone)
    return UNFOLDED


def _from_text(text: str, to: DataType, zone_name: str, *, ansi: bool) -> object:
    stripped = text.strip("".join(map(chr, range(33))))
    kind = to.kind
    if kind in INTEGERS:
        if not re.fullmatch(_INTEGER, stripped) or (ansi and "." in stripped):
            return None
        whole = stripped.partition(".")[0]
        number = int(whole) if whole not in ("", "+", "-") else 0
        return number if wrap_int(number, kind) == number else None
    if kind in FLOATS:
        if stripped.lower() in _SPECIAL:
            return _SPECIAL[stripped.lower()]
        return float(stripped) if re.fullmatch(_NUMBER, stripped) else None
    if kind is Kind.DECIMAL:
        return _rounded(Decimal(stripped), to) if re.fullmatch(_NUMBER, stripped) else None
    if kind is Kind.BOOLEAN:
        low = stripped.lower()
        return True if low in TRUE_WORDS else False if low in FALSE_WORDS else None
    if kind in (Kind.DATE, *STAMPS) and re.match("[+-]|[0-9]{5}", stripped):
        return UNFOLDED  # a year that Python has not
    if kind is Kind.DATE:
        return parse_date(text)
    if kind is Kind.TIME and (to.precision or 0) <= 6:
        parsed = parse_time(text)
        return parsed[0] if parsed else None
    if kind in STAMPS:
        return timestamp_value(text, to, zone_name)
    return UNFOLDED


def _rounded(value: Decimal, to: DataType) -> Decimal | None:
    """Half up to the scale of ``to``; None when it has too many digits."""
    try:
        rounded = value.quantize(Decimal((0, (1,), -(to.scale or 0))), ROUND_HALF_UP, EXACT)
    except InvalidOperation:
        return None
    # Compared, not computed: Python rounds what it computes to 28 digits.
    whole = (to.precision or 38) - (to.scale or 0)
    return rounded if rounded.copy_abs() < Decimal((0, (1,), whole)) else None


def _from_integer(value: int, to: DataType, *, safe: bool) -> object:
    if to.kind in INTEGERS:
        cut = wrap_int(value, to.kind)
        return None if safe and cut != value else cut
    if to.kind is Kind.DOUBLE:
        return float(value)
    if to.kind is Kind.DECIMAL:
        return _rounded(Decimal(value), to)
    if to.kind is Kind.STRING:
        return str(value)
    return UNFOLDED


def _from_decimal(value: Decimal, to: DataType) -> object:
    if to.kind is Kind.DECIMAL:
        return _rounded(value, to)
    if to.kind is Kind.DOUBLE:
        return float(value)
    if to.kind in INTEGERS:
        return wrap_int(int(value), to.kind)
    if to.kind is Kind.STRING:
        return f"{value:f}"
    return UNFOLDED


def _to_other_clock(value: datetime, to: DataType, context: Context) -> object:
    """A timestamp as an instant, or an instant as what the session's clock shows."""
    where = zone(context.planner.relations.time_zone)
    if where is None or to.fractional_digits != 6:
        return UNFOLDED
    found = to_utc(value, where) if to.kind is Kind.TIMESTAMP_LTZ else from_utc(value, where)
    return UNFOLDED if found is None else found


def _to_text(value: object, source: DataType, to: DataType) -> object:
    if to.kind is not Kind.STRING:
        return UNFOLDED
    if isinstance(value, float):
        return float_text(value) if source.kind is Kind.FLOAT else double_text(value)
    if isinstance(value, datetime) and source.kind is Kind.TIMESTAMP and source.precision in (None, 6):
        return timestamp_text(value, None)
    return UNFOLDED
