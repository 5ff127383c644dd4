"""CREATE, ALTER, DROP, USE, DESCRIBE and SHOW of databases, which spark calls namespaces."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.secrets import mask_value
from bergsql.engine.execute.catalogs import use_catalog
from bergsql.engine.execute.like import like
from bergsql.engine.execute.options import at_option, option_text, options_of
from bergsql.engine.names import database_name, require_database
from bergsql.engine.result import Result, Row, listing, ok
from bergsql.engine.session import Session
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, flink_text, spark_identifier, spark_text


def create(session: Session, statement: st.CreateDatabase) -> Result:
    catalog, namespace = database_name(session, statement.name.parts, statement.name.span)
    if catalog.namespace_exists(namespace):
        if statement.if_not_exists:
            return ok()
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"Database {'.'.join(namespace)} already exists in catalog {catalog.name}.",
            span=statement.name.span,
            hint="CREATE DATABASE IF NOT EXISTS … leaves it as it is.",
        )
    properties, _ = options_of(statement.properties)
    if statement.comment is not None:
        properties["comment"] = statement.comment
    if statement.location is not None:
        properties["location"] = statement.location
    try:
        catalog.create_namespace(namespace, properties)
    except BergError as error:
        raise error.at(statement.name.span) from None
    return ok()


def drop(session: Session, statement: st.DropDatabase) -> Result:
    catalog, namespace = database_name(session, statement.name.parts, statement.name.span)
    if not catalog.namespace_exists(namespace) and statement.if_exists:
        return ok()
    require_database(catalog, namespace, statement.name.span)
    if session.flavour is Flavour.FLINK and (catalog.name, namespace) == (session.current_catalog, session.namespace):
        raise BergError(
            ErrorCode.INVALID,
            f"Database {'.'.join(namespace)} is the current one and cannot be dropped.",
            span=statement.name.span,
            hint="USE another database first.",
        )
    try:
        catalog.drop_namespace(namespace, statement.cascade)
    except BergError as error:
        raise error.at(statement.name.span) from None
    return ok()


def alter(session: Session, statement: st.AlterDatabase) -> Result:
    """``ALTER DATABASE d SET | UNSET | RESET``, ``COMMENT ON DATABASE d``."""
    span = statement.name.span
    catalog, namespace = database_name(session, statement.name.parts, span)
    if not catalog.namespace_exists(namespace) and statement.if_exists:
        return ok()
    require_database(catalog, namespace, span)
    changed, spans = options_of(statement.changed)
    try:
        if statement.needs_keys:
            held = catalog.namespace_properties(namespace)
            for key in statement.removed:
                if key not in held:
                    raise BergError(
                        ErrorCode.NOT_FOUND,
                        f"Database {'.'.join(namespace)} has no property '{key}'.",
                        span=span,
                        hint=did_you_mean(key, held) or "UNSET … IF EXISTS passes over it.",
                    )
        catalog.update_namespace_properties(namespace, changed, statement.removed)
    except BergError as error:
        raise at_option(error, spans, span) from None
    return ok()


def describe(session: Session, statement: st.DescribeDatabase) -> Result:
    """``DESCRIBE DATABASE [EXTENDED] d``, as Spark lays it out; with EXTENDED its properties too, secrets masked."""
    catalog, namespace = database_name(session, statement.name.parts, statement.name.span)
    require_database(catalog, namespace, statement.name.span)
    properties = catalog.namespace_properties(namespace)
    rows: list[Row] = [("Catalog Name", catalog.name), ("Namespace Name", ".".join(namespace))]
    for key in ("comment", "location", "owner"):
        value = properties.pop(key, None)
        if value:
            rows.append((key.capitalize(), mask_value(key, value)))
    if statement.extended:
        pairs = ", ".join(f"({k},{mask_value(k, v)})" for k, v in sorted(properties.items()))
        rows.append(("Properties", f"({pairs})" if pairs else ""))
    flink = session.flavour is Flavour.FLINK
    return listing(("info name", "info value") if flink else ("info_name", "info_value"), rows)


def show_create(session: Session, statement: st.ShowCreateDatabase) -> Result:
    """The statement that would make the database again, secrets masked."""
    catalog, namespace = database_name(session, statement.name.parts, statement.name.span)
    require_database(catalog, namespace, statement.name.span)
    properties = catalog.namespace_properties(namespace)
    spark = session.flavour is Flavour.SPARK
    name, text = (spark_identifier, spark_text) if spark else (flink_identifier, flink_text)
    lines = [f"CREATE {'NAMESPACE' if spark else 'DATABASE'} {'.'.join(map(name, (catalog.name, *namespace)))}"]
    comment = properties.pop("comment", None)
    properties.pop("location", None)  # it follows from the name
    if comment:
        lines.append(f"COMMENT {text(comment)}")
    if properties:
        lines.append(f"WITH {'DBPROPERTIES ' if spark else ''}(\n{option_text(properties, text)}\n)")
    return listing(("createtab_stmt" if spark else "result",), [("\n".join(lines) + "\n",)])


def use(session: Session, statement: st.UseDatabase) -> Result:
    """``USE x``: a database; in spark a catalog where no database has that name."""
    parts, span = statement.name.parts, statement.name.span
    spark = session.flavour is Flavour.SPARK
    if spark and statement.bare and len(parts) == 1 and session.has_catalog(parts[0]):
        current = session.catalog(session.current_catalog, span)
        if not current.namespace_exists(parts):
            use_catalog(session, session.catalog(parts[0], span).name)
            return ok()
    catalog, namespace = database_name(session, parts, span)
    require_database(catalog, namespace, span)
    session.current_catalog, session.namespace = catalog.name, namespace
    return ok()


def show(session: Session, statement: st.ShowDatabases) -> Result:
    catalog = session.catalog(session.current_catalog)
    parent: tuple[str, ...] = ()
    if statement.catalog is not None:
        parts, span = statement.catalog.parts, statement.catalog.span
        if session.has_catalog(parts[0]) or session.flavour is Flavour.FLINK:
            catalog, parent = session.catalog(parts[0], span), parts[1:]
        else:
            parent = parts
        require_database(catalog, parent, span)
    names = like(statement.like, [".".join(n) for n in catalog.list_namespaces(parent)], session.flavour)
    title = "database name" if session.flavour is Flavour.FLINK else "namespace"
    return listing((title,), [(name,) for name in names])


def show_current(session: Session, statement: st.ShowCurrentDatabase) -> Result:
    if statement.namespace_form:
        return listing(("catalog", "namespace"), [(session.current_catalog, session.current_database)])
    return listing(("current database name",), [(session.current_database,)])
