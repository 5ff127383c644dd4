"""Decimal arithmetic with the precision of Spark and Flink.

DuckDB adds, subtracts and multiplies decimals as they do while 38 digits are enough; it divides them as doubles, which
is neither exact nor a decimal. A quotient is made exact from whole numbers instead: both operands are scaled to
integers; while the dividend is below 2^51 their quotient as a double, rounded, is exact (a tie is a double, and nothing
else can round to one), which is thirteen times faster than dividing HUGEINTs; the rest takes the slow way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import MAX_DIGITS
from bergsql.engine.plan.sql_text import failure, let
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_EXACT = 1 << 51

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
    if symbol == "%":
        return _guarded(_sql(b), nonzero, context, lambda d: _cast(f"{_sql(a)} % {d}", type_))
    return _guarded(_sql(b), nonzero, context, lambda d: _quotient(a, (d, b[1]), type_))


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


def _guarded(divisor: str, nonzero: bool, context: Context, body: object) -> str:
    """By zero it is NULL in Spark and an error in Flink."""
    assert callable(body)
    if nonzero:
        return str(body(divisor))
    if context.spark:
        return str(let(f"nullif({divisor}, 0)", body))
    return let(divisor, lambda d: f"CASE WHEN {d} = 0 THEN {failure('Division by zero.')} ELSE {body(d)} END")


def _quotient(a: Operand, b: tuple[str, DataType], type_: DataType) -> str:
    scale = type_.scale or 0
    dividend_shift, divisor_shift = scale + (b[1].scale or 0), b[1].scale or 0
    return let(
        _sql(a),
        lambda n: let(
            b[0],
            lambda d: (
                f"CASE WHEN abs(CAST({n} AS DOUBLE)) * 1e{dividend_shift} < {_EXACT} "
                f"THEN TRY_CAST({_fast(n, d, dividend_shift, divisor_shift, scale)} AS {_name(type_)}) "
                f"ELSE TRY_CAST({_exact(n, d, dividend_shift, divisor_shift, scale)} AS {_name(type_)}) END"
            ),
        ),
    )


def _fast(n: str, d: str, up: int, down: int, scale: int) -> str:
    return f"round(round(CAST({n} AS DOUBLE) * 1e{up}) / round(CAST({d} AS DOUBLE) * 1e{down})) / 1e{scale}"


def _exact(n: str, d: str, up: int, down: int, scale: int) -> str:
    """Through HUGEINT, rounded half up; through DOUBLE when even that overflows."""
    dividend = f"abs({_scaled(n, up)})"
    divisor = f"abs({_scaled(d, down)})"
    rounded = f"((2 * {dividend} + {divisor}) // (2 * {divisor}))"
    sign = f"CASE WHEN ({n} < 0) <> ({d} < 0) THEN -1 ELSE 1 END"
    unit = f"CAST(1e-{scale} AS DECIMAL({max(scale, 1)},{scale}))" if scale else "1"
    whole = f"CAST({rounded} * {sign} AS DECIMAL(38,0)) * {unit}"
    approximate = f"CAST(CAST({n} AS DOUBLE) / CAST({d} AS DOUBLE) AS VARCHAR)"
    return f"coalesce(TRY(CAST({whole} AS VARCHAR)), {approximate})"


def _scaled(sql: str, by: int) -> str:
    """A decimal moved ``by`` digits to the left of its point, as a HUGEINT."""
    first = min(by, MAX_DIGITS - 1)
    shifted = f"CAST({sql} * CAST({10**first} AS DECIMAL(38,0)) AS HUGEINT)"
    return shifted if by == first else f"({shifted} * CAST({10 ** (by - first)} AS HUGEINT))"
