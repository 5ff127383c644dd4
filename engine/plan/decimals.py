"""Decimal arithmetic with the precision of Spark and Flink.

DuckDB adds, subtracts and multiplies decimals as they do while 38 digits are enough; it divides them as doubles, which
is neither exact nor a decimal. A quotient is made of whole numbers instead, by long division: in BIGINTs where the
operands have few digits (measured: 85 ns a row; a division of HUGEINTs alone takes 350 ns), else in HUGEINTs. Only
divisors of more than 36 digits are divided as doubles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import MAX_DIGITS
from bergsql.engine.plan.sql_text import LONG, by_zero, let_all
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.context import Context

_BIGINT_DIGITS = 18
_HUGEINT_DIGITS = 37

Operand = tuple[Bound, DataType]
"""A bound number and the decimal type that it counts as."""
Term = tuple[str, DataType]
"""The same as SQL."""


def decimal_operation(symbol: str, a: Operand, b: Operand, type_: DataType, context: Context) -> str:
    """SQL of ``a symbol b``, a decimal of ``type_``."""
    if symbol in "+-*":
        work = _sum if symbol in "+-" else _product
        dear = a[0].volatile or b[0].volatile or max(len(a[0].sql), len(b[0].sql)) > LONG
        if (type_.precision or 0) < MAX_DIGITS or not dear:
            return work(symbol, (_sql(a), a[1]), (_sql(b), b[1]), type_)
        # What may need more than 38 digits is written several times, and tried: TRY takes no volatile operand.
        return let_all([_sql(a), _sql(b)], lambda v: work(symbol, (v[0], a[1]), (v[1], b[1]), type_))
    zero = b[0].constant
    if isinstance(zero, int | float) or (zero is not None and b[0].is_constant):
        nonzero = bool(zero)
    else:
        nonzero = False

    def body(n: str, d: str) -> str:
        return _cast(f"{n} % {d}", type_) if symbol == "%" else _quotient((n, a[1]), (d, b[1]), type_)

    return _guarded(_sql(a), _sql(b), nonzero, context, body)


def _name(type_: DataType) -> str:
    return f"DECIMAL({type_.precision},{type_.scale or 0})"


def _cast(sql: str, type_: DataType) -> str:
    return f"CAST({sql} AS {_name(type_)})"


def _sql(operand: Operand) -> str:
    bound, type_ = operand
    # An integer joins in as a decimal of its own digits: DuckDB would take more for it, and run out of 38 sooner.
    return bound.sql if bound.type.kind is Kind.DECIMAL else _cast(bound.sql, type_)


def _sum(symbol: str, a: Term, b: Term, type_: DataType) -> str:
    """A sum whose scale may have to shrink, and which may have too many digits: NULL then, in both flavours."""
    plain = f"({a[0]} {symbol} {b[0]})"
    if (type_.precision or 0) < MAX_DIGITS:
        return _cast(plain, type_)
    return f"TRY({_cast(plain, type_)})"


def _product(symbol: str, a: Term, b: Term, type_: DataType) -> str:
    digits = (a[1].precision or 0) + (b[1].precision or 0)
    left = a[0]
    if digits > _BIGINT_DIGITS and max(a[1].precision or 0, b[1].precision or 0) <= _BIGINT_DIGITS:
        # DuckDB multiplies two decimals of up to 18 digits in 64 bits, and raises where the product needs more.
        left = f"CAST({left} AS DECIMAL({_BIGINT_DIGITS + 1},{a[1].scale or 0}))"
    plain = _cast(f"({left} {symbol} {b[0]})", type_)
    if (type_.precision or 0) < MAX_DIGITS:
        return plain
    approximate = f"TRY_CAST(CAST({a[0]} AS DOUBLE) * CAST({b[0]} AS DOUBLE) AS {_name(type_)})"
    scale = (a[1].scale or 0) + (b[1].scale or 0)
    if scale > MAX_DIGITS:
        return approximate
    return f"TRY({plain})" if scale == type_.scale else f"coalesce(TRY({plain}), {approximate})"


def _guarded(dividend: str, divisor: str, nonzero: bool, context: Context, body: Callable[[str, str], str]) -> str:
    """``body`` of both, where the divisor may be zero with a way out."""

    def made(both: list[str]) -> str:
        n, d = both
        if nonzero:
            return body(n, d)
        return f"CASE WHEN {d} = 0 THEN {by_zero(spark=context.spark)} ELSE {body(n, d)} END"

    return let_all([dividend, divisor], made)


def _quotient(a: Term, b: Term, type_: DataType) -> str:
    """Long division of the digits as whole numbers: the quotient, then so many digits more at a time as fit."""
    (n, x), (d, y) = a, b
    wide = (x.precision or 0) > _BIGINT_DIGITS or (y.precision or 0) > _BIGINT_DIGITS - 3
    chunk = (_HUGEINT_DIGITS if wide else _BIGINT_DIGITS) - (y.precision or 0)
    if chunk < 1:
        return f"TRY_CAST(CAST({n} AS DOUBLE) / CAST({d} AS DOUBLE) AS {_name(type_)})"
    name = "HUGEINT" if wide else "BIGINT"
    more = (type_.scale or 0) - (x.scale or 0) + (y.scale or 0)
    quotient = _long_division(_digits(n, x, name), _digits(d, y, name), more, chunk, type_)
    return f"TRY({quotient})" if wide else quotient  # a quotient of more than 38 digits is NULL


def quotient(dividend: str, a: DataType, divisor: str, b: DataType, type_: DataType) -> str:
    """SQL of the quotient of two decimals, a decimal of ``type_``. The divisor is not 0; NULL where it is NULL."""
    return let_all([dividend, divisor], lambda both: _quotient((both[0], a), (both[1], b), type_))


def digits_of(sql: str, type_: DataType) -> str:
    """A decimal's digits as a HUGEINT."""
    return _digits(sql, type_, "HUGEINT")


def _digits(sql: str, type_: DataType, name: str) -> str:
    """A decimal's digits as a whole number."""
    scale = type_.scale or 0
    if not scale:
        return f"CAST({sql} AS {name})"
    width = (type_.precision or MAX_DIGITS) + scale
    if width > MAX_DIGITS:  # moving the point could overflow: by its text
        return f"CAST(replace(CAST({sql} AS VARCHAR), '.', '') AS HUGEINT)"
    return f"CAST(CAST({sql} AS DECIMAL({width},{scale})) * {10**scale} AS {name})"


def _long_division(n: str, d: str, more: int, chunk: int, type_: DataType) -> str:
    if more < 0:
        d, more = f"({d} * {10**-more})", 0
    whole, rest = f"CAST({n} // {d} AS HUGEINT)", f"({n} % {d})"
    while more:
        step = min(more, chunk)
        lifted = f"({rest} * {10**step})"
        whole = f"({whole} * {10**step} + {lifted} // {d})"
        rest = f"({lifted} % {d})"
        more -= step
    half = f"CASE WHEN 2 * abs({rest}) >= abs({d}) THEN CASE WHEN ({n} < 0) <> ({d} < 0) THEN -1 ELSE 1 END ELSE 0 END"
    return of_digits(f"{whole} + {half}", type_)


def of_digits(sql: str, type_: DataType) -> str:
    """SQL of the decimal of ``type_`` whose digits a whole number is; NULL when they are too many."""
    scale = type_.scale or 0
    unit = f" * CAST(1e-{scale} AS DECIMAL({scale},{scale}))" if scale else ""
    return f"TRY_CAST(TRY_CAST({sql} AS DECIMAL(38,0)){unit} AS {_name(type_)})"
