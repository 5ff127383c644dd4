"""CREATE TABLE, REPLACE TABLE and CREATE OR REPLACE TABLE, with or without a query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.engine.execute.table_definition import build_schema, build_spec, schema_of_columns
from bergsql.engine.names import TableName, load, named_table, require_database
from bergsql.engine.result import Result, ResultKind, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.execute.insert import Assigned
    from bergsql.engine.session import Session


@dataclass(frozen=True, slots=True)
class Definition:
    """What a CREATE TABLE says of the table that it makes."""

    schema: Schema
    spec: PartitionSpec
    properties: dict[str, str]
    location: str | None
    format_version: int


def create(session: Session, statement: st.CreateTable) -> Result:
    """Make, or make anew, a table."""
    _refuse_unsupported(statement)
    name = named_table(session, statement.name)
    span = statement.name.span
    if session.flavour is Flavour.FLINK and statement.flavour is Flavour.FLINK:
        require_database(name.catalog, name.ident.namespace, span)
    exists = name.catalog.table_exists(name.ident)
    if statement.mode == "create" and exists:
        if statement.if_not_exists:
            return ok()
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"Table {name} already exists.",
            span=span,
            hint="CREATE TABLE IF NOT EXISTS … leaves it as it is, CREATE OR REPLACE TABLE … replaces it.",
        )
    if statement.mode == "replace" and not exists:
        name.catalog.load_table(name.ident)
    try:
        return _create(session, statement, name, exists)
    except BergError as error:
        raise error.at(span) from None


def _create(session: Session, statement: st.CreateTable, name: TableName, exists: bool) -> Result:
    connector = next((o for o in statement.properties if o.key == "connector"), None)
    if connector is not None:
        return _keep_definition(statement, name, connector, exists)
    assigned = _planned(session, statement)
    definition = _definition(session, statement, assigned)
    base = name.catalog.load_table(name.ident) if exists else None
    return make_table(session, name, definition, base, assigned)


def make_table(
    session: Session, name: TableName, definition: Definition, base: LoadedTable | None, assigned: Assigned | None
) -> Result:
    """Create the table, or replace ``base``, in one commit together with the rows of ``assigned``."""
    from bergsql.engine.table.replace import replacement

    catalog = name.catalog
    metadata = _metadata(name, definition) if base is None else replacement(base.metadata, *_parts(definition))
    if assigned is None:
        if base is None:
            catalog.create_table(name.ident, metadata)
        else:
            _commit_replacement(session, name, base, metadata, ())
        return ok()
    from bergsql.engine.execute.insert import DONE, outcome, write

    staged = LoadedTable(name.ident, metadata, "", catalog.name)
    written = write(session, assigned, staged, name)
    committed = _commit_with_rows(session, name, base, staged, written)
    return Result(ResultKind.DML, messages=(DONE, *outcome(written, committed)))
