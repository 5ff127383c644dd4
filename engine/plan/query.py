"""From a parsed query to a plan: DuckDB's SQL, the result's columns, and the scans that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.select import bind_query
from bergsql.engine.sql.types import DataType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from bergsql.engine.plan.context import BoundQuery, Slot
    from bergsql.engine.plan.metadata_answers import Answered
    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.sql.statements import Expression, Query
    from bergsql.engine.table.predicate import Predicate
    from bergsql.engine.table.scan import TableScan


class PlannedColumn(NamedTuple):
    """A column of the result, as it is shown."""

    name: str
    type: DataType
    nullable: bool = True


class PlannedScan(NamedTuple):
    """A table that the plan reads: its full name, what is pushed to it, and its files."""

    table: str
    columns: tuple[str, ...]
    predicate: Predicate
    scan: TableScan
    snapshot_id: int | None = None
    answers: tuple[str, ...] = ()
    """The aggregates that manifests answered: then no file is read."""
    state: str = ""
    """What of the table's history was asked for, where that is not its current state."""
    of_metadata: bool = False
    """Whether it is a metadata table: what it reads is not planned."""
    relation: IcebergRelation | None = None
    """What is read: errors of files look there for their snapshots."""
    limit: int | None = None
    """How many rows of it a read option lets pass."""
    slot: int = 0
    """Its number among all that the query reads, connectors' tables too."""


class QueryPlan(NamedTuple):
    """A query that is ready to run.

    ``sql`` yields ``columns`` in order; set ``variables`` before it runs. Its own column names mean nothing.
    """

    sql: str
    columns: tuple[PlannedColumn, ...]
    scans: tuple[PlannedScan, ...]
    variables: Mapping[str, object]
    query: Query | None = None
    """The query as it was written: where an error of DuckDB's is looked for."""
    sources: tuple[str, ...] = ()
    """The connector tables that it reads, each in a line."""

    def explain(self) -> list[str]:
        """The plan as indented lines."""
        from bergsql.engine.plan.explain import explain_lines

        return explain_lines(self)


def plan_query(query: Query, relations: Relations, *, prune: bool = True) -> QueryPlan:
    """Plan a query. Without ``prune`` every file of its tables is read: the rows are the same.

    :raises BergError: with its place, when a name, a type or a form is wrong.
    """
    planner = Planner(relations, query.hints)
    planner.reads = planner.prunes = prune
    bound = _bound(query, planner)
    sql, scans = ready(bound.sql, planner)
    sources = tuple(slot.source.explain() for slot in planner.slots if slot.source is not None)
    return QueryPlan(sql, _shown(bound), tuple(scans), variables_of(scans, planner), query, sources)


def ready(sql: str, planner: Planner) -> tuple[str, list[PlannedScan]]:
    """SQL of ``planner`` with its scans in their places, and those.

    :raises BergError: where a scan cannot be read.
    """
    if planner.unreadable:
        raise planner.unreadable[0]
    if planner.equal:
        from bergsql.engine.plan.pushdown import spread

        spread(planner)
    scans = []
    for number, slot in enumerate(planner.slots):
        if slot.source is not None:
            sql = sql.replace(slot.mark, _read(number, slot, planner))
            continue
        scans.append(_planned(number, slot, prunes=planner.prunes)._replace(slot=number))
        sql = sql.replace(slot.mark, f"({scans[-1].scan.sql})")
    return sql, scans


def _read(number: int, slot: Slot, planner: Planner) -> str:
    """SQL of the rows of a connector's table: of the columns that are used, maybe only of rows that are asked for."""
    from bergsql.engine.table.predicate import AlwaysTrue, all_of

    assert slot.source is not None
    predicate = all_of(*slot.predicates) if planner.prunes else AlwaysTrue()
    slot.source = slot.source.narrowed(frozenset(slot.columns), predicate)
    read = slot.source.whole(f"r{number}")
    planner.variables.update(read.variables)
    return read.sql


def variables_of(scans: Iterable[PlannedScan], planner: Planner) -> dict[str, object]:
    """What is to be set before SQL that is :func:`ready` runs."""
    return {**{name: value for s in scans for name, value in s.scan.variables.items()}, **planner.variables}


def query_columns(query: Query, relations: Relations) -> tuple[PlannedColumn, ...]:
    """The columns that a query gives. Connector tables may be among what it reads, and no data is looked at."""
    return _shown(_bound(query, Planner(relations, query.hints)))


