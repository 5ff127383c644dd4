"""What is made of each row: UNNEST, LATERAL VIEW, LATERAL TABLE(f(x)), LATERAL (SELECT … ) without a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.comparison import condition
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.from_clause import bind_relation
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.table_functions import bind_lateral_view
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.planner.build import Stage

if TYPE_CHECKING:
    from bergsql.engine.plan.scope import SourceColumn
    from bergsql.engine.streaming.planner.build import Building


def lateral_join(stage: Stage, join: exp.Expr, kind: str, building: Building) -> Stage:
    """``a, UNNEST(a.x) AS t(y)``, ``a CROSS JOIN …``, ``a LEFT JOIN … ON TRUE``."""
    if kind not in ("CROSS", "INNER", "LEFT"):
        raise not_supported(f"A {kind} JOIN with what is made of each row", span_of(join.this))
    if join.args.get("using") or join.args.get("method"):
        raise not_supported("USING with what is made of each row", span_of(join.this))
    if join.this.find(exp.Table) is not None:
        raise not_supported("LATERAL over a table in a stream", span_of(join.this))
    before, count = len(stage.scope.sources), len(building.planner.slots)
    sql = bind_relation(join.this, stage.scope, building.planner, {})
    if len(building.planner.slots) > count:
        raise not_supported("LATERAL over a table in a stream", span_of(join.this))
    on = join.args.get("on")
    clause = ""
    if on is not None:
        context = building.context(stage.scope, "ON", aggregates=False, windows=False)
        clause = f" ON {condition(bind(on, context), context, on, 'ON').sql}"
    word = "LEFT JOIN" if kind == "LEFT" else "JOIN" if clause else "CROSS JOIN"
    if kind == "LEFT" and not clause:
        clause = " ON TRUE"
    added = [c for s in stage.scope.sources[before:] for c in s.columns]
    return _with(stage, f" {word} {sql}{clause}", added, building, outer=kind == "LEFT")


def lateral_view(stage: Stage, node: exp.Expr, building: Building) -> Stage:
    """Spark's LATERAL VIEW [OUTER]."""
    refuse_unknown_parts(node)
    stage.stream = building.cut(stage.stream, len(stage.columns))
    before = len(stage.scope.sources)
    sql = bind_lateral_view(node, stage.scope, building.planner, {})
    added = [c for s in stage.scope.sources[before:] for c in s.columns]
    return _with(stage, f" {sql}", added, building, outer=bool(node.args.get("outer")))


def _with(stage: Stage, joined: str, added: list[SourceColumn], building: Building, *, outer: bool) -> Stage:
    own = [(f"i.c{n}", c) for n, c in enumerate(stage.stream.columns)]
    made = [(c.sql, StreamColumn(c.name, c.type, c.nullable or outer)) for c in added]
    stream = building.calc(stage.stream, [*own, *made], joined=joined)
    if stage.scope.star is not None:
        stage.scope.star = [*stage.scope.star, *added]
    after = Stage(stage.scope, stream, [*stage.columns, *added], stage.computed)
    for column in added:
        column.nullable = column.nullable or outer
    after.point()
    return after
