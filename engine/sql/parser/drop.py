"""DROP of everything."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.catalogs import DropCatalog
from bergsql.engine.sql.statements.databases import DropDatabase
from bergsql.engine.sql.statements.tables import DropTable

_REFUSED = ("MODEL", "INDEX", "CONNECTION", "ROLE", "PROCEDURE")


def drop(cursor: Cursor) -> Statement:
    """``DROP {CATALOG | DATABASE | TABLE | VIEW | FUNCTION …} [IF EXISTS] name``."""
    start = cursor.token.start
    cursor.expect("DROP")
    if cursor.accept("CATALOG"):
        if_exists = cursor.if_exists()
        name, span = cursor.identifier("the name of a catalog")
        return DropCatalog(name, span, if_exists)
    if cursor.accept_any(*DATABASE_WORDS):
        if_exists = cursor.if_exists()
        database = cursor.name("the name of a database")
        cascade = cursor.accept_any("CASCADE", "RESTRICT") == "CASCADE"
        cursor.expect_end("CASCADE", "RESTRICT")
        return DropDatabase(database, if_exists, cascade)
    prefix = cursor.accept_any("TEMPORARY", "TEMP", "MATERIALIZED", "GLOBAL")
    temporary = prefix in ("TEMPORARY", "TEMP")
    if prefix != "MATERIALIZED" and cursor.accept("TABLE"):
        if_exists = cursor.if_exists()
        table = cursor.name("the name of a table")
        return DropTable(table, if_exists, cursor.accept("PURGE"), temporary)
    if prefix != "MATERIALIZED" and cursor.accept("VIEW"):
        from bergsql.engine.sql.parser.views import drop_view

        return drop_view(cursor, temporary=temporary)
    if prefix == "MATERIALIZED":
        cursor.expect_any("TABLE", "VIEW")
        what = "MATERIALIZED TABLE"
    else:
        system = temporary and cursor.at("SYSTEM", "FUNCTION") and cursor.accept("SYSTEM")
        if cursor.accept("FUNCTION"):
            from bergsql.engine.sql.parser.functions import drop_function

            return drop_function(cursor, temporary=temporary, system=system)
        what = cursor.accept_any(*_REFUSED, "VARIABLE")
        if not what:
            raise cursor.expected(
                ("TABLE", "DATABASE", "CATALOG", "SCHEMA", "NAMESPACE", "VIEW", "FUNCTION", "TEMPORARY")
            )
    cursor.if_exists()
    cursor.name(f"the name of a {what.lower()}")
    raise cursor.refused(f"DROP {what}", start)
