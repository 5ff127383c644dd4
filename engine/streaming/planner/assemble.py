"""The nodes of one SELECT above its WHERE: aggregates, window functions, items, DISTINCT, ORDER BY and LIMIT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.types import Kind
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import AggregateNode
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stream, settled_mode
from bergsql.engine.streaming.planner.sql_columns import rewritten

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlglot import exp

    from bergsql.engine.plan.context import Context
    from bergsql.engine.streaming.planner.build import Building, Stage
    from bergsql.engine.streaming.planner.calls import Calls, OverUse

Items = list[tuple[str, StreamColumn]]


def assemble(
    node: exp.Expr,
    stage: Stage,
    items: Items,
    having: list[str],
    order: list[str],
    calls: Calls,
    context: Context,
    building: Building,
    *,
    outermost: bool,
) -> Stream:
    """The stream of a SELECT from its parts as SQL: over ``i``, the stage, and over what the calls give."""
    stream = stage.stream
    grouped = node.args.get("group") is not None or context.found.aggregate

    def through(new: Callable[[str, int], str]) -> None:
        nonlocal items, having, order
        items = [(rewritten(sql, new), c) for sql, c in items]
        having = [rewritten(sql, new) for sql in having]
        order = [rewritten(sql, new) for sql in order]

    if stream.numbering is not None and not grouped and not calls.overs and _is_plain(node):
        from bergsql.engine.streaming.planner.ranks import projected

        return projected(stream, items)
    if stream.numbering is not None:
        from bergsql.engine.streaming.planner.ranks import settle

        stream = settle(stream, building)
    if calls.queries:
        from bergsql.engine.streaming.planner.subqueries import joined_values

        if grouped:
            from bergsql.catalog.errors import not_supported
            from bergsql.engine.sql.parser.query import span_of

            raise not_supported("A subquery beside aggregates of a stream", span_of(calls.queries[0].node))
        width = len(stream.columns)
        stream = joined_values(stream, calls.queries, building)
        through(lambda s, n: f"i.c{width + n}" if s == "r" else f"{s}.c{n}")
    if grouped:
        from bergsql.engine.streaming.planner.aggregates import aggregate

        stream, at = aggregate(stream, calls, node, building)
        columns = stream.columns
        through(lambda s, n: _result(at[n], columns) if s == "g" else f"{s}.c{n}")
        calls.overs = [_moved_over(o, at) for o in calls.overs]
        stream = building.filtered(stream, having)
    if calls.overs:
        from bergsql.engine.streaming.planner.over import over
        from bergsql.engine.streaming.planner.ranks import numbering_of

        numbered = numbering_of(stream, items, calls, building) if _is_plain(node) else None
        if numbered is not None:
            return numbered
        stream, places = over(stream, calls.overs, building)
        through(lambda s, n: f"i.c{places[n]}" if s == "s" else f"{s}.c{n}")
    if node.args.get("distinct") is not None:
        return _distinct(stream, items, node, building, outermost=outermost)
    if _is_plain(node):
        return building.calc(stream, items)
    from bergsql.engine.streaming.planner.ordering import apply_tail

    return apply_tail(stream, items, order, node, context, building, outermost=outermost)


def _result(place: int, columns: Sequence[StreamColumn]) -> str:
    """A column of a node's result. What operators hand over in Arrow has lost its type if that is HUGEINT."""
    wide = columns[place].type.kind is Kind.HUGEINT
    return f"CAST(i.c{place} AS HUGEINT)" if wide else f"i.c{place}"


def _is_plain(node: exp.Expr) -> bool:
    """Whether nothing follows the items."""
    return not any(node.args.get(k) for k in ("distinct", "order", "limit", "offset"))


def _moved_over(use: OverUse, at: Sequence[int]) -> OverUse:
    def new(sql: str) -> str:
        return rewritten(sql, lambda s, n: f"i.c{at[n]}" if s == "g" else f"{s}.c{n}")

    call = use.call._replace(
        arguments=tuple(map(new, use.call.arguments)), conditions=tuple(map(new, use.call.conditions))
    )
    window = use.window._replace(
        partition=tuple(map(new, use.window.partition)), order=tuple(map(new, use.window.order))
    )
    return use._replace(call=call, window=window)


def distinct_rows(stream: Stream) -> Stream:
    """Each row once."""
    below = stream.node
    keys = tuple(range(len(below.columns)))
    made = AggregateNode(
        uid="",
        inputs=(below,),
        columns=tuple(c._replace(rowtime=False, proctime=False) for c in below.columns),
        mode=below.mode if only_inserts(below) else settled_mode(below),
        key=keys,
        keys=keys,
        calls=(),
    )
    return Stream(made)


def _distinct(stream: Stream, items: Items, node: exp.Expr, building: Building, *, outermost: bool) -> Stream:
    from bergsql.engine.streaming.planner.ordering import apply_tail

    made = distinct_rows(building.calc(stream, items))
    if not any(node.args.get(k) for k in ("order", "limit", "offset")):
        return made
    from bergsql.engine.plan.scope import Scope
    from bergsql.engine.streaming.planner.build import stage_of

    scope = Scope(building.relations.flavour)
    stage_of(made, (), scope)
    above = building.context(scope, "ORDER BY", aggregates=False)
    own = [(f"i.c{n}", c) for n, c in enumerate(made.columns)]
    return apply_tail(made, own, [], node, above, building, outermost=outermost)
