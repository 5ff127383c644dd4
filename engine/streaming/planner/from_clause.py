"""FROM of a stream: tables, subqueries, joins and what is lateral."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.from_clause import alias_of, table_parts
from bergsql.engine.plan.node_parts import form_of, refuse_unknown_parts
from bergsql.engine.plan.relations import ConnectorRelation, ViewRelation
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of, table_name_span
from bergsql.engine.streaming.planner.build import Stage, stage_of

if TYPE_CHECKING:
    from bergsql.engine.streaming.planner.build import Building, Stream
    from bergsql.engine.streaming.planner.queries import Ctes


def plan_from(node: exp.Expr, building: Building, ctes: Ctes, where: list[exp.Expr]) -> Stage:
    """The FROM of a SELECT. Parts of ``where`` that a join can use are taken out of the list."""
    from bergsql.engine.streaming.planner.joins import plan_joins

    from_ = node.args["from_"]
    if node.args.get("sample") is not None:
        raise not_supported("TABLESAMPLE in a stream", span_of(from_))
    stage = plan_relation(from_.this, building, ctes)
    joins = [*(from_.this.args.get("joins") or []), *(node.args.get("joins") or [])]
    stage = plan_joins(stage, joins, building, ctes, where)
    for lateral in node.args.get("laterals") or []:
        from bergsql.engine.streaming.planner.laterals import lateral_view
        from bergsql.engine.streaming.planner.ranks import ranked_side

        ranked_side(stage, where, building)
        stage = lateral_view(settled(stage, building), lateral, building)
    return stage


def settled(stage: Stage, building: Building) -> Stage:
    """The stage with a node of its own, whatever its numbering may become."""
    if stage.stream.numbering is not None or stage.stream.window is not None:
        from bergsql.engine.streaming.planner.ranks import settle

        stage.stream = settle(stage.stream, building)
    return stage


def plan_relation(node: exp.Expr, building: Building, ctes: Ctes) -> Stage:
    """One relation of FROM, alone in a scope."""
    refuse_unknown_parts(node)
    for part, word in (("pivots", "PIVOT"), ("sample", "TABLESAMPLE")):
        if node.args.get(part):
            raise not_supported(f"{word} in a stream", span_of(node))
    scope = Scope(building.relations.flavour)
    if isinstance(node, exp.Table):
        return _table(node, scope, building, ctes)
    if isinstance(node, exp.Subquery | exp.Paren):
        inner = node.this
        is_query = isinstance(inner, exp.Query | exp.Values) and not (
            isinstance(inner, exp.Subquery) and not isinstance(inner.this, exp.Query | exp.Values)
        )
        if isinstance(node, exp.Subquery) and is_query and not isinstance(inner, exp.Table):
            return _derived(node, building, ctes)
        return _parenthesised(node, building, ctes)
    if isinstance(node, exp.Values | exp.Select | exp.SetOperation):
        return _derived(node, building, ctes)
    if isinstance(node, exp.Unnest | exp.Lateral):
        return _named(_read_once(node, building), node, scope, building, "EXPR$0")
    raise not_supported(f"{form_of(node)} in FROM", span_of(node))


def _read_once(node: exp.Expr, building: Building) -> Stream:
    from bergsql.engine.streaming.planner.tables import relation_stream

    return relation_stream(node, building)


def _named(stream: Stream, node: exp.Expr, scope: Scope, building: Building, otherwise: str = "") -> Stage:
    alias, names = alias_of(node)
    if names:
        stream = building.named(stream, [n.name for n in names])
    answers_to = (alias,) if alias else ((otherwise,) if otherwise else ())
    return stage_of(stream, answers_to, scope)


def _parenthesised(node: exp.Expr, building: Building, ctes: Ctes) -> Stage:
    """``(a JOIN b ON …)``, or ``(a)``, which is ``a``."""
    from bergsql.engine.streaming.planner.joins import plan_joins

    relation = node.this
    alias, names = alias_of(node)
    joins = relation.args.get("joins") or []
    stage = plan_joins(plan_relation(relation, building, ctes), joins, building, ctes, [])
    if node.args.get("alias") is None:
        return stage
    stage = settled(stage, building)
    shown = stage.scope.all_columns()
    from bergsql.engine.streaming.changelog import StreamColumn

    stream = building.calc(stage.stream, [(c.sql, StreamColumn(c.name, c.type, c.nullable)) for c in shown])
    if names:
        stream = building.named(stream, [n.name for n in names])
    return stage_of(stream, (alias,) if alias else (), Scope(building.relations.flavour))


def _derived(node: exp.Expr, building: Building, ctes: Ctes) -> Stage:
    """A query in FROM."""
    from bergsql.engine.streaming.planner.queries import plan_query

    query = node
    if isinstance(node, exp.Subquery) and not any(node.args.get(k) for k in ("order", "limit", "offset", "with_")):
        query = node.this
    stream = plan_query(query, building, ctes)
    return _named(stream, node, Scope(building.relations.flavour), building)


def _table(node: exp.Table, scope: Scope, building: Building, ctes: Ctes) -> Stage:
    if isinstance(node.this, exp.Anonymous):
        return _function(node, scope, building, ctes)
    if isinstance(node.this, exp.Values | exp.Query):
        from bergsql.engine.streaming.planner.queries import plan_query

        return _named(plan_query(node.this, building, ctes), node, scope, building)
    if not isinstance(node.this, exp.Identifier | exp.Dot):
        raise not_supported(f"{form_of(node.this)} in FROM", span_of(node))
    stream, answers_to = table_stream(node, building, ctes)
    alias, names = alias_of(node)
    if names:
        stream = building.named(stream, [n.name for n in names])
    return stage_of(stream, (alias,) if alias else answers_to, scope)


def table_stream(node: exp.Table, building: Building, ctes: Ctes) -> tuple[Stream, tuple[str, ...]]:
    """The stream of a table, a view or a query of WITH by its name, and the names that it answers to."""
    from bergsql.engine.streaming.planner import tables

    parts = table_parts(node)
    span = table_name_span(node)
    fold = Scope(building.relations.flavour).fold
    if len(parts) == 1 and fold(parts[0]) in ctes:
        cte = ctes[fold(parts[0])]
        return cte.plan(), (cte.name,)
    relation = building.relations.resolve(tuple(parts), span)
    if isinstance(relation, ViewRelation):
        return view_stream(relation, building), relation.parts
    hints = building.planner.take_hints(span)
    if isinstance(relation, ConnectorRelation):
        if node.args.get("version") is not None:
            what = f"AS OF behind {'.'.join(relation.parts)}, a table of a connector,"
            raise not_supported(what, span_of(node.args["version"]) or span)
        return tables.connector_stream(relation, hints, building, span), relation.parts
    return tables.iceberg_stream(node, relation, hints, building), relation.parts


def view_stream(view: ViewRelation, building: Building) -> Stream:
    """The query of a view, with the view's columns: those of the names that it had when it was made."""
    from bergsql.engine.plan.views import chosen_columns
    from bergsql.engine.streaming.planner.queries import plan_query

    inner = building.within(view.relations, building.planner.within(view.relations, view.query.hints))
    inner.planner.calls = None
    stream = plan_query(view.query.ast, inner, {})
    inner.planner.check_hints()
    chosen = chosen_columns(view, [c.name for c in stream.columns])
    if chosen != list(range(len(stream.columns))):
        from bergsql.engine.streaming.planner.ranks import projected

        items = [(f"i.c{n}", stream.columns[n]) for n in chosen]
        stream = building.calc(stream, items) if stream.numbering is None else projected(stream, items)
    return building.named(stream, view.names)


def _function(node: exp.Table, scope: Scope, building: Building, ctes: Ctes) -> Stage:
    from bergsql.engine.plan.calls import call_name
    from bergsql.engine.plan.table_functions import WINDOW_FUNCTIONS

    call = node.this
    if call_name(call).upper() == "TABLE" and call.expressions:
        call = call.expressions[0]
    name = call_name(call) if isinstance(call, exp.Anonymous) else ""
    if name.upper() in WINDOW_FUNCTIONS:
        from bergsql.engine.streaming.planner.windows import window_stream

        return _named(window_stream(call, node, building, ctes), node, scope, building)
    if call.find(exp.Query) is not None:
        raise BergError(ErrorCode.UNSUPPORTED, f"{name.upper()} of a query cannot be a stream.", span=span_of(call))
    return _named(_read_once(node, building), node, scope, building, name)
