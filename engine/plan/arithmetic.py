"""``+ - * / % DIV``, unary minus and bit operators."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from bergsql.catalog.errors import BergError
from bergsql.engine.plan import integers
from bergsql.engine.plan.bound import Bound, images_of
from bergsql.engine.plan.casts import coerce, convert, type_text
from bergsql.engine.plan.coercion import arithmetic_decimal, as_decimal, wider_integer
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.date_arithmetic import date_arithmetic
from bergsql.engine.plan.decimals import decimal_operation
from bergsql.engine.plan.literals import negated
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import LONG, by_zero, let_all
from bergsql.engine.plan.typed_literals import bind_typed_literal
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import BIGINT, DOUBLE, FLOATS, INT, INTEGERS, NUMBERS, TEXTS, DataType, Kind

SYMBOLS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
}


def bind_arithmetic(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
    """A binary operator on two bound operands."""
    symbol = SYMBOLS[type(node)]
    text = f"({a.text} {symbol} {b.text})"
    try:
        found = date_arithmetic(symbol, a, b, context)
    except BergError as error:
        raise error.at(span_of(node)) from None
    if found is not None:
        return found
    a, b = _numeric(a, b, context, node), _numeric(b, a, context, node)
    result = _operate(symbol, a, b, context)
    result.text = text
    if images_of(a) or images_of(b):
        _attach(result, symbol, a, b, context)
    return result


def _attach(result: Bound, symbol: str, a: Bound, b: Bound, context: Context) -> None:
    """What column the result rises or falls with."""
    from bergsql.engine.plan import monotone

    kinds = {a.type.kind, b.type.kind}
    type_ = result.type
    if kinds <= set(INTEGERS) and type_.kind in INTEGERS:
        monotone.attach_integer(result, symbol, convert(a, type_, context), convert(b, type_, context), context)
    elif kinds & FLOATS and type_.kind in FLOATS:
        monotone.attach_float(result, symbol, convert(a, type_, context), convert(b, type_, context), context)
    elif Kind.DECIMAL in kinds and type_.kind is Kind.DECIMAL:
        monotone.attach_decimal(result, symbol, a, b, context)


def _numeric(bound: Bound, other: Bound, context: Context, node: exp.Expr) -> Bound:
    """An operand as a number: text becomes DOUBLE in Spark, NULL the other's type."""
    kind = bound.type.kind
    if kind in NUMBERS:
        return bound
    if kind is Kind.NULL:
        return coerce(bound, other.type if other.type.kind in NUMBERS else DOUBLE, context)
    if kind in TEXTS and context.spark:
        return coerce(bound, DOUBLE, context)
    symbol = SYMBOLS[type(node)]
    raise type_error(
        f"'{symbol}' does not work on {type_text(bound.type, context.flavour)}.",
        span_of(node),
        f"CAST(… AS {'INT' if kind in TEXTS else 'STRING'}) converts it.",
    )


def _operate(symbol: str, a: Bound, b: Bound, context: Context) -> Bound:
    if symbol == "div":
        return _integral_division(a, b, context)
    kinds = {a.type.kind, b.type.kind}
    if symbol == "/" and context.spark and kinds <= set(INTEGERS):
        return _spark_division(convert(a, DOUBLE, context), convert(b, DOUBLE, context))
    if kinds & FLOATS:
        return _float_operation(symbol, a, b, context)
    if Kind.DECIMAL in kinds:
        return _decimal_operation(symbol, a, b, context)
    return _integer_operation(symbol, a, b, context)


def _nonzero(bound: Bound) -> bool:
    return isinstance(bound.constant, int | float) and bound.constant != 0


