"""ANY, ALL and SOME of a list: ``a LIKE ANY ('x%', 'y%')``, ``a = ANY (1, 2)``, ``a > ALL (array)``."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import NOT_CONSTANT, Bound
from bergsql.engine.plan.comparison import bind_and, bind_comparison, bind_like, bind_or
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import members
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import Kind


def bind_over_list(parent: exp.Expr, operand: Bound, context: Context) -> Bound:
    """``operand`` compared by ``parent`` with each of the list at its right: one, or all, must hold."""
    right = parent.args["expression"]
    every = isinstance(right, exp.All) or (isinstance(right, exp.Anonymous) and str(right.name).upper() == "ALL")
    items = _items(right)
    likes = isinstance(parent, exp.Like | exp.ILike)
    if not items:
        raise BergError(ErrorCode.SYNTAX, "ANY and ALL need a list.", span=span_of(right) or span_of(parent))
    values = [bind(i, context) for i in items]
    if len(values) == 1 and values[0].type.kind is Kind.ARRAY and not likes:
        return _over_array(parent, operand, values[0], every, context)
    if likes:
        made = [bind_like(parent, operand, v, context) for v in values]
    else:
        made = [bind_comparison(parent, operand, v, context) for v in values]
    result = made[0]
    for one in made[1:]:
        result = (bind_and if every else bind_or)(_pair(parent), result, one, context)
    if likes:
        word = f"{'not' if parent.args.get('negate') else ''}like{'all' if every else 'any'}"
        text = f"lower({operand.text})" if isinstance(parent, exp.ILike) else operand.text
        result = replace(result, text=f"{word}({text})", name=None)
    return result


def _pair(node: exp.Expr) -> exp.Expr:
    """A node whose sides stand for what is joined: only their places are looked at."""
    return exp.And(this=node, expression=node)


def _items(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return members(node.this)


def _over_array(node: exp.Expr, operand: Bound, array: Bound, every: bool, context: Context) -> Bound:
    word = "ALL" if every else "ANY"
    element = Bound(
        f"{word} (SELECT unnest({array.sql}))", array.type.children[0].type, f"{word.lower()}({array.text})"
    )
    result = bind_comparison(node, replace(operand, constant=NOT_CONSTANT), element, context)
    result.volatile = True
    return result
