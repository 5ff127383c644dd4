"""Spark's TRY_ADD and its kin: arithmetic that is NULL where it fails. And the signs as calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError
from bergsql.engine.plan import integers
from bergsql.engine.plan.arithmetic import bind_arithmetic, bind_negation
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce
from bergsql.engine.plan.coercion import wider_integer
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.functions.model import Function, Scalar, Special
from bergsql.engine.sql.types import DOUBLE, INTEGERS, INTERVALS, NUMBERS

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context

_SYMBOLS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*"}


def _tried(name: str, operator: type[exp.Expr]) -> Callable[[list[Bound], Context], Bound]:
    def made(arguments: list[Bound], context: Context) -> Bound:
        a, b = arguments
        text = f"{name}({a.text}, {b.text})"
        if a.is_null and b.type.kind in INTEGERS:
            a = coerce(a, b.type, context)
        if b.is_null and a.type.kind in INTEGERS:
            b = coerce(b, a.type, context)
        whole = a.type.kind in INTEGERS and b.type.kind in INTEGERS
        if operator in _SYMBOLS and whole:
            type_ = wider_integer(a.type, b.type)
            wide = f"CAST({a.sql} AS HUGEINT) {_SYMBOLS[operator]} CAST({b.sql} AS HUGEINT)"
            return Bound(f"TRY_CAST({wide} AS {integers.SQL_NAMES[type_.kind]})", type_, text)
        if operator is exp.Div and whole:
            a, b = coerce(a, DOUBLE, context), coerce(b, DOUBLE, context)
        if operator in (exp.Div, exp.Mod) and b.type.kind in NUMBERS:  # by zero it is NULL
            b = replace(b, sql=f"nullif({b.sql}, 0)")
        result = bind_arithmetic(operator(this=exp.Null(), expression=exp.Null()), a, b, context)
        return replace(result, text=text, nullable=True)

    return made


def _negative(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.arguments import fit_arguments
    from bergsql.engine.plan.calls import name_span
    from bergsql.engine.plan.expressions import bind

    bound = [bind(a, context) for a in node.expressions]
    span = name_span(node)
    if not bound or bound[0].type.kind not in INTERVALS:
        fit_arguments("n", "negative", bound, context, span, node.expressions)  # refuses what is no number
    try:
        result = bind_negation(exp.Neg(this=exp.Paren(this=node.expressions[0])), context)
    except BergError as error:
        raise error.at(span) from None
    return replace(result, text=f"negative({bound[0].text})", name=None)


def _positive(arguments: list[Bound], context: Context) -> Bound:
    from bergsql.engine.plan.arguments import fit_arguments

    (value,) = arguments
    if value.type.kind not in INTERVALS:
        (value,) = fit_arguments("n", "positive", arguments, context, None)
    return replace(value, text=f"(+ {value.text})", name=None)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("try_add", "s", "aa", 0, _tried("try_add", exp.Add)),
    Scalar("try_subtract", "s", "aa", 0, _tried("try_subtract", exp.Sub)),
    Scalar("try_multiply", "s", "aa", 0, _tried("try_multiply", exp.Mul)),
    Scalar("try_divide", "s", "aa", 0, _tried("try_divide", exp.Div)),
    Scalar("try_mod", "s", "aa", 0, _tried("try_mod", exp.Mod)),
    Special("negative", "s", _negative),
    Scalar("positive", "s", "a", 0, _positive),
)
