"""CREATE TABLE, REPLACE TABLE and CREATE OR REPLACE TABLE, with or without a query."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.evolve import set_identifier_fields
from bergsql.catalog.metadata.new_table import DEFAULT_FORMAT_VERSION, FORMAT_VERSION
from bergsql.catalog.metadata.sort import SortOrder, build_order
from bergsql.engine.definitions import Pointer, View
from bergsql.engine.execute.options import options_of
from bergsql.engine.execute.table_definition import (
    IDENTIFIER_FIELDS,
    SORT_ORDER,
    Definition,
    check_connector_table,
    declared_schema,
    declared_spec,
    format_version_of,
    sort_by,
)
from bergsql.engine.execute.upsert import check_definition
from bergsql.engine.names import TableName, named_table, require_database, table_name
from bergsql.engine.result import Result, ok
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.table.commit import commit_updates
from bergsql.engine.table.properties import PropertyError, check_switches

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.session import Session


_SHOWN_BY_SPARK = ("current-snapshot-id", "format", "provider")
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
    defined = statement
    if statement.query is not None:
        from bergsql.engine.execute.connector_table_as import defined_by_query

        defined = defined_by_query(session, statement)
    else:
        check_connector_table(session, statement)
    name = table_name(session, statement.name.parts, span)
    key = name.parts
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
    before = session.temporaries.get(key)
    session.temporaries[key] = kept_definition(session, defined, name)
    if statement.query is None:
        return ok()
    from bergsql.engine.execute.connector_table_as import filled

    def undo() -> None:
        del session.temporaries[key]
        if before is not None:
            session.temporaries[key] = before

    return filled(session, statement, undo)


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
        try:
            name.catalog.load_table(name.ident)  # says that there is none, and what is near
        except BergError as error:
            raise error.at(span) from None
    try:
        return _create(session, statement, name, exists)
    except BergError as error:
        raise error.at(span) from None


def _create(session: Session, statement: st.CreateTable, name: TableName, exists: bool) -> Result:
    like = None
    if statement.like is not None:
        from bergsql.engine.execute.table_like import merged

        statement, like = merged(session, statement, statement.like)
    connector = next((o for o in statement.properties if o.key == "connector"), None)
    if connector is not None:
        return _keep_definition(session, statement, name, connector)
    if statement.provider is not None and statement.provider.casefold() != "iceberg":
        raise BergError(
            ErrorCode.INVALID,
            f"No table is made USING {statement.provider}: tables here are Iceberg's.",
            span=statement.name.span,
            hint="USING iceberg makes one; 'write.format.default' among its properties says the format of its files.",
        )
    properties, spans = options_of(statement.properties)
    if statement.flavour is Flavour.SPARK:
        properties = {k: v for k, v in properties.items() if k not in _SHOWN_BY_SPARK}
    base = name.catalog.load_table(name.ident) if exists else None
    default = base.metadata.format_version if base is not None else DEFAULT_FORMAT_VERSION
    version = format_version_of(properties, spans, default)
    if statement.query is None:
        if statement.external and statement.location is not None and not exists:
            return _point_to(session, statement, name, statement.location, properties, version)
        return _make(name, declared(session, statement, properties, version, like), base)
    from bergsql.engine.execute.create_table_as import make_from_query

    try:
        return make_from_query(session, statement, statement.query, name, base, properties, version)
    except PropertyError as error:
        raise error.at_options(spans) from None


def declared(
    session: Session, statement: st.CreateTable, properties: dict[str, str], version: int, like: Schema | None = None
) -> Definition:
    """The definition that column list and options give; ``like``: the schema that LIKE took columns from."""
    if not statement.columns and not any(p.column for p in statement.partitioning):
        raise BergError(ErrorCode.INVALID, "The table has no columns.", hint="List them, or add AS SELECT … .")
    schema = declared_schema(statement, version, partial(default, session, version), like)
    spec = declared_spec(schema, statement.partitioning, statement.flavour)
    return with_options(statement, Definition(schema, spec, properties, statement.location, version))


def default(session: Session, format_version: int, column: st.ColumnDef, type_: IcebergType) -> object:
    """The JSON of a column's DEFAULT."""
    from bergsql.engine.execute.defaults import default_of

    assert column.default is not None
    return default_of(session, column.default, type_, format_version, column.name)


