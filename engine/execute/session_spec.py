"""A session as a document, from which another process makes it again: settings, catalogs, and what it defined.

Catalogs are kept as the options that made them, ``${env:NAME}`` among these unresolved; definitions as text. The
document holds secrets in the clear: :mod:`bergsql.engine.streaming.jobs.hidden` takes them out before it is written.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bergsql.catalog.base import TableIdent
from bergsql.catalog.definitions import DefinitionCatalog
from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.store import Definition as CatalogDefinition
from bergsql.engine.definitions import Found, Key, Pointer, View
from bergsql.engine.session import Session, SessionConfig
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.user_functions import PythonFunction, SqlFunction

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from bergsql.engine.streaming.sources.base import Json

_NOWHERE = Span(0, 0)


def session_spec(session: Session) -> dict[str, Json]:
    """All that :func:`session_from` needs.

    :raises BergError: INVALID for a definition that text cannot hold.
    """
    config = session.config
    return {
        "home": str(config.home),
        "directory": str(Path.cwd()),
        "warehouse": config.warehouse,
        "safe": config.safe,
        "flavour": session.flavour.value,
        "time_zone": session.time_zone,
        "settings": dict(session.settings.items()),
        "variables": dict(session.variables),
        "modules": dict(session.modules),
        "catalogs": {
            name: {"options": dict(made.options), "comment": made.comment, "origin": made.origin}
            for name, made in session.made_catalogs().items()
        },
        "catalog": session.current_catalog,
        "namespace": list(session.namespace),
        "databases": list(_databases(session)),
        "functions": [_function_spec(key, function) for key, function in session.functions.items()],
        "definitions": [definition_spec(*found) for found in _definitions(session)],
    }


def session_from(spec: Mapping[str, Any]) -> Session:
    """The session that a document tells of. The current directory must be its ``directory``.

    :raises BergError: what is wrong with it by now, as a catalog's options or a Python module that is gone.
    """
    settings = {**spec["settings"], "table.local-time-zone": spec["time_zone"]}
    session = Session(
        SessionConfig(
            home=Path(spec["home"]),
            flavour=Flavour(spec["flavour"]),
            warehouse=spec["warehouse"],
            variables=spec["variables"],
            conf=settings,
            catalogs={
                name: CatalogDefinition(made["options"], made["comment"], made["origin"])
                for name, made in spec["catalogs"].items()
            },
            safe=spec["safe"],
        )
    )
    session.modules = dict(spec["modules"])
    session.current_catalog, session.namespace = spec["catalog"], tuple(spec["namespace"])
    for each in spec["databases"]:
        catalog = session.catalog(each["catalog"])
        if not catalog.namespace_exists(tuple(each["namespace"])):
            catalog.create_namespace(tuple(each["namespace"]), each["properties"])
    for each in spec["functions"]:
        session.functions[tuple(each["key"])] = _function(session, each)
    for each in spec["definitions"]:
        _define(session, each)
    session.notes.clear()
    return session


# --- tables and views -------------------------------------------------------------------------------------------------


def _of_the_session(session: Session) -> Iterator[DefinitionCatalog]:
    for catalog in session.catalogs_in_use():
        if isinstance(catalog, DefinitionCatalog):
            yield catalog


def _databases(session: Session) -> Iterator[Json]:
    """The databases that are nowhere but in the session: those of catalogs in memory."""
    for catalog in _of_the_session(session):
        if catalog.type != "generic_in_memory":
            continue
        for namespace in catalog.list_namespaces():
            properties: dict[str, Json] = dict(catalog.namespace_properties(namespace))
            yield {"catalog": catalog.name, "namespace": list(namespace), "properties": properties}


def _definitions(session: Session) -> Iterator[tuple[Key, object, bool]]:
    for catalog in _of_the_session(session):
        for ident, definition in catalog.definitions().items():
            yield (catalog.name, *ident.namespace, ident.name), definition, False
    for key, definition in session.temporaries.items():
        yield key, definition, True


def definition_spec(parts: Key, definition: object, temporary: bool) -> dict[str, Json]:
    spec: dict[str, Json] = {"name": list(parts), "temporary": temporary}
    if isinstance(definition, View):
        return {**spec, "kind": "view", **_view_spec(definition)}
    if isinstance(definition, Pointer):
        if not any(o.key == "connector" for o in definition.statement.properties):
            return {**spec, "kind": "location", "location": definition.statement.location}
        definition = definition.statement
    if isinstance(definition, st.CreateTable):
        return {**spec, "kind": "table", "text": _table_text(parts, definition, temporary=temporary)}
    raise TypeError(definition)


def _view_spec(view: View) -> dict[str, Json]:
    return {
        "flavour": view.flavour.value,
        "query": view.query.text,
        "text": view.text,
        "selected": list(view.selected),
        "names": list(view.names),
        "comments": list(view.comments),
        "catalog": view.catalog,
        "namespace": list(view.namespace),
        "comment": view.comment,
        "properties": dict(view.properties),
    }


def _table_text(parts: Key, table: st.CreateTable, *, temporary: bool) -> str:
    """A statement that defines the table again, in the grammar of Flink.

    :raises BergError: INVALID where it would say something else, as with words of an expression that Flink reads
        otherwise.
    """
    from bergsql.engine.execute.connector_text import create_connector_text

    text = create_connector_text(Found(parts, table, temporary), table, secrets=True)
    try:
        same = _meaning(_parsed_table(text)) == _meaning(table)
    except BergError:
        same = False
    if not same:
        raise BergError(
            ErrorCode.INVALID,
            f"The table {'.'.join(parts)} cannot be handed over to a job: in the flavour flink its definition means "
            "something else.",
            hint="Define it with SET 'sql.dialect' = 'flink';",
        )
    return text


def _parsed_table(text: str) -> st.CreateTable:
    from bergsql.engine.sql.parser import parse

    statement = parse(text, Flavour.FLINK)
    if not isinstance(statement, st.CreateTable):
        raise BergError(ErrorCode.CORRUPT, "A definition of the job is no CREATE TABLE.")
    return statement


def _meaning(table: st.CreateTable) -> object:
    """What matters of a definition, without the places of its words."""
    keys = table.primary_key.columns if table.primary_key else ()
    return (
        [
            (
                *(c.name, c.type, c.nullable and c.name not in keys, c.comment, c.metadata, c.virtual),
                c.computed.ast if c.computed is not None else None,
            )
            for c in table.columns
        ],
        keys,
        (table.watermark.column, table.watermark.expression.ast) if table.watermark else None,
        [(p.transform.name, p.transform.column, p.transform.width) for p in table.partitioning],
        table.comment,
        sorted((o.key, o.value) for o in table.properties),
    )


def _define(session: Session, spec: Mapping[str, Any]) -> None:
    """Keep a table or view under its name, without asking whether it can be read."""
    parts: Key = tuple(spec["name"])
    definition = definition_from(session, parts, spec)
    if spec["temporary"]:
        session.temporaries[parts] = definition
        return
    catalog = session.catalog(parts[0])
    if not isinstance(catalog, DefinitionCatalog):
        raise BergError(ErrorCode.CORRUPT, f"Catalog {catalog.name} holds no definition of {'.'.join(parts)}.")
    catalog.hold_definition(TableIdent(parts[1:-1], parts[-1]), definition)


def definition_from(session: Session, parts: Key, spec: Mapping[str, Any]) -> object:
    from bergsql.engine.names import table_name

    if spec["kind"] == "view":
        return _view(spec)
    if spec["kind"] == "location":
        from bergsql.engine.pointers import location_pointer

        statement = st.CreateTable(
            st.Name(parts, _NOWHERE), Flavour.FLINK, location=spec["location"], external=True, provider="iceberg"
        )
        return location_pointer(statement, spec["location"], table_name(session, parts))
    from bergsql.engine.execute.create_table import kept_definition

    return kept_definition(session, _parsed_table(spec["text"]), table_name(session, parts))


def _view(spec: Mapping[str, Any]) -> View:
    from bergsql.engine.sql.parser import parse

    flavour = Flavour(spec["flavour"])
    statement = parse(spec["query"], flavour)
    if not isinstance(statement, st.Select):
        raise BergError(ErrorCode.CORRUPT, "A view of the job is no query.")
    return View(
        flavour=flavour,
        query=statement.query,
        text=spec["text"],
        selected=tuple(spec["selected"]),
        names=tuple(spec["names"]),
        comments=tuple(spec["comments"]),
        catalog=spec["catalog"],
        namespace=tuple(spec["namespace"]),
        comment=spec["comment"],
        properties=spec["properties"],
    )


# --- functions --------------------------------------------------------------------------------------------------------


def _function_spec(key: Key, function: object) -> dict[str, Json]:
    if isinstance(function, PythonFunction):
        return {
            "kind": "python",
            "key": list(key),
            "name": function.name,
            "place": function.place,
            "temporary": function.temporary,
        }
    if not isinstance(function, SqlFunction):
        raise TypeError(function)
    return {
        "kind": "sql",
        "key": list(key),
        "name": function.name,
        "text": _function_text(function),
        "flavour": function.flavour.value,
        "catalog": function.catalog,
        "namespace": list(function.namespace),
        "temporary": function.temporary,
    }


def _function_text(function: SqlFunction) -> str:
    """A statement that makes the function again, in its own flavour."""
    from bergsql.engine.sql.quoting import flink_identifier, flink_text, spark_identifier, spark_text
    from bergsql.engine.sql.type_names import flink_create_name, spark_create_name

    spark = function.flavour is Flavour.SPARK
    quote, text = (spark_identifier, spark_text) if spark else (flink_identifier, flink_text)
    type_name = spark_create_name if spark else flink_create_name
    statement = function.statement
    parameters = ", ".join(
        f"{quote(p.name)} {type_name(p.type)}" + (f" DEFAULT {p.default.text}" if p.default is not None else "")
        for p in statement.parameters
    )
    out = f"CREATE FUNCTION {quote(function.name)}({parameters})\n"
    out += f"RETURNS {type_name(statement.returns)}\n" if statement.returns is not None else ""
    out += f"COMMENT {text(statement.comment)}\n" if statement.comment else ""
    return f"{out}RETURN {statement.body.text if statement.body is not None else 'NULL'}"


def _function(session: Session, spec: Mapping[str, Any]) -> PythonFunction | SqlFunction:
    from bergsql.engine.sql.parser import parse
    from bergsql.engine.user_functions import python_function

    if spec["kind"] == "python":
        name = st.Name((spec["name"],), _NOWHERE)
        made = st.CreateFunction(name, place=spec["place"], language="PYTHON", temporary=spec["temporary"])
        return python_function(session, made, spec["name"])
    flavour = Flavour(spec["flavour"])
    statement = parse(spec["text"], flavour)
    if not isinstance(statement, st.CreateFunction):
        raise BergError(ErrorCode.CORRUPT, "A function of the job is no CREATE FUNCTION.")
    return SqlFunction(spec["name"], statement, flavour, spec["catalog"], tuple(spec["namespace"]), spec["temporary"])


def enter(spec: Mapping[str, Any]) -> None:
    """Go to the directory in which a session was: relative paths and Python modules are found from there.

    :raises BergError: IO where it is gone.
    """
    try:
        os.chdir(spec["directory"])
    except OSError as error:
        raise BergError(
            ErrorCode.IO, f"Cannot go to {spec['directory']}, where the job was started: {error.strerror}."
        ) from error
