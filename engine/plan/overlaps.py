"""``(start, end) OVERLAPS (start, end)``."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import call_name
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INTERVALS


def bind_overlaps(node: exp.Expr, context: Context) -> Bound:
    """Whether two spans of time have a point in common; the second member of each is a point or an interval.

    As Calcite converts it (StandardConvertletTable): the two points of a span in either order, both ends belong to it.
    """
    first, second = _span(node.this, context), _span(node.expression, context)
    meets = exp.and_(
        exp.GTE(this=_later(*first), expression=_earlier(*second)),
        exp.GTE(this=_later(*second), expression=_earlier(*first)),
        copy=False,
    )
    bound = bind(meets, context)
    text = " OVERLAPS ".join(f"({bind(a, context).text}, {bind(b, context).text})" for a, b in (first, second))
    return replace(bound, text=text, name=None)


def _span(pair: exp.Expr, context: Context) -> tuple[exp.Expr, exp.Expr]:
    """Both points of a pair.

    :raises BergError: ARITY for what is no pair.
    """
    is_row = isinstance(pair, exp.Anonymous) and call_name(pair).upper() == "ROW"
    points = pair.expressions if is_row or isinstance(pair, exp.Tuple) else [pair]
    if len(points) != 2:
        raise BergError(
            ErrorCode.ARITY,
            "OVERLAPS compares two pairs: (start, end) or (start, interval).",
            span=span_of(pair),
        )
    start, end = points
    if bind(end, context).type.kind in INTERVALS:
        end = exp.Add(this=start.copy(), expression=end)
    return start, end


def _earlier(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return _chosen(a, b, a, b)


def _later(a: exp.Expr, b: exp.Expr) -> exp.Expr:
    return _chosen(a, b, b, a)


def _chosen(a: exp.Expr, b: exp.Expr, ordered: exp.Expr, otherwise: exp.Expr) -> exp.Expr:
    in_order = exp.LTE(this=a.copy(), expression=b.copy())
    return exp.Case(ifs=[exp.If(this=in_order, true=ordered.copy())], default=otherwise.copy())
