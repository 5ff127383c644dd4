"""Intervals: ``INTERVAL '3' DAY``, ``INTERVAL '1-2' YEAR TO MONTH``, ``interval '1 day 2 hours'``.

An interval is of months, or of days and microseconds; never of both, as in both engines.
"""

from __future__ import annotations

import re
from decimal import Decimal

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.units import MICROS, MONTHS, unit_name
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INTEGERS, NUMBERS, DataType, Kind

_PART = r"(?a)\s*([+-]?\s*\d+(?:\.\d+)?)\s+([a-zA-Z]+)"


def bind_interval(node: exp.Expr, context: Context) -> Bound:
    """``INTERVAL '3' DAY``, ``INTERVAL '1-2' YEAR TO MONTH``, Spark's ``interval '1 day 2 hours'``."""
    value, unit = node.this, node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return _span_interval(str(value.this), unit, node)
    sign = -1 if isinstance(value, exp.Neg) else 1
    literal = value.this if isinstance(value, exp.Neg) else value
    if literal is not None and not isinstance(literal, exp.Literal):
        return _computed_interval(node, context)
    written = str(literal.this) if literal is not None else ""
    if unit is None:
        return _many_parts(written, node)
    name = unit_name(str(unit.this), span_of(node))
    try:
        amount = Decimal(written.strip()) * sign
    except ArithmeticError:
        raise BergError(
            ErrorCode.SYNTAX, f"'{written}' is not a number of {name.lower()}s.", span=span_of(node)
        ) from None
    return make_interval(*_amounts(amount, name, node), _unit_text(written, sign, name), of_months=name in MONTHS)


def _unit_text(written: str, sign: int, name: str) -> str:
    text = written.strip()
    if name == "WEEK" and text.isdigit():
        text, name = str(int(text) * 7), "DAY"
    elif name in ("HOUR", "MINUTE", "SECOND"):
        whole, point, rest = text.partition(".")
        text = whole.rjust(2, "0") + point + rest
    return f"INTERVAL '{'-' if sign < 0 else ''}{text}' {name}"


def _amounts(amount: Decimal, name: str, node: exp.Expr) -> tuple[int, int]:
    if name in MONTHS and amount == int(amount):
        return int(amount) * MONTHS[name], 0
    if name in MICROS:
        return 0, int(amount * MICROS[name])
    raise BergError(ErrorCode.INVALID, f"An interval cannot be {amount} {name}S.", span=span_of(node))


def make_interval(months: int, micros: int, text: str, *, of_months: bool = False) -> Bound:
    """A constant interval; ``of_months`` says that none at all is of months."""
    if months or (of_months and not micros):
        return _constant(f"to_months({months})", DataType(Kind.INTERVAL_YEAR_MONTH), text)
    days, rest = divmod(abs(micros), MICROS["DAY"])
    sign = "-" if micros < 0 else ""
    # Whole days are kept apart: over a change to summer time a day is not 24 hours.
    sql = f"(to_days({sign}{days}) + to_microseconds({sign}{rest}))"
    return _constant(sql, DataType(Kind.INTERVAL_DAY_TIME, None if rest else 0), text)


def _constant(sql: str, type_: DataType, text: str) -> Bound:
    made = Bound(sql, type_, text, False)
    made.fixed = True
    return made


def micros_of(interval: Bound) -> int | None:
    """The microseconds of a constant interval of days and time, None for any other expression."""
    if interval.type.kind is not Kind.INTERVAL_DAY_TIME:
        return None
    found = re.fullmatch(r"\(to_days\((-?\d+)\) \+ to_microseconds\((-?\d+)\)\)", interval.sql)
    return int(found[1]) * int(MICROS["DAY"]) + int(found[2]) if found else None


def interval_of_text(text: str, node: exp.Expr) -> Bound:
    """The interval that a text such as ``1 day 2 hours`` says.

    :raises BergError: SYNTAX where it says none.
    """
    return _many_parts(text, node)


def _many_parts(written: str, node: exp.Expr) -> Bound:
    months = micros = 0
    position = 0
    text = written.strip()
    if text.lower().startswith("interval "):
        text = text[9:]
    while found := re.compile(_PART).match(text, position):
        amount = Decimal(found.group(1).replace(" ", ""))
        m, u = _amounts(amount, unit_name(found.group(2), span_of(node)), node)
        months, micros, position = months + m, micros + u, found.end()
    if position == 0 or text[position:].strip():
        raise BergError(ErrorCode.SYNTAX, f"'{written}' is not an interval.", span=span_of(node))
    if months and micros:
        from bergsql.engine.plan.date_arithmetic import mixed_interval

        raise mixed_interval(node)
    return make_interval(months, micros, f"INTERVAL '{text}'")


def _span_interval(written: str, unit: exp.Expr, node: exp.Expr) -> Bound:
    first, last = (unit_name(str(u.this), span_of(node)) for u in (unit.this, unit.expression))
    text = f"INTERVAL '{written}' {first} TO {last}"
    stripped = written.strip()
    if first == "YEAR" and last == "MONTH":
        found = re.fullmatch(r"(?a)([+-]?)(\d+)-(\d+)", stripped)
        if found:
            months = int(found.group(2)) * 12 + int(found.group(3))
            sign = "-" if found.group(1) == "-" else ""
            return _constant(f"to_months({sign}{months})", DataType(Kind.INTERVAL_YEAR_MONTH), text)
    order = ["DAY", "HOUR", "MINUTE", "SECOND"]
    if first in order and last in order and order.index(first) < order.index(last):
        names = order[order.index(first) : order.index(last) + 1]
        numbers = re.split(r"[\s:]+", stripped.lstrip("+-"))
        if len(numbers) == len(names) and all(re.fullmatch(r"(?a)\d+(\.\d+)?", n) for n in numbers):
            total = sum(int(Decimal(n) * MICROS[u]) for n, u in zip(numbers, names, strict=True))
            return make_interval(0, -total if stripped.startswith("-") else total, text)
    raise BergError(ErrorCode.SYNTAX, f"'{written}' is not an interval of {first} to {last}.", span=span_of(node))


def _computed_interval(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.casts import type_text
    from bergsql.engine.plan.expressions import bind

    amount = bind(node.this, context)
    if amount.type.kind not in NUMBERS:
        what = type_text(amount.type, context.flavour)
        raise type_error(f"The length of an interval is a number, not {what}.", node.this)
    unit = node.args.get("unit")
    if unit is None:
        raise BergError(ErrorCode.SYNTAX, "An interval needs a unit, as in INTERVAL 1 DAY.", span=span_of(node))
    name = unit_name(str(unit.this), span_of(node))
    if name in MONTHS:
        sql = f"to_months(CAST(trunc({amount.sql}) AS INTEGER) * {MONTHS[name]})"
        return Bound.of(sql, DataType(Kind.INTERVAL_YEAR_MONTH), f"INTERVAL {amount.text} {name}", amount)
    if name in ("DAY", "WEEK") and amount.type.kind in INTEGERS:
        sql = f"to_days(CAST({amount.sql} AS INTEGER) * {7 if name == 'WEEK' else 1})"
    else:
        sql = f"to_microseconds(CAST({amount.sql} * {MICROS[name]} AS BIGINT))"
    return Bound.of(sql, DataType(Kind.INTERVAL_DAY_TIME), f"INTERVAL {amount.text} {name}", amount)
