"""CREATE TABLE, REPLACE TABLE and CREATE OR REPLACE TABLE, with or without a query."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, Span, not_supported
from bergsql.catalog.metadata.new_table import DEFAULT_FORMAT_VERSION, FORMAT_VERSION
from bergsql.catalog.metadata.partition import PartitionSpec
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.table_definition import (
    Definition,
    check_connector_columns,
    declared_schema,
    declared_spec,
    format_version_of,
    queried_schema,
)
from bergsql.engine.names import TableName, load, named_table, require_database, table_name
from bergsql.engine.plan.query import plan_query
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Result, ResultKind, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_updates
from bergsql.engine.table.replace import create_filled, replace_filled, replaced_metadata

if TYPE_CHECKING:
    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.session import Session


_SHOWN_BY_SPARK = ("current-snapshot-id", "format", "identifier-fields", "provider", "sort-order")
"""What Spark's SHOW CREATE TABLE writes among the properties, and its CREATE TABLE leaves out."""


def create(session: Session, statement: st.CreateTable) -> Result:
    """Make, or make anew, a table."""
    if statement.temporary:
        return _create_temporary(session, statement)
    name = named_table(session, statement.name)
    span = statement.name.span
    if statement.flavour is Flavour.FLINK:
        require_database(name.catalog, name.ident.namespace, span)
    while True:
        exists = name.catalog.table_exists(name.ident)
        try:
            return _create_at(session, statement, name, exists)
        except BergError as error:
            # Someone else may have made it meanwhile: then there is the table that there may be.
            unwanted = statement.mode == "create" and not statement.if_not_exists
            if exists or unwanted or error.code is not ErrorCode.ALREADY_EXISTS:
                raise
            if not name.catalog.table_exists(name.ident):
                raise


def _create_temporary(session: Session, statement: st.CreateTable) -> Result:
    """A temporary table is the definition of a connector table, over what has its name."""
    span = statement.name.span
    connector = next((o for o in statement.properties if o.key == "connector"), None)
    if connector is None:
        raise BergError(
            ErrorCode.INVALID,
            "A temporary table is that of a connector: an Iceberg table lasts.",
            span=span,
            hint="Name a connector in WITH ('connector'='…'), or CREATE TEMPORARY VIEW … AS SELECT … for a query.",
        )
    check_connector_columns(statement)
    if statement.query is not None:
        raise not_supported("CREATE TABLE … AS with a connector", connector.span)
    key = table_name(session, statement.name.parts, span).parts
    if key in session.temporaries:
        if statement.if_not_exists:
            return ok()
        if statement.mode == "create":
            raise BergError(
                ErrorCode.ALREADY_EXISTS,
                f"Temporary table {'.'.join(key)} already exists.",
                span=span,
                hint="CREATE TEMPORARY TABLE IF NOT EXISTS … leaves it as it is.",
            )
    session.temporaries[key] = statement
    return ok()


def _create_at(session: Session, statement: st.CreateTable, name: TableName, exists: bool) -> Result:
    span = statement.name.span
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
        load(session, statement.name)  # says that there is none, and what is near
    try:
        return _create(session, statement, name, exists)
    except BergError as error:
        raise error.at(span) from None


def _create(session: Session, statement: st.CreateTable, name: TableName, exists: bool) -> Result:
    connector = next((o for o in statement.properties if o.key == "connector"), None)
    if connector is not None:
        return _keep_definition(statement, name, connector)
    if statement.provider is not None and statement.provider.casefold() != "iceberg":
        raise not_supported(f"USING {statement.provider}", statement.name.span, "Tables are made USING iceberg.")
    properties, spans = options_of(statement.properties)
    if statement.flavour is Flavour.SPARK:
        properties = {k: v for k, v in properties.items() if k not in _SHOWN_BY_SPARK}
    base = name.catalog.load_table(name.ident) if exists else None
    default = base.metadata.format_version if base is not None else DEFAULT_FORMAT_VERSION
    version = format_version_of(properties, spans, default)
    if statement.query is None:
        return _make(name, _declared(session, statement, properties, spans, version), base)
    return _make_from_query(session, statement, statement.query, name, base, properties, version)


