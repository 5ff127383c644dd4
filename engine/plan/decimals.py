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
from bergsql.engine.plan.sql_text import failure, let_all
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.context import Context

_BIGINT_DIGITS = 18
_HUGEINT_DIGITS = 37

Operand = tuple[Bound, DataType]
"""A bound number and the decimal type that it counts as."""


def decimal_operation(symbol: str, a: Operand, b: Operand, type_: DataType, context: Context) -> str:
    """SQL of ``a symbol b``, a decimal of ``type_``."""
    volatile = a[0].volatile or b[0].volatile
    if symbol in "+-":
        return _checked(f"({_sql(a)} {symbol} {_sql(b)})", a, b, type_, volatile)
    if symbol == "*":
        return _product(a, b, type_, volatile)
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


def _checked(sql: str, a: Operand, b: Operand, type_: DataType, volatile: bool) -> str:
    """A sum whose scale may have to shrink, and which may have too many digits: NULL then, in both flavours."""
    digits = type_.precision or 0
    scale = max(a[1].scale or 0, b[1].scale or 0)
    if digits < MAX_DIGITS:
        return _cast(sql, type_)
    if scale == type_.scale and not volatile:
        return f"TRY(CAST({sql} AS {_name(type_)}))"
    return f"TRY_CAST({sql} AS {_name(type_)})"


def _product(a: Operand, b: Operand, type_: DataType, volatile: bool) -> str:
    scale = (a[1].scale or 0) + (b[1].scale or 0)
    plain = f"({_sql(a)} * {_sql(b)})"
    if (type_.precision or 0) < MAX_DIGITS:
        return _cast(plain, type_)
    approximate = f"TRY_CAST(CAST({_sql(a)} AS DOUBLE) * CAST({_sql(b)} AS DOUBLE) AS {_name(type_)})"
    if scale > MAX_DIGITS or volatile:
        return approximate
    if scale == type_.scale:
        return f"TRY({_cast(plain, type_)})"
    return f"coalesce(TRY({_cast(plain, type_)}), {approximate})"


def _guarded(dividend: str, divisor: str, nonzero: bool, context: Context, body: Callable[[str, str], str]) -> str:
    """By zero it is NULL in Spark and an error in Flink."""

    def made(both: list[str]) -> str:
        n, d = both
        if nonzero:
            return body(n, d)
        if context.spark:
            return f"CASE WHEN {d} <> 0 THEN {body(n, d)} END"
        return f"CASE WHEN {d} = 0 THEN {failure('Division by zero.')} ELSE {body(n, d)} END"

    return let_all([dividend, divisor], made)


def _quotient(a: tuple[str, DataType], b: tuple[str, DataType], type_: DataType) -> str:
    """Long division of the digits as whole numbers: the quotient, then so many digits more at a time as fit."""
    (n, x), (d, y) = a, b
    wide = (x.precision or 0) > _BIGINT_DIGITS or (y.precision or 0) > _BIGINT_DIGITS - 3
    chunk = (_HUGEINT_DIGITS if wide else _BIGINT_DIGITS) - (y.precision or 0)
    if chunk < 1:
        return f"TRY_CAST(CAST({n} AS DOUBLE) / CAST({d} AS DOUBLE) AS {_name(type_)})"
    name = "HUGEINT" if wide else "BIGINT"
    more = (type_.scale or 0) - (x.scale or 0) + (y.scale or 0)
    return _long_division(_digits(n, x, name), _digits(d, y, name), more, chunk, type_)


def _digits(sql: str, type_: DataType, name: str) -> str:
    """A decimal's digits as a whole number."""
    scale = type_.scale or 0
    if not scale:
        return f"CAST({sql} AS {name})"
    width = min((type_.precision or MAX_DIGITS) + scale, MAX_DIGITS)
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
    scale = type_.scale or 0
    unit = f" * CAST(1e-{scale} AS DECIMAL({scale},{scale}))" if scale else ""
    return f"TRY_CAST(CAST({whole} + {half} AS DECIMAL(38,0)){unit} AS {_name(type_)})"
