"""Functions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan import integers
from bergsql.engine.plan.arithmetic import bind_arithmetic
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import bounded
from bergsql.engine.plan.sql_text import let, let_all
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.types import BIGINT, BYTES, DOUBLE, FLOATS, INTEGERS, INTERVALS, NUMBERS, STRING, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_EXACT_DIGITS, _EXACT_SCALE = range(-12, 9), 25
"""Of doubles that are rounded as decimal numbers: 17 digits, of which the first is kept or the one behind."""


def _abs(arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    if a.type.kind in INTERVALS:
        return let(a.sql, lambda x: f"CASE WHEN {x} < -{x} THEN -{x} ELSE {x} END")
    if a.type.kind in INTEGERS:  # the smallest integer has no positive: Java leaves it as it is
        return f"coalesce(TRY(abs({a.sql})), {a.sql})" if not a.volatile else f"abs({a.sql})"
    return f"abs({a.sql})"


def _round(word: str) -> Callable[[list[Bound], Context], Bound]:
    """ROUND (half up) and BROUND (half even). A decimal keeps only the digits that it is rounded to."""
    duck = "round" if word == "round" else "round_even"

    def made(arguments: list[Bound], context: Context) -> Bound:
        a = arguments[0]
        digits = arguments[1].constant if len(arguments) > 1 else 0
        if not isinstance(digits, int) or isinstance(digits, bool):
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

            if a.type.kind in NUMBERS or (context.spark and not isinstance(arguments[1].constant, str)):
                return _cut_to_digits(word, arguments, context)
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


_MOST_ZEROS = 37


def _cut_to_digits(word: str, arguments: list[Bound], context: Context) -> Bound:
    """CEIL, FLOOR and Flink's TRUNCATE to a number of digits behind the point, or before it; exact, as a decimal."""
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.casts import coerce

    (a,) = fit_arguments("n", word, arguments[:1], context, None)
    digits = arguments[1].constant if len(arguments) > 1 else 0
    if not isinstance(digits, int) or isinstance(digits, bool):
        raise not_supported(f"{word.upper()} to a number of digits that is not a literal")
    if a.type.kind in INTEGERS:
        source = DataType(Kind.DECIMAL, {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10}.get(a.type.kind, 20), 0)
    else:
        source = DataType(Kind.DECIMAL, 30, 15) if a.type.kind in FLOATS else a.type
    precision, scale = source.precision or 38, source.scale or 0
    if digits < -_MOST_ZEROS:
        raise BergError(ErrorCode.TYPE, f"{word.upper()} takes no fewer digits than -{_MOST_ZEROS}.")
    shown, digits = digits, min(digits, scale)
    kept = max(digits, 0)
    least = precision - scale + 1
    type_ = DataType(Kind.DECIMAL, min(max(least, 1 - digits) if digits < 0 else least + kept, 38), kept)
    name = f"DECIMAL(38,{max(scale, kept)})"
    exact = coerce(a, source, context).sql
    unit = f"CAST('{'1' + '0' * -digits if digits <= 0 else '0.' + '0' * (digits - 1) + '1'}' AS {name})"

    def made(x: str) -> str:
        near = f"CAST(round({x}, {digits}) AS {name})"
        if word == "floor":
            return f"CASE WHEN {near} > {x} THEN {near} - {unit} ELSE {near} END"
        if word == "ceil":
            return f"CASE WHEN {near} < {x} THEN {near} + {unit} ELSE {near} END"
        return f"CASE WHEN abs({near}) > abs({x}) THEN {near} - sign({x}) * {unit} ELSE {near} END"

    sql = exact if digits >= scale else let(f"CAST({exact} AS {name})", made)
    text = f"{word}({a.text}, {shown})"
    return Bound(f"CAST({sql} AS DECIMAL({type_.precision},{type_.scale}))", type_, text, a.nullable)


def _truncate(arguments: list[Bound], context: Context) -> Bound:
    """Flink's TRUNCATE: the type stays, but for a decimal, which keeps the digits that are left."""
    from bergsql.engine.plan.casts import convert_sql

    a = arguments[0]
    cut = _cut_to_digits("truncate", arguments, context)
    if a.type.kind is Kind.DECIMAL:
        return cut
    return Bound(convert_sql(cut.sql, cut.type, a.type, context), a.type, "", a.nullable)


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


def _sign(arguments: list[Bound], context: Context) -> str:
    """NaN and the zeros are their own sign."""
    a = arguments[0]
    if a.type.kind in INTERVALS:
        return let(
            a.sql,
            lambda x: f"CAST(CASE WHEN {x} > -{x} THEN 1 WHEN {x} < -{x} THEN -1 WHEN {x} = -{x} THEN 0 END AS DOUBLE)",
        )
    if a.type.kind not in FLOATS:
        return f"CAST(sign({a.sql}) AS DOUBLE)"
    name = "DOUBLE" if a.type.kind is Kind.DOUBLE else "FLOAT"
    return let(
        a.sql,
        lambda x: f"CAST(CASE WHEN isnan({x}) OR {x} = 0 THEN {x} WHEN {x} > 0 THEN 1 ELSE sign({x}) END AS {name})",
    )


