"""CASE, and the one type of values of which one is taken."""

from __future__ import annotations

from sqlglot import exp

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.comparison import bind_comparison, condition
from bergsql.engine.plan.context import Context, type_error
from bergsql.engine.plan.expressions import bind


def bind_case(node: exp.Expr, context: Context) -> Bound:
    """CASE, with or without an operand."""
    operand = bind(node.this, context) if node.this is not None else None
    whens: list[Bound] = []
    values: list[Bound] = []
    for branch in node.args["ifs"]:
        when = bind(branch.this, context)
        if operand is not None:
            equal = exp.EQ(this=branch.this, expression=branch.this)
            whens.append(bind_comparison(equal, operand, when, context))
        else:
            whens.append(condition(when, context, branch.this, "WHEN"))
        values.append(bind(branch.args["true"], context))
    default = node.args.get("default")
    last = bind(default, context) if default is not None else None
    values = one_type([*values, last] if last else values, context, node, "CASE")
    parts = [f"WHEN {w.text} THEN {v.text}" for w, v in zip(whens, values, strict=False)]
    text = " ".join(["CASE", *parts, *([f"ELSE {values[-1].text}"] if last else []), "END"])
    sqls = [f"WHEN {w.sql} THEN {v.sql}" for w, v in zip(whens, values, strict=False)]
    sql = " ".join(["CASE", *sqls, *([f"ELSE {values[-1].sql}"] if last else []), "END"])
    nullable = last is None or any(v.nullable for v in values)
    return Bound.of(f"({sql})", values[0].type, text, *whens, *values, nullable=nullable)


def one_type(values: list[Bound], context: Context, node: exp.Expr, where: str) -> list[Bound]:
    """All values as the type that they have in common.

    :raises BergError: TYPE when they have none.
    """
    shared, odd = shared_type((v.type for v in values), context.common_type)
    if odd is not None:
        a, b = type_text(shared, context.flavour), type_text(values[odd].type, context.flavour)
        raise type_error(f"{where} mixes {a} and {b}.", node, f"CAST one of them to {a}.")
    return [coerce(v, shared, context) for v in values]
