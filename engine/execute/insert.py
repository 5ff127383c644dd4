"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.destination import Target, destination
from bergsql.engine.execute.failures import named, query_failed, with_column
from bergsql.engine.execute.fit_query import Assigned, assign_query
from bergsql.engine.execute.outcome import DONE, NOTHING, insert_outcome, upsert_outcome
from bergsql.engine.execute.run_again import run_again
from bergsql.engine.execute.upsert import UpsertKey, is_enabled, upsert_into
from bergsql.engine.names import TableName, load
from bergsql.engine.plan.hints import UPSERT_OPTION, InsertHints, insert_hints
from bergsql.engine.plan.query import QueryPlan
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.overwrite import OverwriteAll, OverwritePartitions, OverwriteWhere
from bergsql.engine.table.producer import Producer
from bergsql.engine.table.properties import PropertyError
from bergsql.engine.table.writer import Written, write_rows

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.connectors.base import LocalSink
    from bergsql.engine.session import Session
    from bergsql.engine.table.upsert import Upserted


class Prepared(NamedTuple):
    """An INSERT that is checked and planned."""

    statement: st.Insert
    target: Target
    assigned: Assigned
    hints: InsertHints
    upsert: UpsertKey | None
    """What the rows take the place of, if they do not only come."""
    sink: LocalSink | None = None
    """Of a connector table: what is written to."""


def insert(session: Session, statement: st.Insert) -> Result:
    """Write the rows of a query to a table, in one commit; of a query that has no end, by a job."""
    from bergsql.engine.execute.submit_job import started

    job = started(session, [statement])
    if job is not None:
        return job
    if session.setting("execution.state-recovery.path"):
        session.notes.append(
            "This INSERT is a batch, which goes on from no savepoint: it writes all rows of its query."
        )
    first = prepare(session, statement)
    pending = [first]

    def once() -> list[str]:
        return run_prepared(session, pending.pop() if pending else prepare(session, statement))

    return Result(ResultKind.DML, messages=(DONE, *run_again(session, first.target.name, once)))


def prepare(session: Session, statement: st.Insert) -> Prepared:
    """Check and plan an INSERT; nothing is made or written yet."""
    from bergsql.engine.execute.connector_insert import connector_target, overwriting, sink_target

    found = connector_target(session, statement)
    if found is not None:
        target, sink = sink_target(session, statement, found)
        assigned = assign_query(session, statement, target.table, target.name)
        sink = overwriting(sink, assigned, statement) if statement.overwrite else sink
        return Prepared(statement, target, assigned, InsertHints({}), None, sink)
    target, hints, upsert = _target(session, statement)
    assigned = assign_query(session, statement, target.table, target.name)
    return Prepared(statement, target, assigned, hints, upsert)


def run_prepared(session: Session, prepared: Prepared) -> list[str]:
    """Write and commit; what was done, in one line."""
    statement, target, assigned, hints, upsert, sink = prepared
    if sink is not None:
        from bergsql.engine.execute.connector_insert import write_to_sink

        with _told(session, assigned):
            return [write_to_sink(session, sink, assigned)]
    if is_declared(target.table):
        target = target._replace(table=make_declared(session, statement))
        upsert = upsert and upsert_into(target, statement.target.span)
    name, table = target.name, target.table
    if upsert is not None:
        return [_upsert(session, target, assigned, hints, upsert)]
    written = write(session, assigned, table, name, hints.properties)
    producer = _producer(session, prepared, written, table.metadata.schema)
    if producer is None:
        return [NOTHING]
    if target.summary:
        producer = replace(producer, properties={**producer.properties, **target.summary})
    committed = commit_snapshot(name.catalog, table, producer, name.catalog.storage(), to=target.to)
    return [insert_outcome(written, committed, target.place)]


def _upsert(session: Session, target: Target, assigned: Assigned, hints: InsertHints, key: UpsertKey) -> str:
    """Write the rows, and the deletes of their keys, and commit them."""
    from bergsql.engine.table.upsert import Upsert

    name, table = target.name, target.table
    storage = name.catalog.storage()
    written = write_latest(session, assigned, table, name, key, hints.properties)
    if not written.rows:
        return NOTHING
    producer = Upsert(written.files, deletes=written.deletes, properties=target.summary)
    committed = commit_snapshot(name.catalog, table, producer, storage, to=target.to)
    return upsert_outcome(written, str(key), committed, target.place)


def is_declared(table: LoadedTable) -> bool:
    """Whether a table is one that a pointer declares and nobody has made yet."""
    return not table.metadata_location


def make_declared(session: Session, statement: st.Insert) -> LoadedTable:
    """Make the table, and its database, that the target of an INSERT stands for."""
    from bergsql.engine.definitions import pointer_named
    from bergsql.engine.execute.create_table import make_pointed

    pointer = pointer_named(session, statement.target.parts, statement.target.span)
    if pointer is None:
        return load(session, statement.target)[1]
    return make_pointed(session, pointer)