def _hypot(arguments: list[Bound], context: Context) -> str:
    """Without overflow on the way: both are scaled by the same power of two."""

    def made(both: list[str]) -> str:
        x, y = both
        large = f"abs({x}) > 1e150 OR abs({y}) > 1e150"
        power = 2.0**600
        scaled = f"sqrt(({x} / {power}) * ({x} / {power}) + ({y} / {power}) * ({y} / {power})) * {power}"
        finite = f"CASE WHEN {large} THEN {scaled} ELSE sqrt({x} * {x} + {y} * {y}) END"
        return f"CASE WHEN isinf({x}) OR isinf({y}) THEN CAST('inf' AS DOUBLE) ELSE {finite} END"

    return let_all([a.sql for a in arguments], made)


def _log1p(x: str) -> str:
    """Exact near 0, where 1 + x has lost digits."""
    return let(
        f"(1 + {x})",
        lambda u: f"CASE WHEN {u} = 1 THEN {x} WHEN isinf({u}) THEN {u} ELSE ln({u}) * {x} / ({u} - 1) END",
    )


def _expm1(arguments: list[Bound], context: Context) -> str:
    def made(both: list[str]) -> str:
        x, u = both
        near = f"({u} - 1) * {x} / ln({u})"
        return f"CASE WHEN abs({x}) > 1 THEN {u} - 1 WHEN {u} = 1 THEN {x} ELSE {near} END"

    x = arguments[0].sql
    return let_all([x, f"exp({x})"], made)


def _inverse_hyperbolic(name: str) -> Callable[[list[Bound], Context], str]:
    """By the formulas that Spark computes them with, NaN outside of the domain."""
    nan = "CAST('NaN' AS DOUBLE)"

    def made(x: str) -> str:
        if name == "asinh":
            large = f"CASE WHEN {x} > 0 THEN ln(2) + ln({x}) ELSE -(ln(2) + ln(-{x})) END"
            near = f"ln({x} + sqrt({x} * {x} + 1))"
            return f"CASE WHEN isinf({x}) OR isnan({x}) THEN {x} WHEN abs({x}) > 1e6 THEN {large} ELSE {near} END"
        if name == "acosh":
            return f"CASE WHEN {x} >= 1 THEN ln({x} + sqrt({x} * {x} - 1)) WHEN {x} IS NOT NULL THEN {nan} END"
        inside = f"0.5 * ({_log1p(x)} - {_log1p(f'(-{x})')})"
        edge = f"CASE WHEN {x} = 1 THEN CAST('inf' AS DOUBLE) WHEN {x} = -1 THEN CAST('-inf' AS DOUBLE) ELSE {nan} END"
        return f"CASE WHEN abs({x}) < 1 THEN {inside} WHEN {x} IS NOT NULL THEN {edge} END"

    return lambda arguments, context: let(arguments[0].sql, made)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("abs", "fs", "N", 0, _abs),
    Scalar("round", "fs", "ni?", 0, _round("round")),
    Scalar("bround", "s", "ni?", 0, _round("bround")),
    Scalar("floor", "fs", "aa?", 0, _floor("floor")),
    Scalar("ceil ceiling", "fs", "aa?", 0, _floor("ceil")),
    Scalar("mod", "fs", "aa", 0, _mod),
    Scalar("pmod", "s", "aa", 0, _pmod),
    Scalar("sqrt", "fs", "d", DOUBLE, _domain("sqrt({0})", "{0} >= 0")),
    Scalar("cbrt", "s", "d", DOUBLE, _cbrt),
    Scalar("exp", "fs", "d", DOUBLE, "exp({0})"),
    Scalar("expm1", "s", "d", DOUBLE, _expm1),
    Scalar("log1p", "s", "d", DOUBLE, lambda a, c: f"CASE WHEN {a[0].sql} > -1 THEN {let(a[0].sql, _log1p)} END"),
    Scalar("hypot", "s", "dd", DOUBLE, _hypot),
    Scalar("rint", "s", "d", DOUBLE, "round_even({0}, 0)"),
    Scalar("csc", "s", "d", DOUBLE, "(1 / sin({0}))"),
    Scalar("sec", "s", "d", DOUBLE, "(1 / cos({0}))"),
    Scalar("asinh", "s", "d", DOUBLE, _inverse_hyperbolic("asinh")),
    Scalar("acosh", "s", "d", DOUBLE, _inverse_hyperbolic("acosh")),
    Scalar("atanh", "s", "d", DOUBLE, _inverse_hyperbolic("atanh")),
    Scalar("truncate", "f", "ni?", 0, _truncate),
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
    Scalar("sign", "fs", "N", _sign_type, _sign),
    Scalar("signum", "s", "N", _sign_type, _sign),
    Scalar("hex", "fs", "h", STRING, "hex({0})"),
    Scalar("unhex", "fs", "t", BYTES, lambda args, context: let(args[0].sql, lambda x: f"TRY(unhex({x}))")),
    Scalar("factorial", "s", "i", BIGINT, "CASE WHEN {0} BETWEEN 0 AND 20 THEN CAST(factorial({0}) AS BIGINT) END"),
    Scalar("width_bucket", "s", "dddl", BIGINT, _width_bucket),
)
