"""CREATE and REPLACE of everything; tables go on to tables.py."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor
from bergsql.engine.sql.statements.base import Option, Statement
from bergsql.engine.sql.statements.catalogs import CreateCatalog
from bergsql.engine.sql.statements.databases import CreateDatabase


def create(cursor: Cursor) -> Statement:
    """``CREATE [OR REPLACE] [TEMPORARY] …`` and ``REPLACE TABLE``."""
    from bergsql.engine.sql.parser.tables import create_table

    start = cursor.token.start
    if cursor.accept("REPLACE"):
        cursor.expect("TABLE")
        return create_table(cursor, "replace", temporary=False)
    cursor.expect("CREATE")
    replace = cursor.accept("OR", "REPLACE")
    mode = "create or replace" if replace else "create"
    if cursor.accept("TABLE"):
        return create_table(cursor, mode, temporary=False)
    if cursor.at("CATALOG") and not replace:
        return _catalog(cursor)
    if cursor.key in DATABASE_WORDS and not replace:
        return _database(cursor)
    prefix = cursor.accept_any("TEMPORARY", "TEMP", "EXTERNAL", "GLOBAL", "MATERIALIZED")
    if prefix == "GLOBAL":
        cursor.expect_any("TEMPORARY", "TEMP")
    if prefix == "MATERIALIZED":
        cursor.expect_any("TABLE", "VIEW")
        raise cursor.later("CREATE MATERIALIZED TABLE", start)
    if prefix in ("TEMPORARY", "TEMP") and cursor.accept("TABLE"):
        return create_table(cursor, mode, temporary=True)
    if prefix == "EXTERNAL":
        cursor.expect("TABLE")
        return create_table(cursor, mode, temporary=False, external=True)
    system = prefix in ("TEMPORARY", "TEMP") and cursor.at("SYSTEM", "FUNCTION") and cursor.accept("SYSTEM")
    if cursor.accept("VIEW"):
        from bergsql.engine.sql.parser.views import create_view

        return create_view(cursor, replace=replace, temporary=bool(prefix), shared=prefix == "GLOBAL")
    if cursor.accept("FUNCTION"):
        from bergsql.engine.sql.parser.functions import create_function

        return create_function(cursor, replace=replace, temporary=bool(prefix), system=system)
    if cursor.accept_any("MODEL", "INDEX", "CONNECTION", "ROLE", "PROCEDURE", "VARIABLE"):
        what = cursor.previous.key
        raise cursor.later(f"CREATE {what}", start)
    raise cursor.expected(("TABLE", "CATALOG", *DATABASE_WORDS, "VIEW", "FUNCTION", "TEMPORARY", "OR REPLACE"))


def _catalog(cursor: Cursor) -> CreateCatalog:
    cursor.expect("CATALOG")
    if_not_exists = cursor.if_not_exists()
    name, span = cursor.identifier("the name of the catalog")
    comment = cursor.string() if cursor.accept("COMMENT") else None
    options: tuple[Option, ...] = ()
    if cursor.accept("WITH"):
        options = cursor.options()
    else:
        cursor.expect_end("COMMENT", "WITH")
    return CreateCatalog(name, span, options, comment, if_not_exists)


def _database(cursor: Cursor) -> CreateDatabase:
    cursor.expect_any(*DATABASE_WORDS)
    if_not_exists = cursor.if_not_exists()
    name = cursor.name("the name of the database")
    comment = location = location_span = None
    properties: tuple[Option, ...] = ()
    seen: set[str] = set()
    while not cursor.ends():
        clause = cursor.token
        word = cursor.expect_any("COMMENT", "LOCATION", "WITH")
        if word in seen:
            raise cursor.error(f"{word} is given twice.", clause.span)
        seen.add(word)
        if word == "COMMENT":
            comment = cursor.string()
        elif word == "LOCATION":
            location_span = cursor.token.span
            location = cursor.string("a path in quotes")
        else:
            cursor.accept_any("DBPROPERTIES", "PROPERTIES")
            properties = cursor.options()
    return CreateDatabase(name, if_not_exists, comment, location, properties, location_span)
