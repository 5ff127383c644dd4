"""CREATE TABLE … AS and REPLACE TABLE … AS: a table and its rows appear in one commit, or with a job of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.execute.create_table import default, with_options
from bergsql.engine.execute.destination import Target, audited
from bergsql.engine.execute.fit_query import fit
from bergsql.engine.execute.given_columns import given_columns
from bergsql.engine.execute.insert import insert, write, write_latest
from bergsql.engine.execute.outcome import DONE, insert_outcome
from bergsql.engine.execute.table_definition import Definition, declared_schema, declared_spec, queried_schema, storable
from bergsql.engine.execute.upsert import UpsertKey, is_enabled
from bergsql.engine.plan.query import PlannedColumn, plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.equality_delete_writing import key_of
from bergsql.engine.table.replace import create_filled, replace_filled, replaced_metadata
from bergsql.engine.table.writer import Written

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.names import TableName
    from bergsql.engine.session import Session


def make_from_query(
    session: Session,
    statement: st.CreateTable,
    query: st.Query,
    name: TableName,
    base: LoadedTable | None,
    properties: dict[str, str],
    version: int,
) -> Result:
    """Make the table, or make it anew (``base``: as it is), filled with the rows of ``query``."""
    from bergsql.engine.streaming.planner import is_unbounded

    relations = SessionRelations(session)
    if is_unbounded(query, relations):
        if base is not None:
            hint = "INSERT INTO adds the rows as they come; DROP TABLE makes way for CREATE TABLE."
            raise not_supported("REPLACE TABLE … AS a stream", statement.name.span, hint)
        columns = given_columns(query, relations)
        return _make_and_start(session, statement, name, _definition(session, statement, columns, properties, version))
    plan = plan_query(query, relations)
    definition = _definition(session, statement, plan.columns, properties, version)
    catalog, storage = name.catalog, name.catalog.storage()
    if base is None:
        metadata = definition.new_metadata(catalog.default_table_location(name.ident))
    else:
        metadata = replaced_metadata(base, definition.replacement)
    staged = LoadedTable(name.ident, metadata, "", catalog.name)
    target = audited(session, Target(name, staged), statement.name.span)
    by_name = {f.name: f for f in metadata.schema.fields}
    targets = [by_name[c.name] for c in plan.columns]
    assigned = fit(session, plan, metadata.schema, targets, query, {})
    if metadata.schema.identifier_field_ids and is_enabled(metadata.properties, session.flavour):
        # As by CREATE TABLE and INSERT: of rows with one key the last one stays. There is nothing to be deleted.
        latest = write_latest(session, assigned, staged, name, UpsertKey(key_of(metadata.schema), ()))
        written = Written(latest.files, latest.rows)
    else:
        written = write(session, assigned, staged, name)
    if base is None:
        committed = create_filled(
            catalog, name.ident, metadata, written.files, storage, to=target.to, properties=target.summary
        )
    else:
        committed = replace_filled(
            catalog, base, definition.replacement, written.files, storage, to=target.to, properties=target.summary
        )
    return Result(ResultKind.DML, messages=(DONE, insert_outcome(written, committed, target.place)))


def _definition(
    session: Session,
    statement: st.CreateTable,
    columns: Sequence[PlannedColumn],
    properties: dict[str, str],
    version: int,
) -> Definition:
    assert statement.query is not None
    schema = _schema(session, statement, statement.query, columns, version)
    spec = declared_spec(schema, statement.partitioning, statement.flavour)
    return with_options(statement, Definition(schema, spec, properties, statement.location, version))


def _make_and_start(session: Session, statement: st.CreateTable, name: TableName, definition: Definition) -> Result:
    """Make the table without rows, and start the job that writes them: without the job there is no table.

    Unless somebody has written to it meanwhile, whose rows would go with it.
    """
    catalog, ident = name.catalog, name.ident
    made = catalog.create_table(ident, definition.new_metadata(catalog.default_table_location(ident)))
    try:
        return insert(session, insert_of(statement))
    except BaseException:
        if catalog.load_table(ident).metadata_location == made.metadata_location:
            catalog.drop_table(ident, purge=True)
        raise


def insert_of(statement: st.CreateTable) -> st.Insert:
    """The INSERT that fills a table AS a query, when there is the table."""
    assert statement.query is not None
    return st.Insert(statement.name, statement.query, by_name=True)


def _schema(
    session: Session, statement: st.CreateTable, query: st.Query, columns: Sequence[PlannedColumn], version: int
) -> Schema:
    """The schema of the query's columns and of what is declared beside them.

    As Flink has it: a declared column that the query gives too takes the declared type; others come first, and are
    NULL; names alone say the order of the query's columns. Spark takes no declared columns here.
    """
    schema = queried_schema(columns, version, query.span)
    if not (statement.columns or statement.order or statement.primary_key or statement.watermark):
        return schema
    if session.flavour is Flavour.SPARK and (statement.columns or statement.order):
        raise BergError(
            ErrorCode.INVALID,
            "A table AS a query takes the query's columns: none can be declared.",
            span=statement.columns[0].span if statement.columns else statement.order[0][1],
            hint="CAST and AS in the query give its columns other types and names.",
        )
    given = {c.name: c for c in columns}
    declared = {c.name: c for c in statement.columns}
    for column in statement.columns:
        if column.name not in given and not column.nullable and column.default is None:
            raise BergError(
                ErrorCode.INVALID,
                f"Column '{column.name}' is NOT NULL, and the query has no value for it.",
                span=column.span,
                hint=did_you_mean(column.name, given),
            )
    made = [
        declared.get(c.name) or st.ColumnDef(c.name, storable(c.type), query.span)
        for c in _ordered(statement, query, columns)
    ]
    extra = [c for c in statement.columns if c.name not in given]
    return declared_schema(replace(statement, columns=(*extra, *made)), version, partial(default, session, version))


def _ordered(statement: st.CreateTable, query: st.Query, columns: Sequence[PlannedColumn]) -> list[PlannedColumn]:
    """The query's columns in the order of ``(b, a) AS SELECT …``."""
    if not statement.order:
        return list(columns)
    given = {c.name: c for c in columns}
    seen: set[str] = set()
    for name, span in statement.order:
        if name not in given:
            hint = did_you_mean(name, given)
            raise BergError(ErrorCode.NOT_FOUND, f"The query has no column '{name}'.", span=span, hint=hint)
        if name in seen:
            raise BergError(ErrorCode.INVALID, f"The column '{name}' is named twice.", span=span)
        seen.add(name)
    missing = [c.name for c in columns if c.name not in seen]
    if missing:
        raise BergError(
            ErrorCode.ARITY,
            f"The query's column '{missing[0]}' is not among those that are named.",
            span=query.span,
            hint="Names without types say the order of all of the query's columns.",
        )
    return [given[name] for name, _ in statement.order]
