"""INSERT into a table of a connector, as a batch: all rows in one checkpoint of its sink."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.partition import PartitionBy, build_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.transforms import Transform, TransformKind
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.connectors.registry import sink_of
from bergsql.engine.definitions import find
from bergsql.engine.duck import set_variables
from bergsql.engine.execute.destination import Target
from bergsql.engine.execute.outcome import NOTHING, counted
from bergsql.engine.names import table_name
from bergsql.engine.plan.hints import check_enabled
from bergsql.engine.relations import SessionRelations
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.type_names import duckdb_name, to_iceberg
from bergsql.engine.streaming.changelog import Batch, ChangelogMode
from bergsql.engine.table.copy_sql import refusing_nulls

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.engine.connectors.base import LocalSink
    from bergsql.engine.definitions import Found
    from bergsql.engine.duck import Duck
    from bergsql.engine.execute.fit_query import Assigned
    from bergsql.engine.session import Session


def connector_target(session: Session, statement: st.Insert) -> Found | None:
    """The connector table that an INSERT names; None where it names something else."""
    found = find(session, statement.target.parts, statement.target.span)
    return found if found is not None and isinstance(found.definition, st.CreateTable) else None


def sink_target(session: Session, statement: st.Insert, found: Found) -> tuple[Target, LocalSink]:
    """The table that is written, as a query is made to fit it, and its sink.

    :raises BergError: where it cannot be written, or not so.
    """
    span = statement.target.span
    definition = found.definition
    assert isinstance(definition, st.CreateTable)
    check_enabled(statement.hints, SessionRelations(session))
    sink = sink_of(definition, found.parts, statement.hints, span)
    sink.check(ChangelogMode.INSERT_ONLY, None)
    ids = count(1)
    fields = []
    for column in sink.columns:
        try:
            field_id = next(ids)
            type_ = to_iceberg(column.type, ids, _VERSION)
        except BergError as error:
            raise error.at(span) from None
        fields.append(NestedField(field_id, column.name, type_, required=not column.nullable))
    schema = Schema(0, tuple(fields))
    by = [PartitionBy(p.transform.column, Transform(TransformKind.IDENTITY)) for p in definition.partitioning]
    metadata = new_table_metadata(schema, build_spec(schema, by, case_sensitive=True), UNSORTED, "", {}, _VERSION)
    name = table_name(session, found.parts, span)
    return Target(name, LoadedTable(name.ident, metadata, "", name.catalog.name)), sink


_VERSION = 3
"""Of the table format: the one with most types."""


def overwriting(sink: LocalSink, assigned: Assigned, statement: st.Insert) -> LocalSink:
    """The sink of an INSERT OVERWRITE."""
    static = {k: None if v is None else str(v) for k, v in assigned.static.items()}
    try:
        return sink.overwriting(static)
    except BergError as error:
        raise error.at(statement.target.span) from None


def write_to_sink(session: Session, sink: LocalSink, assigned: Assigned) -> str:
    """Write the rows and make them visible; what was done, in one line."""
    cursor = session.duck.cursor()
    context = _Context(session, cursor)
    try:
        set_variables(cursor, assigned.plan.variables)
        writer = sink.at_once().writer(context, 0)
        try:
            rows = writer.write(Batch(_batch_sql(sink, assigned.sql)))
            committable = writer.prepare(1)
            if committable is not None:
                writer.commit(1, committable)
        except BaseException:
            writer.discard()
            raise
        finally:
            writer.close()
    finally:
        session.duck.done(cursor)
        context.close()
    return f"{counted(rows, 'row')} written" if rows else NOTHING


def _batch_sql(sink: LocalSink, sql: str) -> str:
    """The rows as a batch of insertions, with NOT NULL checked."""
    given = ", ".join(f"c{i}" for i in range(len(sink.columns)))
    items = []
    for i, column in enumerate(sink.columns):
        value = f"CAST(c{i} AS {duckdb_name(column.type)})"
        if not column.nullable:
            value = refusing_nulls(value, [(f"c{i} IS NULL", column.name)])
        items.append(f"{value} AS c{i}")
    return f"(SELECT {', '.join(items)}, 0::TINYINT AS op FROM ({sql}) AS q({given}))"


class _Context:
    """A batch as the context of its sink."""

    sink_id = "sink-1"

    def __init__(self, session: Session, cursor: duckdb.DuckDBPyConnection) -> None:
        self._session, self._cursor = session, cursor
        self.job_id = uuid4().hex
        self._relations = count()
        self._directory: TemporaryDirectory[str] | None = None

    @property
    def directory(self) -> Path:
        if self._directory is None:
            self._directory = TemporaryDirectory(prefix="bergsql-")
        return Path(self._directory.name)

    def close(self) -> None:
        if self._directory is not None:
            self._directory.cleanup()

    @property
    def duck(self) -> Duck:
        return self._session.duck

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._cursor

    @property
    def time_zone(self) -> str:
        return self._session.time_zone

    def setting(self, key: str) -> str | None:
        return self._session.setting(key)

    def relation(self, rows: pa.Table) -> str:
        import duckdb as _package  # noqa: F401 - without the whole package, its core does not know Arrow

        name = f"written{next(self._relations)}"
        self._cursor.register(name, rows)
        return name

    def note(self, message: str) -> None:
        self._session.notes.append(message)
