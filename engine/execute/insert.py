"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, not_supported
from bergsql.engine.duck import duckdb
from bergsql.engine.execute.destination import Target, destination
from bergsql.engine.execute.failures import named, query_failed, with_column
from bergsql.engine.execute.fit_query import Assigned, assign_query
from bergsql.engine.execute.outcome import DONE, NOTHING, insert_outcome
from bergsql.engine.execute.run_again import run_again
from bergsql.engine.names import TableName, load
from bergsql.engine.plan.hints import write_properties
from bergsql.engine.plan.query import QueryPlan
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.append import Append
from bergsql.engine.table.commit import commit_snapshot
from bergsql.engine.table.overwrite import OverwriteAll, OverwritePartitions, OverwriteWhere
from bergsql.engine.table.producer import Producer
from bergsql.engine.table.writer import Written, write_rows

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.session import Session


class Prepared(NamedTuple):
    """An INSERT that is checked and planned."""

    statement: st.Insert
    target: Target
    assigned: Assigned
    hinted: Mapping[str, str]
    """Table properties that a hint says for this INSERT."""


def insert(session: Session, statement: st.Insert) -> Result:
    """Write the rows of a query to a table, in one commit."""
    first = prepare(session, statement)
    pending = [first]

    def once() -> list[str]:
        return run_prepared(session, pending.pop() if pending else prepare(session, statement))

    return Result(ResultKind.DML, messages=(DONE, *run_again(session, first.target.name, once)))


def prepare(session: Session, statement: st.Insert) -> Prepared:
    """Check and plan an INSERT; nothing is made or written yet."""
    target, hinted = _target(session, statement)
    return Prepared(statement, target, assign_query(session, statement, target.table, target.name), hinted)


def run_prepared(session: Session, prepared: Prepared) -> list[str]:
    """Write and commit; what was done, in one line."""
    statement, target, assigned, hinted = prepared
    name, table = target.name, target.table
    if is_declared(table):
        table = _make_declared(session, statement)
    written = write(session, assigned, table, name, hinted)
    producer = _producer(session, statement, assigned, written, table.metadata.schema)
    if producer is None:
        return [NOTHING]
    if target.summary:
        producer = replace(producer, properties={**producer.properties, **target.summary})
    committed = commit_snapshot(name.catalog, table, producer, name.catalog.storage(), to=target.to)
    return [insert_outcome(written, committed, target.place)]


def is_declared(table: LoadedTable) -> bool:
    """Whether a table is one that a pointer declares and nobody has made yet."""
    return not table.metadata_location


def _make_declared(session: Session, statement: st.Insert) -> LoadedTable:
    """Make the table, and its database, that the target of an INSERT stands for."""
    from bergsql.engine.definitions import pointer_named
    from bergsql.engine.execute.create_table import make_pointed

    pointer = pointer_named(session, statement.target.parts, statement.target.span)
    if pointer is None:
        return load(session, statement.target)[1]
    return make_pointed(session, pointer)


def _target(session: Session, statement: st.Insert) -> tuple[Target, Mapping[str, str]]:
    """What is written to, and the properties that a hint gives it for this statement.

    Refused where a hint or the table asks for more than rows that are added: that would be wrong, and nobody would
    notice.
    """
    target = destination(session, statement.target, declared=True)
    metadata = target.table.metadata
    hinted = write_properties(statement.hints, metadata, SessionRelations(session))
    if session.flavour is Flavour.FLINK and metadata.properties.get("write.upsert.enabled", "").casefold() == "true":
        raise not_supported("INSERT into a table with 'write.upsert.enabled'", statement.target.span)
    return target, hinted


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
    try:
        return write_rows(
            session.duck,
            assigned.sql,
            assigned.plan.variables,
            metadata=table.metadata,
            storage=name.catalog.storage(),
            properties=properties,
        )
    except duckdb.Error as error:
        raise with_column(query_failed(session.duck, error, assigned.plan), assigned.narrowed) from error
    except BergError as error:
        query = assigned.plan.query
        raise named(error, assigned.plan.scans).at(query.span if query is not None else None) from None


def _producer(
    session: Session, statement: st.Insert, assigned: Assigned, written: Written, schema: Schema
) -> Producer | None:
    """The change that the commit makes; None when there is nothing to commit."""
    if not statement.overwrite:
        # Spark records an INSERT of no rows as a snapshot, Flink does not.
        return Append(written.files) if written.files or session.flavour is Flavour.SPARK else None
    spark = session.flavour is Flavour.SPARK
    static = spark and session.setting("spark.sql.sources.partitionOverwriteMode") == "static"
    if static:
        if assigned.static:
            by_id = {f.field_id: assigned.static[f.name] for f in schema.fields if f.name in assigned.static}
            return OverwriteWhere(written.files, values=by_id)
        return OverwriteAll(written.files)
    if not written.files:
        return None
    return OverwritePartitions(written.files)


def planned_insert(session: Session, statement: st.Insert) -> tuple[QueryPlan, str]:
    """The plan of an INSERT's query, and what it would do to which table."""
    target, _ = _target(session, statement)
    assigned = assign_query(session, statement, target.table, target.name)
    return assigned.plan, f"{'Overwrite' if statement.overwrite else 'Append'} {target.name}{target.place}"