def with_options(statement: st.CreateTable, definition: Definition) -> Definition:
    """The definition without those options that are not table properties, and with the comment, which is one."""
    properties = dict(definition.properties)
    properties.pop(FORMAT_VERSION, None)
    location = properties.pop("location", None) if statement.location is None else statement.location
    if SORT_ORDER in properties:
        definition = replace(definition, order=_listed_order(statement, definition.schema, properties.pop(SORT_ORDER)))
    if statement.flavour is Flavour.SPARK and IDENTIFIER_FIELDS in properties:
        schema = _listed_key(statement, definition.schema, properties.pop(IDENTIFIER_FIELDS))
        definition = replace(definition, schema=schema)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    try:
        check_switches(properties)
    except PropertyError as error:
        raise error.at_options(options_of(statement.properties)[1]) from None
    check_definition(definition.schema, definition.spec, properties, statement.name.span, statement.flavour)
    return replace(definition, properties=properties, location=location)


def _listed_order(statement: st.CreateTable, schema: Schema, text: str) -> SortOrder:
    """The order that SHOW CREATE TABLE lists among the properties, since CREATE TABLE has no clause for it."""
    from bergsql.engine.sql.parser.alter_layout import parse_order

    span = next((o.span for o in statement.properties if o.key == SORT_ORDER), None)
    try:
        keys = [sort_by(key) for key in parse_order(text)]
        return build_order(schema, keys, case_sensitive=statement.flavour is Flavour.FLINK)
    except BergError as error:
        error.span = span  # its own place is one in the option's value
        raise


def _listed_key(statement: st.CreateTable, schema: Schema, text: str) -> Schema:
    """The schema with the key that Spark's SHOW CREATE TABLE lists among the properties: ``[a,b]``."""
    span = next((o.span for o in statement.properties if o.key == IDENTIFIER_FIELDS), None)
    listed = re.fullmatch(r"\s*\[(.*)\]\s*", text)
    names = [tuple(n.strip().split(".")) for n in (listed[1] if listed else text).split(",") if n.strip()]
    try:
        return set_identifier_fields(schema, names, case_sensitive=False)
    except BergError as error:
        raise error.at(span) from None


def _make(name: TableName, definition: Definition, base: LoadedTable | None) -> Result:
    """Create or replace a table without rows."""
    if base is None:
        location = name.catalog.default_table_location(name.ident)
        name.catalog.create_table(name.ident, definition.new_metadata(location))
    else:
        commit_updates(name.catalog, base, definition.replacement)
    return ok()


_FOR_THE_SESSION = "The definition of a table {} lasts as long as the session; an init file (-i) makes it anew."


def _keep_definition(session: Session, statement: st.CreateTable, name: TableName, connector: st.Option) -> Result:
    """A connector table is only its definition, kept for the session in ``default_catalog``."""
    from bergsql.catalog.definitions import DefinitionCatalog

    if statement.query is None:
        check_connector_table(session, statement)
    if not isinstance(name.catalog, DefinitionCatalog):
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {name.catalog.name} holds Iceberg tables: a table there has no 'connector'.",
            span=connector.span,
            hint="Leave 'connector' out, or create the table in default_catalog.",
        )
    before = name.catalog.definition(name.ident)
    replaces = statement.mode != "create" and not isinstance(before, View)
    if statement.query is None:
        name.catalog.put_definition(name.ident, kept_definition(session, statement, name), replace=replaces)
        return ok() if name.catalog.keeper() is not None else ok(_FOR_THE_SESSION.format("with a connector"))
    from bergsql.engine.execute.connector_table_as import defined_by_query, filled

    catalog, ident = name.catalog, name.ident
    catalog.put_definition(ident, defined_by_query(session, statement), replace=replaces)

    def undo() -> None:
        if before is None:
            catalog.drop_definition(ident)
        else:
            catalog.put_definition(ident, before, replace=True)

    return filled(session, statement, undo)


