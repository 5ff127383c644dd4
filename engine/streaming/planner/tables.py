"""The relations that a stream begins with: tables that are followed, tables that are read once, VALUES."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.engine.plan.context import Planner
from bergsql.engine.plan.query import PlannedColumn, QueryPlan, ready
from bergsql.engine.plan.select import bind_query
from bergsql.engine.sql.parser.query import table_name_span
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import NormalizeNode, SourceNode
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.unbounded import STREAMING
from bergsql.engine.streaming.sources.query import QuerySource

if TYPE_CHECKING:
    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.relations import ConnectorRelation, IcebergRelation, Relations
    from bergsql.engine.sql.statements import TableHint
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.sources.base import Source


def source_stream(source: Source) -> Stream:
    """A source as a stream of all kinds of change, or of inserts: one that gives upserts is made whole first."""
    key = source.key or None
    node = SourceNode(uid="", inputs=(), columns=source.columns, mode=source.mode, key=key, source=source)
    if source.mode is not ChangelogMode.UPSERT:
        return Stream(node)
    made = NormalizeNode(uid="", inputs=(node,), columns=source.columns, mode=ChangelogMode.RETRACT, key=key)
    return Stream(made)


def constant_stream(node: exp.Expr, building: Building) -> Stream:
    """VALUES, or a SELECT without FROM: read once."""
    written = node.copy()
    relations = building.relations
    columns = _bound_columns(written, relations, ())
    return source_stream(QuerySource("VALUES", columns, _planning(lambda _: written, relations, (), columns)))


def iceberg_stream(node: exp.Table, relation: IcebergRelation, hints: list[TableHint], building: Building) -> Stream:
    """An Iceberg table, followed or read once."""
    relations = building.relations
    told = [*relation.options, *(o for h in hints for o in h.options)]
    name = ".".join(relation.parts)
    follows = relation.suffix is None and _follows({o.key: o.value for o in told}, relations, once=building.shared.once)
    version = node.args.get("version")
    if follows and version is None:
        made = building.shared.sources.get(key := (name, tuple((o.key, o.value) for o in told)))
        if made is None:
            from bergsql.engine.streaming.planner.connections import followed

            made = followed(relation, hints, relations, table_name_span(node))
            building.shared.sources[key] = made
        return made
    plain = exp.Table(**{k: v.copy() for k, v in node.args.items() if k in ("this", "db", "catalog", "version") and v})
    whole = exp.select("*").from_(plain, copy=False)
    columns = _bound_columns(whole, relations, tuple(hints))

    def written(used: frozenset[int]) -> exp.Expr:
        names = [exp.to_identifier(c.name, quoted=True) for n, c in enumerate(columns) if n in used]
        items: list[exp.Expr] = [exp.column(name) for name in names] or [exp.Null()]
        return exp.select(*items).from_(plain.copy(), copy=False)

    table = {"uuid": relation.table.metadata.table_uuid}
    plan = _planning(written, relations, tuple(hints), columns)
    return source_stream(QuerySource(name, columns, plan, tables=table))


def _follows(options: dict[str, str], relations: Relations, *, once: bool) -> bool:
    if "streaming" in options:
        return options["streaming"].lower() == "true"
    return (
        not once and relations.setting(STREAMING) == "true" and relations.setting("execution.runtime-mode") != "batch"
    )


def connector_stream(
    relation: ConnectorRelation, hints: list[TableHint], building: Building, span: Span | None
) -> Stream:
    """A table of a connector: what it stores, its computed columns, its watermark."""
    options = [option for hint in hints for option in hint.options]
    key = ("connector", relation.parts, tuple(sorted((o.key, o.value) for o in options)))
    made = building.shared.sources.get(key)
    if made is None:
        from bergsql.engine.streaming.planner.connections import connected

        made = connected(relation, options, building, span)
        building.shared.sources[key] = made
    return made


def relation_stream(node: exp.Expr, building: Building) -> Stream:
    """A relation that holds no table, as RANGE(…): read once."""
    relations = building.relations
    plain = node.copy()
    for part in ("joins", "alias"):
        plain.set(part, None)
    written = exp.select("*").from_(plain, copy=False)
    columns = _bound_columns(written, relations, ())
    return source_stream(QuerySource("VALUES", columns, _planning(lambda _: written, relations, (), columns)))


def _bound_columns(node: exp.Expr, relations: Relations, hints: tuple[TableHint, ...]) -> tuple[StreamColumn, ...]:
    bound = bind_query(node.copy(), Planner(relations, hints), None, {})
    return tuple(StreamColumn(c.name, c.type, c.nullable) for c in bound.columns)


def _planning(
    written: Callable[[frozenset[int]], exp.Expr],
    relations: Relations,
    hints: tuple[TableHint, ...],
    columns: Sequence[StreamColumn],
) -> Callable[[frozenset[int]], QueryPlan]:
    """What plans the query of the columns at the positions that it is given."""

    def plan(used: frozenset[int]) -> QueryPlan:
        planner = Planner(relations.afresh(), hints)
        planner.reads = planner.prunes = True
        bound = bind_query(written(used).copy(), planner, None, {})
        sql, scans = ready(bound.sql, planner)
        if len(bound.columns) == len(columns) and len(used) < len(columns):
            names = ", ".join(f"c{n}" for n in range(len(columns)))
            sql = f"SELECT {', '.join(f'c{n}' for n in sorted(used)) or 'NULL'} FROM ({sql}) AS q({names})"
        chosen = [c for n, c in enumerate(columns) if n in used]
        shown = tuple(PlannedColumn(c.name, c.type, c.nullable) for c in chosen) or (
            PlannedColumn("none", columns[0].type),
        )
        variables = {name: value for s in scans for name, value in s.scan.variables.items()}
        return QueryPlan(sql, shown, tuple(scans), variables)

    return plan
