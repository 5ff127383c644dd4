"""One SELECT as a stream: FROM, WHERE, GROUP BY or OVER, the items, DISTINCT, ORDER BY and LIMIT, in this order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.context import Found
from bergsql.engine.plan.grouping import bind_group
from bergsql.engine.plan.items import Item, bind_items
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.select import is_plain_group
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.planner.calls import Calls
from bergsql.engine.streaming.planner.conditions import conjuncts_of, plan_where

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.streaming.planner.build import Building, Stage, Stream
    from bergsql.engine.streaming.planner.queries import Ctes


def plan_select(node: exp.Expr, building: Building, ctes: Ctes, *, outermost: bool) -> Stream:
    """One SELECT."""
    if node.args.get("from_") is None:
        from bergsql.engine.streaming.planner.tables import constant_stream

        return constant_stream(node, building)
    _refuse_parts(node)
    if node.args.get("qualify") is not None:
        from bergsql.engine.streaming.planner.ranks import without_qualify

        return plan_select(without_qualify(node), building, ctes, outermost=outermost)
    from bergsql.engine.streaming.planner.from_clause import plan_from

    where = node.args.get("where")
    parts = conjuncts_of(where.this) if where is not None else []
    stage = plan_from(node, building, ctes, parts)
    if stage.stream.numbering is not None:
        from bergsql.engine.streaming.planner.ranks import ranked

        stage, parts = ranked(stage, parts, building, ctes)
    if any(_is_window_call(n) for n in [*node.expressions, *_listed(node.args.get("group"))]):
        from bergsql.engine.streaming.planner.windows import spark_window

        node, stage = spark_window(node, stage, building)
    stage = plan_where(stage, parts, building, ctes)
    from bergsql.engine.streaming.planner.windows import legacy_windows

    node, stage = legacy_windows(node, stage, building)
    return _plan_items(node, stage, building, ctes, outermost=outermost)


def _listed(node: exp.Expr | None) -> list[exp.Expr]:
    return [] if node is None else [node]


def _is_window_call(part: exp.Expr) -> bool:
    return any(isinstance(n.this, str) and n.this.lower() == "window" for n in part.find_all(exp.Anonymous))


def _refuse_parts(node: exp.Expr) -> None:
    distinct = node.args.get("distinct")
    if distinct is not None and distinct.args.get("on") is not None:
        raise not_supported("DISTINCT ON in a stream", span_of(node.expressions[0]))
    for key, word in (("sort", "SORT BY"), ("cluster", "CLUSTER BY"), ("distribute", "DISTRIBUTE BY")):
        if node.args.get(key) is not None:
            raise not_supported(f"{word} in a stream", span_of(node.args[key]))


def _plan_items(node: exp.Expr, stage: Stage, building: Building, ctes: Ctes, *, outermost: bool) -> Stream:
    """Everything behind WHERE. Items are bound with the calls in them taken out, which become nodes below."""
    context = building.context(stage.scope)
    context.windows = {stage.scope.fold(str(w.this.this)): w for w in node.args.get("windows") or []}
    calls = Calls(building, ctes)
    group = node.args.get("group")
    with building.taking(calls):
        if group is not None:
            _group(node, group, context, calls)
        items = bind_items(node.expressions, context)
        context.aliases = {stage.scope.fold(i.name): i.bound for i in items if i.aliased}
        having = node.args.get("having")
        kept: list[str] = []
        if having is not None:
            context.found.aggregate = True
            kept = _having(having.this, context)
        order = _order_keys(node, items, context)
    if group is not None or context.found.aggregate:
        context.check_grouped()
    if calls.sets:
        from bergsql.engine.streaming.planner.grouping_sets import without_grouping

        for item in items:
            item.bound = replace(item.bound, sql=without_grouping(item.bound.sql, calls))
        kept = [without_grouping(sql, calls) for sql in kept]
        order = [without_grouping(sql, calls) for sql in order]
    stage_columns = [(i.bound.sql, StreamColumn(i.name, i.bound.type, i.bound.nullable)) for i in items]
    from bergsql.engine.streaming.planner.assemble import assemble

    return assemble(node, stage, stage_columns, kept, order, calls, context, building, outermost=outermost)


def _group(node: exp.Expr, group: exp.Expr, context: Context, calls: Calls) -> None:
    """Bind the keys, and let the items read what the node below gives for them."""
    if not is_plain_group(group):
        from bergsql.engine.streaming.planner.grouping_sets import bind_sets

        bind_sets(node, group, context, calls)
        return
    _, keys = bind_group(group, node.expressions, context)
    calls.group(list(keys.values()))
    context.group_keys = {sql: replace(key, sql=f"g.c{n}") for n, (sql, key) in enumerate(keys.items())}


def _having(condition_node: exp.Expr, context: Context) -> list[str]:
    from bergsql.engine.plan.comparison import condition
    from bergsql.engine.plan.expressions import bind

    inner = replace(context, clause="HAVING", windows_allowed=False)
    return [condition(bind(part, inner), inner, part, "HAVING").sql for part in conjuncts_of(condition_node)]


def _order_keys(node: exp.Expr, items: list[Item], context: Context) -> list[str]:
    """The keys of ORDER BY, as ``sql ASC NULLS FIRST``."""
    order = node.args.get("order")
    if order is None:
        return []
    from bergsql.engine.plan.aggregate_calls import order_key
    from bergsql.engine.plan.ordering import ordinal

    inner = replace(context, clause="ORDER BY", aliases_first=True)
    if not context.found.aggregate and node.args.get("group") is None:
        inner = replace(inner, found=Found())
    keys: list[str] = []
    for key in order.expressions:
        plain = key.this if isinstance(key, exp.Ordered) else key
        if isinstance(plain, exp.Var) and plain.name.upper() == "ALL":
            raise not_supported("ORDER BY ALL in a stream", span_of(key))
        position = ordinal(plain, len(items), "ORDER BY")
        keys.append(order_key(key, inner, items[position].bound if position is not None else None)[0])
    return keys