def kept_definition(session: Session, statement: st.CreateTable, name: TableName) -> st.CreateTable | Pointer:
    """What is kept of a connector table: its statement; of connector 'iceberg' where the table is."""
    if not any(o.key == "connector" and o.value == "iceberg" for o in statement.properties):
        return statement
    from bergsql.engine.pointers import connector_pointer

    pointer = connector_pointer(session, statement, name)
    is_there = _check_pointed(pointer) is not None
    if not statement.columns:
        return pointer
    try:
        return replace(pointer, metadata=_pointed(session, pointer).new_metadata(""))
    except BergError:
        if not is_there:
            raise
        return pointer


def _check_pointed(pointer: Pointer) -> LoadedTable | None:
    """The table that a pointer leads to, if there is one: it must have the columns that are declared."""
    target, statement = pointer.target, pointer.statement
    if not target.catalog.table_exists(target.ident):
        return None
    table = target.catalog.load_table(target.ident)
    names = table.metadata.schema.names
    if statement.columns and [c.name for c in statement.columns] != list(names):
        raise BergError(
            ErrorCode.INVALID,
            f"The table that {target} would stand for has other columns than are declared.",
            span=statement.columns[0].span,
            hint=f"It has {', '.join(names)}.",
        )
    return table


def _pointed(session: Session, pointer: Pointer) -> Definition:
    """The table that a pointer declares."""
    from bergsql.engine.pointers import table_properties

    properties, spans = options_of(table_properties(pointer.statement))
    version = format_version_of(properties, spans, DEFAULT_FORMAT_VERSION)
    return replace(declared(session, pointer.statement, properties, version), location=None)


def make_pointed(session: Session, pointer: Pointer) -> LoadedTable:
    """Make the table that a pointer leads to, and its database, as the pointer declares it."""
    target = pointer.target
    namespace = target.ident.namespace
    if namespace and not target.catalog.namespace_exists(namespace):
        target.catalog.create_namespace(namespace)
    try:
        _make(target, _pointed(session, pointer), None)
    except BergError as error:
        if error.code is not ErrorCode.ALREADY_EXISTS:
            raise
    table = target.catalog.load_table(target.ident)
    if pointer.metadata is not None and table.metadata.schema != pointer.metadata.schema:
        raise BergError(ErrorCode.INVALID, f"The table {target} was made by someone else, with other columns.")
    return table


def _point_to(
    session: Session,
    statement: st.CreateTable,
    name: TableName,
    location: str,
    properties: dict[str, str],
    version: int,
) -> Result:
    """Hive's ``STORED BY … LOCATION``: the table in that directory, made there if it is not and columns are given."""
    from bergsql.catalog.definitions import DefinitionCatalog
    from bergsql.engine.pointers import location_pointer

    if not isinstance(name.catalog, DefinitionCatalog):
        raise BergError(
            ErrorCode.INVALID,
            f"Catalog {name.catalog.name} holds its tables in directories of its own, not at a LOCATION.",
            span=statement.name.span,
            hint="default_catalog can hold a name for a table elsewhere.",
        )
    pointer = location_pointer(statement, location, name)
    target = pointer.target
    kept = name.catalog.keeper() is not None
    messages = [] if kept else [_FOR_THE_SESSION.format("at a location of its own")]
    if _check_pointed(pointer) is not None:
        if properties:
            messages.insert(0, f"The table at {location} is there and keeps its own properties.")
    elif not statement.columns:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"There is no Iceberg table at {location}.",
            span=statement.name.span,
            hint="With columns in the statement one is made there.",
        )
    else:
        _make(target, replace(declared(session, statement, properties, version), location=None), None)
    name.catalog.put_definition(name.ident, pointer)
    return ok(*messages)
