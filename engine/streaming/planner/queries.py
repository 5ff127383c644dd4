"""Any query as a stream: WITH, SELECT, VALUES, set operations and parentheses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.planner.build import Cte, stage_of

if TYPE_CHECKING:
    from bergsql.engine.streaming.planner.build import Building, Stream

Ctes = Mapping[str, Cte]


def plan_query(node: exp.Expr, building: Building, ctes: Ctes, *, outermost: bool = False) -> Stream:
    """A query as a stream of its columns. ``outermost``: its order is seen."""
    refuse_unknown_parts(node)
    if node.args.get("with_") is not None:
        ctes = _with(node, building, ctes)
    if isinstance(node, exp.Select):
        from bergsql.engine.streaming.planner.select import plan_select

        return plan_select(node, building, ctes, outermost=outermost)
    if isinstance(node, exp.SetOperation):
        from bergsql.engine.streaming.planner.set_operations import plan_set_operation

        return with_tail(plan_set_operation(node, building, ctes), node, building, outermost=outermost)
    if isinstance(node, exp.Values):
        from bergsql.engine.streaming.planner.tables import constant_stream

        return constant_stream(node, building)
    if isinstance(node, exp.Subquery | exp.Paren):
        tailed = _has_tail(node)
        inner = plan_query(node.this, building, ctes, outermost=outermost and not tailed)
        return with_tail(inner, node, building, outermost=outermost) if tailed else inner
    if isinstance(node, exp.Table):
        return plan_query(exp.select("*").from_(node, copy=False), building, ctes, outermost=outermost)
    raise BergError(ErrorCode.SYNTAX, "A query must stand here, not a value.", span=span_of(node))


def _has_tail(node: exp.Expr) -> bool:
    return any(node.args.get(k) for k in ("order", "limit", "offset", "sort", "cluster"))


def with_tail(stream: Stream, node: exp.Expr, building: Building, *, outermost: bool) -> Stream:
    """A whole query with the ORDER BY and LIMIT behind it: its keys are columns of the result."""
    if not _has_tail(node):
        return stream
    from bergsql.engine.streaming.planner.ordering import apply_tail
    from bergsql.engine.streaming.planner.ranks import settle

    settled = settle(stream, building)
    scope = Scope(building.relations.flavour)
    stage = stage_of(settled, (), scope)
    context = building.context(scope, "ORDER BY", aggregates=False)
    items = [(f"i.c{n}", c) for n, c in enumerate(settled.columns)]
    return apply_tail(stage.stream, items, [], node, context, building, outermost=outermost)


def _with(node: exp.Expr, building: Building, ctes: Ctes) -> Ctes:
    """The named queries that a query sees. Each is planned when it is first read, and once."""
    clause = node.args["with_"]
    refuse_unknown_parts(clause)
    scope = Scope(building.relations.flavour)
    named = dict(ctes)
    for cte in clause.expressions:
        refuse_unknown_parts(cte)
        alias = cte.args["alias"]
        key = scope.fold(alias.name)
        if clause.args.get("recursive") and any(
            scope.fold(t.name) == key and not t.args.get("db") for t in cte.this.find_all(exp.Table)
        ):
            raise not_supported("WITH RECURSIVE in a stream", span_of(alias))
        named[key] = Cte(alias.name, _once(cte, building, dict(named)))
    return named


def _once(cte: exp.Expr, building: Building, ctes: Ctes) -> Callable[[], Stream]:
    made: list[Stream] = []

    def plan() -> Stream:
        if not made:
            made.append(plan_query(cte.this, building, ctes))
            names = cte.args["alias"].args.get("columns") or []
            if names:
                made[0] = building.named(made[0], [n.name for n in names])
        return made[0]

    return plan
