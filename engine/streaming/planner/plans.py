"""Whole plans: a SELECT's, and that of INSERTs that run together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.context import Planner
from bergsql.engine.plan.query import query_columns
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import CollectNode, SinkNode, StreamPlan
from bergsql.engine.streaming.planner.build import Building, Shared
from bergsql.engine.streaming.planner.queries import plan_query
from bergsql.engine.streaming.planner.ranks import settle
from bergsql.engine.streaming.planner.versions import without_times

if TYPE_CHECKING:
    from bergsql.engine.plan.query import PlannedColumn
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.streaming.planner.build import Stream
    from bergsql.engine.streaming.planner.inserts import PlannedInsert


def select_plan(query: Query, relations: Relations) -> StreamPlan:
    """As :func:`bergsql.engine.streaming.planner.plan_select`."""
    from bergsql.engine.streaming.planner.finish import finished

    shared = Shared()
    stream = query_stream(query, relations, shared)
    node = stream.node
    end = CollectNode(uid="", inputs=(node,), columns=node.columns, mode=node.mode, key=node.key)
    return finished(StreamPlan((end,)))


def insert_plan(inserts: Sequence[PlannedInsert], relations: Relations, name: str) -> StreamPlan:
    """As :func:`bergsql.engine.streaming.planner.plan_inserts`."""
    from bergsql.engine.streaming.planner.finish import finished
    from bergsql.engine.streaming.planner.inserts import sink_node

    shared = Shared()
    ends: list[SinkNode] = []
    for number, insert in enumerate(inserts, 1):
        try:
            ends.append(sink_node(insert, relations, shared))
        except BergError as error:
            if len(inserts) > 1:
                error.message = f"INSERT {number} of {len(inserts)} of the statement set: {error.message}"
            raise error.at(insert.span) from None
    return finished(StreamPlan(tuple(ends), name))


def query_stream(query: Query, relations: Relations, shared: Shared) -> Stream:
    """The stream of a query, with the columns that the batch plan says."""
    columns = _batch_columns(query, relations)
    planner = Planner(relations, query.hints)
    planner.streams = True
    building = Building(relations, planner, shared)
    try:
        stream = settle(plan_query(query.ast, building, {}, outermost=True), building)
    except RecursionError:
        from bergsql.engine.sql.depth import too_deep

        raise too_deep("The query", query.span) from None
    except BergError as error:
        raise error.at(query.span) from None
    planner.check_hints()
    return stream if columns is None else _as_batch(stream, columns, building)


def _batch_columns(query: Query, relations: Relations) -> tuple[PlannedColumn, ...] | None:
    """What the batch plan's columns are; None where the query has a form that only streams have.

    :raises BergError: for what is wrong in the query, however it runs.
    """
    try:
        return query_columns(without_times(query), relations)
    except BergError as error:
        if error.code is not ErrorCode.UNSUPPORTED:
            raise
        return None


def _as_batch(stream: Stream, columns: Sequence[PlannedColumn], building: Building) -> Stream:
    """The stream's columns as the batch plan has them: the same names, and types that it casts to."""
    from bergsql.engine.plan.casts import convert_sql, same_in_duckdb
    from bergsql.engine.plan.scope import Scope

    if len(columns) != len(stream.columns):
        raise BergError(ErrorCode.INTERNAL, "The plan of the stream has other columns than that of the batch.")
    context = building.context(Scope(building.relations.flavour))
    items: list[tuple[str, StreamColumn]] = []
    changed = False
    for n, (own, wanted) in enumerate(zip(stream.columns, columns, strict=True)):
        plain = own.type == wanted.type or same_in_duckdb(own.type, wanted.type)
        sql = f"i.c{n}" if plain else convert_sql(f"i.c{n}", own.type, wanted.type, context)
        changed = changed or own[:3] != wanted[:3]
        items.append((sql, StreamColumn(wanted.name, wanted.type, wanted.nullable)))
    return building.calc(stream, items) if changed else stream