def _float_operation(symbol: str, a: Bound, b: Bound, context: Context) -> Bound:
    single = {a.type.kind, b.type.kind} <= {Kind.FLOAT, *INTEGERS}
    type_ = DataType(Kind.FLOAT) if single and not (symbol == "/" and context.spark) else DOUBLE
    a, b = convert(a, type_, context), convert(b, type_, context)
    if symbol == "/" and context.spark:
        return _spark_division(a, b)
    if symbol == "%" and context.spark and not _nonzero(b):
        return Bound.of(f"({a.sql} % nullif({b.sql}, 0))", type_, "", a, b, nullable=True)
    return Bound.of(f"({a.sql} {symbol} {b.sql})", type_, "", a, b)


def _spark_division(a: Bound, b: Bound) -> Bound:
    """Division of doubles: by zero it is NULL."""
    if _nonzero(b):
        return Bound.of(f"({a.sql} / {b.sql})", DOUBLE, "", a, b)
    return Bound.of(f"({a.sql} / nullif({b.sql}, 0))", DOUBLE, "", a, b, nullable=True)


def _decimal_operation(symbol: str, a: Bound, b: Bound, context: Context) -> Bound:
    x, y = as_decimal(a, context.flavour), as_decimal(b, context.flavour)
    type_ = arithmetic_decimal(symbol, x, y)
    sql = decimal_operation(symbol, (a, x), (b, y), type_, context)
    return Bound.of(sql, type_, "", a, b, nullable=True, volatile="error(" in sql)


def _integer_operation(symbol: str, a: Bound, b: Bound, context: Context) -> Bound:
    type_ = wider_integer(a.type, b.type)
    a, b = convert(a, type_, context), convert(b, type_, context)
    volatile = a.volatile or b.volatile
    if symbol in "+-*":
        if isinstance(a.constant, int) and isinstance(b.constant, int):
            exact = {"+": a.constant + b.constant, "-": a.constant - b.constant, "*": a.constant * b.constant}[symbol]
            cut = integers.wrap_int(exact, type_.kind)
            # Plain where it is right: DuckDB folds it, and shows it in a plan as it was written.
            if cut == exact and type_.kind is Kind.INT:
                return Bound(f"({a.sql} {symbol} {b.sql})", type_, "", False, cut)
        return _ring_operation(symbol, a, b, type_, volatile=volatile)
    operator = "//" if symbol == "/" else "%"
    return _divided(operator, a, b, type_, context)


def _ring_operation(symbol: str, a: Bound, b: Bound, type_: DataType, *, volatile: bool) -> Bound:
    kind = type_.kind

    def made(x: str, y: str) -> integers.Ring:
        left = a.ring if a.ring and x == a.sql else integers.ring(x, kind)
        right = b.ring if b.ring and y == b.sql else integers.ring(y, kind)
        return integers.arithmetic(symbol, left, right, kind)

    long = [o for o in (a, b) if o.ring is None and len(o.sql) > LONG]
    if not long:
        chain = made(a.sql, b.sql)
        sql = integers.value_of(chain, kind, volatile=volatile)
        result = Bound.of(sql, type_, "", a, b)
        result.ring = chain
        return result

    def value(x: str, y: str) -> str:
        return integers.value_of(made(x, y), kind, volatile=volatile)

    sql = let_all([a.sql, b.sql], lambda both: value(*both))
    return Bound.of(sql, type_, "", a, b)


def _divided(operator: str, a: Bound, b: Bound, type_: DataType, context: Context) -> Bound:
    """``//`` or ``%`` on integers."""
    if _nonzero(b) and b.constant != -1:
        return Bound.of(_quotient(operator, a.sql, b.sql, type_.kind), type_, "", a, b)

    def guarded(both: list[str]) -> str:
        n, d = both
        # The least number by -1 has no quotient of its type: Java's negation leaves it as it is.
        kind = type_.kind
        opposite = integers.value_of(integers.negated(integers.ring(n, kind), kind), kind, volatile=False)
        by_minus_one = opposite if operator == "//" else f"({n} * 0)"
        quotient = _quotient(operator, n, d, kind)
        return f"CASE {d} WHEN 0 THEN {by_zero(spark=context.spark)} WHEN -1 THEN {by_minus_one} ELSE {quotient} END"

    sql = let_all([a.sql, b.sql], guarded)
    return Bound.of(sql, type_, "", a, b, nullable=context.spark or None, volatile=not context.spark)


