"""Intervals: ``INTERVAL '3' DAY``, ``INTERVAL '1-2' YEAR TO MONTH``, ``interval '1 day 2 hours'``.

An interval is of months, or of days and microseconds; never of both, as in both engines.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Context
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import DataType, Kind

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
_PART = r"\s*([+-]?\s*\d+(?:\.\d+)?)\s+([a-zA-Z]+)"


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
    literal = value.this if isinstance(value, exp.Neg) else value
    written = str(literal.this) if literal is not None else ""
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
    while found := re.compile(_PART).match(text, position):
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
        return Bound.of(sql, DataType(Kind.INTERVAL_YEAR_MONTH), f"INTERVAL {amount.text} {name}", amount)
    if name in ("DAY", "WEEK"):
        sql = f"to_days(CAST({amount.sql} AS INTEGER) * {7 if name == 'WEEK' else 1})"
    else:
        sql = f"to_microseconds(CAST({amount.sql} * {_MICROS.get(name, 0)} AS BIGINT))"
    return Bound.of(sql, DataType(Kind.INTERVAL_DAY_TIME), f"INTERVAL {amount.text} {name}", amount)