def _declared(
    session: Session, statement: st.CreateTable, properties: dict[str, str], spans: dict[str, Span], version: int
) -> Definition:
    """The definition that column list, LIKE and options give."""
    if statement.like is not None:
        return _like(session, statement, statement.like, properties, spans)
    if not statement.columns and not any(p.column for p in statement.partitioning):
        raise BergError(ErrorCode.INVALID, "The table has no columns.", hint="List them, or add AS SELECT … .")
    schema = declared_schema(statement, version, lambda column, type_: _default(session, column, type_, version))
    spec = declared_spec(schema, statement.partitioning, statement.flavour)
    return _with_options(statement, Definition(schema, spec, properties, statement.location, version))


def _default(session: Session, column: st.ColumnDef, type_: IcebergType, format_version: int) -> object:
    from bergsql.engine.execute.defaults import default_of

    assert column.default is not None
    return default_of(session, column.default, type_, format_version, column.name)


def _with_options(statement: st.CreateTable, definition: Definition) -> Definition:
    """The definition without those options that are not table properties, and with the comment, which is one."""
    properties = dict(definition.properties)
    properties.pop(FORMAT_VERSION, None)
    location = properties.pop("location", None) if statement.location is None else statement.location
    if statement.comment is not None:
        properties["comment"] = statement.comment
    return replace(definition, properties=properties, location=location)


def _like(
    session: Session, statement: st.CreateTable, like: st.Like, properties: dict[str, str], spans: dict[str, Span]
) -> Definition:
    """``LIKE source``: its columns, comments, partitioning and properties; own options go before."""
    if like.options:
        raise not_supported("LIKE with INCLUDING or EXCLUDING", like.source.span)
    if statement.columns or statement.partitioning:
        raise not_supported("LIKE with columns of its own", like.source.span)
    _, source = load(session, like.source)
    metadata = source.metadata
    version = format_version_of(properties, spans, metadata.format_version)
    inherited = {**metadata.properties, **properties}
    spec = PartitionSpec(0, metadata.spec.fields)
    return _with_options(statement, Definition(metadata.schema, spec, inherited, statement.location, version))


def _make(name: TableName, definition: Definition, base: LoadedTable | None) -> Result:
    """Create or replace a table without rows."""
    if base is None:
        location = name.catalog.default_table_location(name.ident)
        name.catalog.create_table(name.ident, definition.new_metadata(location))
    else:
        commit_updates(name.catalog, base, definition.replacement)
    return ok()


def _make_from_query(
    session: Session,
    statement: st.CreateTable,
    query: st.Query,
    name: TableName,
    base: LoadedTable | None,
    properties: dict[str, str],
    version: int,
) -> Result:
    """CTAS and RTAS: the table and its rows appear in one commit."""
    from bergsql.engine.execute.insert import DONE, outcome, stored, write

    if statement.columns or statement.primary_key or statement.like:
        raise not_supported("CREATE TABLE with both columns and a query", query.span)
    plan = plan_query(query, SessionRelations(session))
    schema = queried_schema(plan.columns, version, query.span)
    spec = declared_spec(schema, statement.partitioning, statement.flavour)
    definition = _with_options(statement, Definition(schema, spec, properties, statement.location, version))
    catalog, storage = name.catalog, name.catalog.storage()
    if base is None:
        metadata = definition.new_metadata(catalog.default_table_location(name.ident))
    else:
        metadata = replaced_metadata(base, definition.replacement)
    staged = LoadedTable(name.ident, metadata, "", catalog.name)
    written = write(session, stored(session, plan, metadata.schema), staged, name)
    if base is None:
        committed = create_filled(catalog, name.ident, metadata, written.files, storage)
    else:
        committed = replace_filled(catalog, base, definition.replacement, written.files, storage)
    return Result(ResultKind.DML, messages=(DONE, *outcome(written, committed)))


_FOR_THE_SESSION = (
    "The definition of a table with a connector lasts as long as the session; an init file (-i) makes it anew."
)


def _keep_definition(statement: st.CreateTable, name: TableName, connector: st.Option) -> Result:
    """A connector table is only its definition, kept for the session in ``default_catalog``."""
    from bergsql.catalog.definitions import DefinitionCatalog

    check_connector_columns(statement)
    if not isinstance(name.catalog, DefinitionCatalog):
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {name.catalog.name} holds Iceberg tables: a table there has no 'connector'.",
            span=connector.span,
            hint="Leave 'connector' out, or create the table in default_catalog.",
        )
    if statement.query is not None:
        raise not_supported("CREATE TABLE … AS with a connector", connector.span)
    name.catalog.put_definition(name.ident, statement)
    return ok(_FOR_THE_SESSION)