def _quotient(operator: str, n: str, d: str, kind: Kind) -> str:
    return f"CAST({n} {operator} {d} AS {integers.SQL_NAMES[kind]})"


def _integral_division(a: Bound, b: Bound, context: Context) -> Bound:
    """Spark's DIV: a BIGINT, cut towards zero."""
    if {a.type.kind, b.type.kind} <= set(INTEGERS):
        return _divided("//", convert(a, BIGINT, context), convert(b, BIGINT, context), BIGINT, context)
    quotient = _operate("/", a, b, context)
    return convert(quotient, BIGINT, context)


def bind_negation(node: exp.Expr, context: Context) -> Bound:
    """Unary minus."""
    from bergsql.engine.plan.expressions import bind

    inner = node.this
    if isinstance(inner, exp.Cast) and inner.meta.get("literal") and not inner.this.args.get("is_string"):
        return bind_typed_literal(inner, context, negative=True)  # -9223372036854775808L
    operand = bind(inner, context)
    literal = negated(operand) if not isinstance(node.this, exp.Paren) else None
    if literal is not None:
        return literal
    text = f"(- {operand.text})"
    kind = operand.type.kind
    if kind in (Kind.INTERVAL_DAY_TIME, Kind.INTERVAL_YEAR_MONTH):
        return replace(operand, sql=f"(- {operand.sql})", text=text, name=None)
    operand = _numeric(operand, operand, context, _as_minus(node))
    if operand.type.kind in INTEGERS:
        chain = integers.negated(operand.ring or integers.ring(operand.sql, operand.type.kind), operand.type.kind)
        sql = integers.value_of(chain, operand.type.kind, volatile=operand.volatile)
        result = Bound.of(sql, operand.type, text, operand)
        result.ring = chain
    else:
        result = Bound.of(f"(- {operand.sql})", operand.type, text, operand)
    if images_of(operand):
        from bergsql.engine.plan.monotone import attach_negation

        attach_negation(result, operand)
    return result


def _as_minus(node: exp.Expr) -> exp.Expr:
    return exp.Sub(this=node.this, expression=node.this)


def _bind_bits(symbol: str, duck: str) -> Callable[[exp.Expr, Bound, Bound, Context], Bound]:
    """``&``, ``|`` or ``^`` on integers."""

    def bind_it(node: exp.Expr, a: Bound, b: Bound, context: Context) -> Bound:
        for operand in (a, b):
            if operand.type.kind not in (*INTEGERS, Kind.NULL):
                raise type_error(
                    f"'{symbol}' does not work on {type_text(operand.type, context.flavour)}.", span_of(node)
                )
        if a.type.kind is Kind.NULL:
            a = coerce(a, b.type if b.type.kind in INTEGERS else INT, context)
        if b.type.kind is Kind.NULL:
            b = coerce(b, a.type, context)
        type_ = wider_integer(a.type, b.type)
        a, b = coerce(a, type_, context), coerce(b, type_, context)
        return Bound.of(duck.format(a.sql, b.sql), type_, f"({a.text} {symbol} {b.text})", a, b)

    return bind_it


bind_bit_and = _bind_bits("&", "({0} & {1})")
bind_bit_or = _bind_bits("|", "({0} | {1})")
bind_bit_xor = _bind_bits("^", "xor({0}, {1})")


def bind_bit_not(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind

    operand = bind(node.this, context)
    if operand.type.kind not in INTEGERS:
        raise type_error(f"'~' does not work on {type_text(operand.type, context.flavour)}.", span_of(node))
    return Bound.of(f"(~ {operand.sql})", operand.type, f"~{operand.text}", operand)
