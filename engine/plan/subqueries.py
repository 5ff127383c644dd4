"""Queries inside of expressions: scalar, EXISTS, IN, ANY and ALL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import convert_sql, type_text
from bergsql.engine.plan.comparison import compared_types
from bergsql.engine.plan.context import BoundQuery, Context, type_error
from bergsql.engine.plan.pushdown import equal_columns
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import BOOLEAN, Kind

if TYPE_CHECKING:
    from bergsql.engine.sql.types import DataType


def _query(node: exp.Expr, context: Context) -> BoundQuery:
    from bergsql.engine.plan.select import bind_query

    if context.planner.calls is not None:
        return context.planner.calls.query(node, context)
    return bind_query(node, context.planner, context.scope, context.ctes)


def _outer(query: BoundQuery) -> str:
    """The columns of the query around that a subquery uses, as Spark names it by them."""
    return ", ".join(dict.fromkeys(query.outer))


def bind_scalar_query(node: exp.Expr, context: Context) -> Bound:
    """``(SELECT …)`` as a value."""
    bound = _query(node, context)
    if len(bound.columns) != 1:
        raise BergError(
            ErrorCode.ARITY,
            f"A subquery that is a value has one column, not {len(bound.columns)}.",
            span=span_of(node),
        )
    return Bound(f"({bound.sql})", bound.columns[0].type, f"scalarsubquery({_outer(bound)})", volatile=True)


def bind_exists(node: exp.Expr, context: Context) -> Bound:
    if isinstance(node.expression, exp.Lambda):
        from bergsql.engine.plan.calls import bind_function

        call = exp.Anonymous(this="exists", expressions=[node.this, node.expression])
        return bind_function("exists", call.expressions, call, context)
    bound = _query(node.this, context)
    return Bound(f"EXISTS ({bound.sql})", BOOLEAN, f"exists({_outer(bound)})", False, volatile=True)


def bind_in_query(node: exp.Expr, operand: Bound, query: exp.Expr, context: Context) -> Bound:
    """``a IN (SELECT …)`` and ``(a, b) IN (SELECT …)``."""
    bound = _query(query, context)
    width = len(operand.type.children) if isinstance(node.this, exp.Tuple) else 1
    if len(bound.columns) != width:
        raise BergError(
            ErrorCode.ARITY,
            f"IN compares {width} {'value' if width == 1 else 'values'} with a query of {len(bound.columns)} columns.",
            span=span_of(query) or span_of(node),
        )
    text = f"({operand.text} IN (listquery({_outer(bound)})))"
    if isinstance(node.this, exp.Tuple):
        from bergsql.engine.plan.expressions import bind

        parts = [bind(e, context) for e in node.this.expressions]
        return Bound(f"(({', '.join(p.sql for p in parts)}) IN ({bound.sql}))", BOOLEAN, text, volatile=True)
    left, inner = _matched(operand, bound, context, node)
    result = Bound(f"({left} IN ({inner}))", BOOLEAN, text, volatile=True)
    result.equal = equal_columns(operand, bound.columns[0])
    return result


def _matched(operand: Bound, query: BoundQuery, context: Context, node: exp.Expr) -> tuple[str, str]:
    """Both sides as types that DuckDB compares as the flavour does."""
    type_ = query.columns[0].type
    types = compared_types(operand.type, type_, context)
    if types is None:
        a, b = type_text(operand.type, context.flavour), type_text(type_, context.flavour)
        raise type_error(f"{a} cannot be compared with the query's {b}.", span_of(node))
    left = convert_sql(operand.sql, operand.type, types[0], context) if types[0] else operand.sql
    return left, _cast_column(query, types[1], context) if types[1] else query.sql


def _cast_column(query: BoundQuery, to: DataType, context: Context) -> str:
    return f"SELECT {convert_sql('q.c', query.columns[0].type, to, context)} FROM ({query.sql}) AS q(c)"


def bind_quantified(node: exp.Expr, context: Context) -> Bound:
    """The right side of ``a > ANY (SELECT …)`` and ``a > ALL (SELECT …)``; the comparison is around it."""
    inner = node.this
    while isinstance(inner, exp.Subquery | exp.Paren):
        inner = inner.this
    if not isinstance(inner, exp.Query):
        if isinstance(node, exp.Any) and context.spark and not isinstance(node.parent, exp.Binary):
            from bergsql.engine.plan.calls import bind_function

            return bind_function("any", [inner], node, context)
        raise BergError(ErrorCode.INVALID, "ANY and ALL follow a comparison or LIKE.", span=span_of(node))
    bound = _query(inner, context)
    if len(bound.columns) != 1:
        raise BergError(ErrorCode.ARITY, "ANY and ALL take a query of one column.", span=span_of(node))
    word = "ALL" if isinstance(node, exp.All) else "ANY"
    result = Bound(f"{word} ({bound.sql})", bound.columns[0].type, f"{word.lower()}()")
    if result.type.kind is Kind.NULL:
        result.type = BOOLEAN
    return result