def _target(session: Session, statement: st.Insert) -> tuple[Target, InsertHints, UpsertKey | None]:
    """What is written to, what a hint says of that, and the key if rows are upserted."""
    span = statement.target.span
    target = destination(session, statement.target, declared=True)
    metadata = target.table.metadata
    hints = insert_hints(statement.hints, metadata, SessionRelations(session))
    if hints.overwrites is False and statement.overwrite and hints.overwrite is not None:
        message = "'overwrite-enabled' = 'false' and INSERT OVERWRITE contradict each other."
        raise BergError(ErrorCode.INVALID, message, span=hints.overwrite.span, hint="INSERT INTO adds rows.")
    if not (is_enabled(metadata.properties, session.flavour) if hints.upserts is None else hints.upserts):
        return target, hints, None
    if statement.overwrite or hints.overwrites:
        raise BergError(
            ErrorCode.INVALID,
            "Rows that are upserted take the place of those with their keys: they cannot overwrite too.",
            span=span,
            hint=f"INSERT INTO, or /*+ OPTIONS('{UPSERT_OPTION}'='false') */ behind the table to overwrite.",
        )
    return target, hints, upsert_into(target, span)


def write(
    session: Session,
    assigned: Assigned,
    table: LoadedTable,
    name: TableName,
    properties: Mapping[str, str] | None = None,
) -> Written:
    """Write the rows of ``assigned`` as data files of ``table``, which no snapshot holds yet.

    ``properties`` go before the table's own.
    """
    name.catalog.check_writable(table)
    with _told(session, assigned):
        return write_rows(
            session.duck,
            assigned.sql,
            assigned.plan.variables,
            metadata=table.metadata,
            storage=name.catalog.storage(),
            properties=properties,
        )


def write_latest(
    session: Session,
    assigned: Assigned,
    table: LoadedTable,
    name: TableName,
    key: UpsertKey,
    properties: Mapping[str, str] | None = None,
) -> Upserted:
    """As :func:`write`, the last row of each key, and delete files of the keys for what is there."""
    from bergsql.engine.table.upsert import write_upserts

    name.catalog.check_writable(table)
    with _told(session, assigned):
        return write_upserts(
            session.duck,
            assigned.sql,
            assigned.plan.variables,
            key=key.fields,
            specs=key.specs,
            metadata=table.metadata,
            storage=name.catalog.storage(),
            properties=properties,
        )


@contextmanager
def _told(session: Session, assigned: Assigned) -> Iterator[None]:
    """What fails while the rows of a query are written, as it is to be told."""
    try:
        yield
    except duckdb.Error as error:
        raise with_column(query_failed(session.duck, error, assigned.plan), assigned.narrowed) from error
    except PropertyError:
        raise  # it is about the table, not about the query
    except BergError as error:
        query = assigned.plan.query
        raise named(error, assigned.plan.scans).at(query.span if query is not None else None) from None


def _producer(session: Session, prepared: Prepared, written: Written, schema: Schema) -> Producer | None:
    """The change that the commit makes; None when there is nothing to commit."""
    dynamic = bool(prepared.hints.overwrites)
    if not prepared.statement.overwrite and not dynamic:
        # Spark records an INSERT of no rows as a snapshot, Flink does not.
        return Append(written.files) if written.files or session.flavour is Flavour.SPARK else None
    spark = session.flavour is Flavour.SPARK and not dynamic
    if spark and session.setting("spark.sql.sources.partitionOverwriteMode") == "static":
        given = prepared.assigned.static
        if given:
            by_id = {f.field_id: given[f.name] for f in schema.fields if f.name in given}
            return OverwriteWhere(written.files, values=by_id)
        return OverwriteAll(written.files)
    if not written.files:
        return None
    return OverwritePartitions(written.files)


def planned_insert(session: Session, statement: st.Insert) -> tuple[QueryPlan, str, list[str]]:
    """The plan of an INSERT's query; what it would do to which table; and lines that tell what it replaces."""
    prepared = prepare(session, statement)
    target, upsert = prepared.target, prepared.upsert
    if prepared.sink is not None:
        does = "Overwrite" if statement.overwrite else "Write to"
        return prepared.assigned.plan, f"{does} {prepared.sink.explain()}", []
    overwrites = statement.overwrite or bool(prepared.hints.overwrites)
    does = "Overwrite" if overwrites else "Append" if upsert is None else "Upsert"
    by = "" if upsert is None else f" by key ({upsert})"
    title = f"{does} {target.name}{by}{target.place}"
    if not overwrites:
        return prepared.assigned.plan, title, []
    from bergsql.engine.execute.explain_changes import replaced

    producer = _producer(session, prepared, Written((), 0), target.table.metadata.schema)
    return prepared.assigned.plan, title, replaced(target, producer)