def _bound(query: Query, planner: Planner) -> BoundQuery:
    try:
        bound = bind_query(query.ast, planner, None, {})
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("The query", query.span) from None
    except BergError as error:  # at its own place, if it has one: not every literal does
        raise error.at(query.span) from None
    planner.check_hints()
    return bound


def _shown(bound: BoundQuery) -> tuple[PlannedColumn, ...]:
    return tuple(PlannedColumn(c.name, c.type, c.nullable) for c in bound.columns)


def plan_expression(expression: Expression, relations: Relations, to: DataType | None = None) -> str:
    """A constant expression (a value of PARTITION (…), an argument of CALL) as DuckDB's SQL, cast to ``to`` if given.

    :raises BergError: NOT_FOUND when it names a column; INVALID when it aggregates.
    """
    from bergsql.engine.plan.casts import coerce
    from bergsql.engine.plan.expressions import bind

    planner = Planner(relations)
    context = Context(planner, Scope(relations.flavour), "a constant", aggregates_allowed=False, windows_allowed=False)
    try:
        bound = bind(expression.ast, context)
        if to is not None:
            bound = coerce(bound, to, context, expression.span)
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("The expression", expression.span) from None
    if planner.slots:
        raise BergError(ErrorCode.INVALID, "A constant expression cannot read a table.", span=expression.span)
    return bound.sql


def _planned(number: int, slot: Slot, *, prunes: bool) -> PlannedScan:
    from bergsql.engine.table.metadata_columns import PLACE_COLUMNS
    from bergsql.engine.table.predicate import AlwaysTrue, all_of
    from bergsql.engine.table.scan import build_scan

    relation = slot.relation
    if relation.suffix is not None:
        return _planned_metadata(number, slot)
    if slot.answered is not None:
        return _answered(relation, slot.answered, frozenset(slot.columns))
    predicate = all_of(*slot.predicates)
    if not prunes:
        predicate = AlwaysTrue()
    elif slot.predicates:
        from bergsql.engine.plan.pushdown import of_schema

        predicate = of_schema(predicate, relation.schema)
    scan = build_scan(
        relation.table,
        relation.storage,
        point=relation.point,
        predicate=None if isinstance(predicate, AlwaysTrue) else predicate,
        columns=frozenset(slot.columns),
        others=slot.others,
        name_prefix=f"s{number}",
    )
    return PlannedScan(
        ".".join(relation.parts),
        tuple(f.name for f in scan.fields if f.name not in PLACE_COLUMNS),
        predicate,
        scan,
        _snapshot_id(relation),
        state=_state(relation),
        relation=relation,
        limit=slot.limit,
    )


def _snapshot_id(relation: IcebergRelation) -> int | None:
    snapshot = relation.point.snapshot if relation.point else relation.table.metadata.current_snapshot()
    return snapshot.snapshot_id if snapshot is not None else None


def _state(relation: IcebergRelation) -> str:
    if relation.point is not None and relation.point.appended is not None:
        count = len(relation.point.appended)
        return f"what {count} {'snapshot' if count == 1 else 'snapshots'} appended"
    return relation.reference or (relation.point.reference if relation.point is not None else "")


def _answered(relation: IcebergRelation, answered: Answered, columns: frozenset[str]) -> PlannedScan:
    """A scan that need not be made."""
    from dataclasses import replace

    from bergsql.engine.table.scan import empty_scan

    plan = replace(answered.plan, tasks=(), files_kept=0, bytes_kept=0, delete_files=answered.delete_files)
    scan = empty_scan(relation.schema, columns, plan, dict(answered.variables))
    return PlannedScan(
        ".".join(relation.parts),
        (),
        answered.predicate,
        scan,
        _snapshot_id(relation),
        answered.aggregates,
        _state(relation),
    )


def _planned_metadata(number: int, slot: Slot) -> PlannedScan:
    """The scan of a metadata table. Conditions are left to what reads it."""
    from bergsql.engine.plan.metadata_tables import name_of
    from bergsql.engine.table.inspect.tables import metadata_scan
    from bergsql.engine.table.predicate import AlwaysTrue

    relation = slot.relation
    name, columns = name_of(relation), frozenset(slot.columns)
    scan = metadata_scan(
        name, relation.table, relation.storage, point=relation.point, columns=columns, name_prefix=f"s{number}"
    )
    return PlannedScan(
        ".".join((*relation.parts, name)),
        tuple(f.name for f in scan.fields),
        AlwaysTrue(),
        scan,
        _snapshot_id(relation),
        state=_state(relation),
        of_metadata=True,
        relation=relation,
        limit=slot.limit,
    )
