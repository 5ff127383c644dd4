"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan import integers
from bergsql.engine.plan.arithmetic import bind_arithmetic
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import bounded
from bergsql.engine.plan.sql_text import let, let_all
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BIGINT, BYTES, DOUBLE, FLOATS, INT, INTEGERS, NUMBERS, STRING, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_EXACT_DIGITS, _EXACT_SCALE = range(-12, 9), 25
"""Of doubles that are rounded as decimal numbers: 17 digits, of which the first is kept or the one behind."""


def _abs(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    if a.type.kind in INTEGERS:  # the smallest integer has no positive: Java leaves it as it is
        return f"coalesce(TRY(abs({a.sql})), {a.sql})" if not a.volatile else f"abs({a.sql})"
    return f"abs({a.sql})"


def _round(word: str) -> Callable[[list[Bound], Context], Bound]:
    """ROUND (half up) and BROUND (half even). A decimal keeps only the digits that it is rounded to."""
    duck = "round" if word == "round" else "round_even"

    def made(arguments: list[Bound], context: Context) -> Bound:
        a = arguments[0]
        digits = arguments[1].constant if len(arguments) > 1 else 0
        if not isinstance(digits, int):
            raise not_supported(f"{word.upper()} to a number of digits that is not a literal")
        text = f"{word}({a.text}, {digits})" if context.spark else ""
        if a.type.kind in FLOATS:
            double = a.sql if a.type.kind is Kind.DOUBLE else f"CAST({a.sql} AS DOUBLE)"
            sql = let(double, lambda x: _round_double(duck, x, digits))
            name = "DOUBLE" if a.type.kind is Kind.DOUBLE else "FLOAT"
            return Bound(f"CAST({sql} AS {name})", a.type, text, a.nullable)
        if a.type.kind in INTEGERS:
            if digits >= 0:
                return Bound(a.sql, a.type, text, a.nullable)
            name = integers.SQL_NAMES[a.type.kind]
            wide = f"CAST({a.sql} AS DECIMAL(38,0))"
            return Bound(f"CAST({duck}({wide}, {digits}) AS {name})", a.type, text, a.nullable)
        type_ = _rounded_type(a.type, digits)
        sql = f"CAST({duck}({a.sql}, {digits}) AS DECIMAL({type_.precision},{type_.scale}))"
        return Bound(sql, type_, text, a.nullable)

    return made


def _round_double(duck: str, x: str, digits: int) -> str:
    """As Java rounds a double: as the decimal number that it is written as, which has no negative zero.

    That differs from rounding the double only where its digits have a 5 behind the last one kept, about.
    """
    rounded = f"{duck}({x}, {digits})"
    if digits in _EXACT_DIGITS:
        shifted = f"(abs({x}) * 1e{digits})"
        near = f"{shifted} > 1e9 OR abs({shifted} - floor({shifted}) - 0.5) < 1e-6"
        exact = f"{duck}(TRY_CAST(CAST({x} AS VARCHAR) AS DECIMAL(38, {_EXACT_SCALE})), {digits})"
        rounded = f"coalesce(CASE WHEN {near} THEN CAST({exact} AS DOUBLE) END, {rounded})"
    return f"({rounded} + 0)"


def _shifted_type(arguments: Sequence[Bound]) -> DataType:
    return BIGINT if arguments[0].type.kind is Kind.BIGINT else INT


def _shiftleft(arguments: list[Bound], context: Context) -> str:
    """The low bits stay; only the low bits of the number of places count."""
    kind = _shifted_type(arguments).kind
    wide = "HUGEINT" if kind is Kind.BIGINT else "BIGINT"
    factor = f"(CAST(1 AS {wide}) << ({arguments[1].sql} & {integers.BITS[kind] - 1}))"
    return integers.wrapped(f"(CAST({arguments[0].sql} AS {wide}) * {factor})", kind)


def _rounded_type(type_: DataType, digits: int) -> DataType:
    precision, scale = type_.precision or 38, type_.scale or 0
    if digits >= scale:
        return type_ if digits >= scale and scale == 0 else DataType(Kind.DECIMAL, min(precision + 1, 38), scale)
    kept = max(digits, 0)
    return bounded(min(precision - scale + kept + 1, 38), kept)


def _floor(word: str) -> Callable[[list[Bound], Context], Bound]:
    """FLOOR and CEIL: of a double a BIGINT in Spark, a DOUBLE in Flink; of a timestamp (flink) the unit's begin."""

    def made(arguments: list[Bound], context: Context) -> Bound:
        a = arguments[0]
        if len(arguments) > 1:
            from bergsql.engine.sql.functions.times import floor_to_unit

            if a.type.kind in NUMBERS:
                raise not_supported(f"{word.upper()} to a number of digits")
            return floor_to_unit(word, arguments, context)
        from bergsql.engine.plan.arguments import fit_arguments

        (a,) = fit_arguments("n", word, [a], context, None)
        kind = a.type.kind
        if kind in INTEGERS:
            type_ = BIGINT if context.spark else a.type
            name = integers.SQL_NAMES[type_.kind]
            return Bound(a.sql if type_ == a.type else f"CAST({a.sql} AS {name})", type_, "", a.nullable)
        if kind is Kind.DECIMAL:
            whole = (a.type.precision or 38) - (a.type.scale or 0) + 1
            type_ = DataType(Kind.DECIMAL, min(whole, 38), 0)
            return Bound(f"CAST({word}({a.sql}) AS DECIMAL({type_.precision},0))", type_, "", a.nullable)
        if not context.spark:
            return Bound(f"{word}({a.sql})", a.type, "", a.nullable)
        from bergsql.engine.plan.casts import convert_sql

        return Bound(convert_sql(f"{word}({a.sql})", DOUBLE, BIGINT, context), BIGINT, "", a.nullable)

    return made


def _domain(duck: str, valid: str) -> str:
    """DuckDB raises outside of a function's domain where Java gives NaN (Spark's LOG: NULL)."""
    return f"CASE WHEN {valid} THEN {duck} WHEN {{0}} IS NOT NULL THEN CAST('NaN' AS DOUBLE) END"


def _log(word: str) -> Callable[[list[Bound], Context], str]:
    """Of what is not positive: NULL in Spark, NaN or -Infinity in Flink."""

    def made(arguments: list[Bound], context: Context) -> str:
        x = arguments[-1].sql
        if len(arguments) > 1:
            base = arguments[0].sql
            return f"CASE WHEN {x} > 0 AND {base} > 0 THEN ln({x}) / ln({base}) END"
        if context.spark:
            return f"CASE WHEN {x} > 0 THEN {word}({x}) END"
        return (
            f"CASE WHEN {x} > 0 THEN {word}({x}) WHEN {x} = 0 THEN CAST('-inf' AS DOUBLE) "
            f"WHEN {x} < 0 THEN CAST('NaN' AS DOUBLE) END"
        )

    return made


def _cbrt(arguments: list[Bound], context: Context) -> str:
    """One step of Newton's on top: DuckDB's cbrt(27) is 3.0000000000000004."""

    def refined(both: list[str]) -> str:
        x, r = both
        better = f"{r} - ({r} * {r} * {r} - {x}) / (3 * {r} * {r})"
        return f"CASE WHEN {r} = 0 OR isinf({r}) OR isnan({r}) THEN {r} ELSE {better} END"

    return let_all([arguments[0].sql, f"cbrt({arguments[0].sql})"], refined)


def _mod(arguments: list[Bound], context: Context) -> Bound:
    a, b = arguments
    node = exp.Mod(this=exp.Null(), expression=exp.Null())
    result = bind_arithmetic(node, a, b, context)
    result.text = f"mod({a.text}, {b.text})"
    return result


def _pmod(arguments: list[Bound], context: Context) -> Bound:
    """The remainder that is not negative (for a positive divisor)."""
    a, b = arguments
    first = _mod([a, b], context)
    moved = bind_arithmetic(exp.Add(this=exp.Null(), expression=exp.Null()), first, b, context)
    again = _mod([moved, b], context)
    negative = f"CASE WHEN {first.sql} < 0 THEN {again.sql} ELSE {first.sql} END"
    return Bound(negative, first.type, f"pmod({a.text}, {b.text})", volatile=again.volatile)


def _width_bucket(arguments: list[Bound], context: Context) -> str:
    """The bucket among ``n`` between ``low`` and ``high``: 0 is below the first, n + 1 behind the last."""

    def made(values: list[str]) -> str:
        x, low, high, n = values
        inside = f"CAST(floor(CAST({n} AS DOUBLE) * ({x} - {low}) / ({high} - {low})) AS BIGINT) + 1"
        below = f"CASE WHEN {low} < {high} THEN {x} < {low} ELSE {x} > {low} END"
        behind = f"CASE WHEN {low} < {high} THEN {x} >= {high} ELSE {x} <= {high} END"
        finite = " AND ".join(f"isfinite({v})" for v in (x, low, high))
        valid = f"{n} > 0 AND {n} < 9223372036854775807 AND {low} <> {high} AND {finite}"
        return f"CASE WHEN {valid} THEN CASE WHEN {below} THEN 0 WHEN {behind} THEN {n} + 1 ELSE {inside} END END"

    return let_all([a.sql for a in arguments], made)


def _sign_type(arguments: Sequence[Bound]) -> DataType:
    return DOUBLE if arguments[0].type.kind not in FLOATS else arguments[0].type


def _random(arguments: list[Bound], context: Context) -> str:
    if arguments:
        raise not_supported("RAND with a seed", None, "RAND() gives other numbers each time.")
    return "random()"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("abs", "fs", "n", 0, _abs),
    Scalar("round", "fs", "ni?", 0, _round("round")),
    Scalar("bround", "s", "ni?", 0, _round("bround")),
    Scalar("floor", "fs", "at?", 0, _floor("floor")),
    Scalar("ceil ceiling", "fs", "at?", 0, _floor("ceil")),
    Scalar("mod", "fs", "nn", 0, _mod),
    Scalar("pmod", "s", "nn", 0, _pmod),
    Scalar("sqrt", "fs", "d", DOUBLE, _domain("sqrt({0})", "{0} >= 0")),
    Scalar("cbrt", "s", "d", DOUBLE, _cbrt),
    Scalar("exp", "fs", "d", DOUBLE, "exp({0})"),
    Scalar("expm1", "s", "d", DOUBLE, "(exp({0}) - 1)"),
    Scalar("ln", "fs", "d", DOUBLE, _log("ln")),
    Scalar("log", "fs", "dd?", DOUBLE, _log("ln")),
    Scalar("log10", "fs", "d", DOUBLE, _log("log10")),
    Scalar("log2", "fs", "d", DOUBLE, _log("log2")),
    Scalar("power pow", "fs", "dd", DOUBLE, "pow({0}, {1})"),
    Scalar("sin", "fs", "d", DOUBLE, "sin({0})"),
    Scalar("cos", "fs", "d", DOUBLE, "cos({0})"),
    Scalar("tan", "fs", "d", DOUBLE, "tan({0})"),
    Scalar("cot", "fs", "d", DOUBLE, "cot({0})"),
    Scalar("asin", "fs", "d", DOUBLE, _domain("asin({0})", "abs({0}) <= 1")),
    Scalar("acos", "fs", "d", DOUBLE, _domain("acos({0})", "abs({0}) <= 1")),
    Scalar("atan", "fs", "d", DOUBLE, "atan({0})"),
    Scalar("atan2", "fs", "dd", DOUBLE, "atan2({0}, {1})"),
    Scalar("sinh", "fs", "d", DOUBLE, "sinh({0})"),
    Scalar("cosh", "fs", "d", DOUBLE, "cosh({0})"),
    Scalar("tanh", "fs", "d", DOUBLE, "tanh({0})"),
    Scalar("degrees", "fs", "d", DOUBLE, "degrees({0})"),
    Scalar("radians", "fs", "d", DOUBLE, "radians({0})"),
    Scalar("pi", "fs", "", DOUBLE, "pi()"),
    Scalar("e", "fs", "", DOUBLE, "exp(CAST(1 AS DOUBLE))"),
    Scalar("sign", "fs", "n", _sign_type, "CAST(sign({0}) AS DOUBLE)"),
    Scalar("signum", "s", "d", DOUBLE, "CAST(sign({0}) AS DOUBLE)"),
    Scalar("rand random", "fs", "l?", DOUBLE, _random, volatile=True),
    Scalar("hex", "fs", "h", STRING, "hex({0})"),
    Scalar("unhex", "fs", "t", BYTES, "TRY(unhex({0}))"),
    Scalar("bin", "fs", "l", STRING, "bin({0})"),
    Scalar("factorial", "s", "i", BIGINT, "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END"),
    Scalar("shiftleft", "s", "Ii", _shifted_type, _shiftleft),
    Scalar("width_bucket", "s", "dddl", BIGINT, _width_bucket),
)
