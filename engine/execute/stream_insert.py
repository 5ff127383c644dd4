"""INSERT of streams: statements as one plan, whose ends are the sinks that their targets are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.execute.connector_insert import connector_target, sink_target
from bergsql.engine.execute.fit_query import fit_stream
from bergsql.engine.plan.query import PlannedColumn
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql import statements as st
from bergsql.engine.streaming.planner import plan_inserts
from bergsql.engine.streaming.planner.inserts import PlannedInsert

if TYPE_CHECKING:
    from bergsql.engine.execute.destination import Target
    from bergsql.engine.session import Session
    from bergsql.engine.streaming.changelog import StreamColumn
    from bergsql.engine.streaming.nodes import StreamPlan
    from bergsql.engine.streaming.sinks.base import Sink
    from bergsql.engine.streaming.sinks.iceberg import IcebergSink


def plan_insert_jobs(
    session: Session,
    inserts: Sequence[st.Insert],
    name: str = "",
    *,
    makes: bool = True,
    schemas: Sequence[int | None] = (),
) -> StreamPlan:
    """The plan of INSERTs that stream together: what several read of a source is read once.

    ``makes``: whether a table that a pointer declares is made if it is not there yet; without, such a plan cannot run.
    ``schemas``: what :func:`schemas_of` gave of the plan when its job was submitted: its tables may have more columns.

    :raises BergError: with its place, for what is wrong and for what cannot stream.
    """
    known = [*schemas, *[None] * (len(inserts) - len(schemas))]
    planned = [_planned(session, each, schema, makes=makes) for each, schema in zip(inserts, known, strict=True)]
    return plan_inserts(planned, SessionRelations(session), name)


def schemas_of(plan: StreamPlan) -> list[int | None]:
    """The schemas of the tables that a plan writes to, by their ids; None for what is no Iceberg table."""
    from bergsql.engine.streaming.nodes import SinkNode
    from bergsql.engine.streaming.sinks.iceberg import IcebergSink

    sinks = [end.sink if isinstance(end, SinkNode) else None for end in plan.ends]
    return [sink.schema.schema_id if isinstance(sink, IcebergSink) else None for sink in sinks]


def _planned(session: Session, statement: st.Insert, schema_id: int | None, *, makes: bool) -> PlannedInsert:
    span = statement.target.span
    found = connector_target(session, statement)
    if statement.overwrite:
        raise BergError(
            ErrorCode.INVALID,
            "INSERT OVERWRITE cannot take a stream, which has no end: there is no whole to put into the place of what "
            "is there.",
            span=span,
            hint="INSERT INTO adds the rows as they come.",
        )
    if found is not None:
        connector = sink_target(session, statement, found)
        query, items = fit_stream(session, statement, connector[0].table, connector[0].name)
        return PlannedInsert(query, connector[1], _checked(items, connector[1]), span)
    target, sink = _iceberg(session, statement, schema_id, makes=makes)
    metadata = target.table.metadata.changed(current_schema_id=sink.schema.schema_id)
    query, items = fit_stream(session, statement, replace(target.table, metadata=metadata), target.name)
    return PlannedInsert(query, sink, _as_planned(items), span)


def _iceberg(
    session: Session, statement: st.Insert, schema_id: int | None, *, makes: bool
) -> tuple[Target, IcebergSink]:
    """The Iceberg table, or the branch of one, that is written, as a sink."""
    from bergsql.engine.execute.destination import destination
    from bergsql.engine.execute.insert import is_declared, make_declared
    from bergsql.engine.execute.upsert import is_enabled
    from bergsql.engine.plan.hints import insert_hints
    from bergsql.engine.streaming.sinks.iceberg import iceberg_sink

    span = statement.target.span
    target = destination(session, statement.target, declared=True)
    if is_declared(target.table) and makes:
        target = target._replace(table=make_declared(session, statement))
    metadata = target.table.metadata
    hints = insert_hints(statement.hints, metadata, SessionRelations(session))
    if hints.overwrites and hints.overwrite is not None:
        message = "'overwrite-enabled' cannot take a stream, which has no end."
        raise BergError(ErrorCode.INVALID, message, span=hints.overwrite.span)
    upserts = is_enabled(metadata.properties, session.flavour) if hints.upserts is None else hints.upserts
    try:
        return target, iceberg_sink(target, properties=hints.properties, upserts=upserts, schema_id=schema_id)
    except BergError as error:
        raise error.at(span) from None


def _as_planned(
    items: Callable[[Sequence[PlannedColumn]], list[str]],
) -> Callable[[Sequence[StreamColumn]], Sequence[str]]:
    return lambda columns: items([PlannedColumn(c.name, c.type, c.nullable) for c in columns])


def _checked(
    items: Callable[[Sequence[PlannedColumn]], list[str]], sink: Sink
) -> Callable[[Sequence[StreamColumn]], Sequence[str]]:
    """The values of a sink that does not look at NOT NULL itself."""
    from bergsql.engine.sql.type_names import duckdb_name
    from bergsql.engine.table.copy_sql import refusing_nulls

    def made(columns: Sequence[StreamColumn]) -> list[str]:
        found: list[str] = []
        for sql, column in zip(_as_planned(items)(columns), sink.columns, strict=True):
            value = f"CAST({sql} AS {duckdb_name(column.type)})"
            if not column.nullable:
                value = refusing_nulls(value, [(f"({sql}) IS NULL", column.name)])
            found.append(value)
        return found

    return made
