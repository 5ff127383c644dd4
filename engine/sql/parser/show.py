"""SHOW of everything."""

from __future__ import annotations

from bergsql.catalog.errors import BergError
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor, UnsupportedForm
from bergsql.engine.sql.statements.base import Name, Statement
from bergsql.engine.sql.statements.catalogs import ShowCatalogs, ShowCreateCatalog, ShowCurrentCatalog
from bergsql.engine.sql.statements.databases import ShowCurrentDatabase, ShowDatabases
from bergsql.engine.sql.statements.tables import ShowCreateTable, ShowTableProperties, ShowTables
from bergsql.engine.sql.statements.views import ShowCreateView, ShowViews

_DATABASES = ("DATABASES", "SCHEMAS", "NAMESPACES")
_LATER = ("COLUMNS", "PARTITIONS", "FUNCTIONS", "PROCEDURES", "MODULES", "JARS", "JOBS", "MODELS", "JOB")
_WORDS = ("CATALOGS", *_DATABASES, "TABLES", "VIEWS", "CREATE", "CURRENT", "TBLPROPERTIES", *_LATER[:-1])


def show(cursor: Cursor) -> Statement:
    """``SHOW CATALOGS | DATABASES | TABLES | CREATE TABLE | CURRENT … | TBLPROPERTIES …``."""
    start = cursor.token.start
    cursor.expect("SHOW")
    if cursor.accept("CATALOGS"):
        return ShowCatalogs(_like(cursor))
    if cursor.accept_any(*_DATABASES):
        catalog = _within(cursor, "the name of a catalog")
        return ShowDatabases(catalog, _like(cursor))
    if cursor.accept("TABLES"):
        database = _within(cursor, "the name of a database")
        return ShowTables(database, _like(cursor))
    if cursor.accept("VIEWS"):
        database = _within(cursor, "the name of a database")
        return ShowViews(database, _like(cursor))
    if cursor.accept("CREATE"):
        return _show_create(cursor, start)
    if cursor.accept("CURRENT"):
        if cursor.accept("CATALOG"):
            return ShowCurrentCatalog()
        return ShowCurrentDatabase(cursor.expect_any(*DATABASE_WORDS) == "NAMESPACE")
    if cursor.accept("TBLPROPERTIES"):
        return _properties(cursor)
    raise _later(cursor, start)


def _within(cursor: Cursor, what: str) -> Name | None:
    return cursor.name(what) if cursor.accept_any("FROM", "IN") else None


def _like(cursor: Cursor) -> str | None:
    """``[LIKE] 'pattern'``."""
    if cursor.at("NOT"):
        raise UnsupportedForm("SHOW … NOT LIKE", cursor.token.span)
    if cursor.at("ILIKE"):
        raise UnsupportedForm("SHOW … ILIKE", cursor.token.span)
    if cursor.accept("LIKE") or cursor.token.kind is TokenKind.STRING:
        return cursor.string("a pattern in quotes")
    if not cursor.ends():
        raise cursor.expected(("FROM", "IN", "LIKE"))
    return None


def _show_create(cursor: Cursor, start: int) -> Statement:
    if cursor.accept("TABLE"):
        table = cursor.name("the name of a table")
        if cursor.at("AS", "SERDE"):
            raise UnsupportedForm("SHOW CREATE TABLE … AS SERDE", cursor.token.span)
        return ShowCreateTable(table)
    if cursor.accept("CATALOG"):
        name, span = cursor.identifier("the name of a catalog")
        return ShowCreateCatalog(name, span)
    if cursor.accept("VIEW"):
        return ShowCreateView(cursor.name("the name of a view"))
    what = cursor.accept_any(*DATABASE_WORDS, "FUNCTION", "MODEL") or (
        cursor.accept("MATERIALIZED", "TABLE") and "MATERIALIZED TABLE"
    )
    if not what:
        raise cursor.expected(("TABLE", "CATALOG", "DATABASE", "VIEW"))
    cursor.name("a name")
    raise cursor.later(f"SHOW CREATE {what}", start)


def _properties(cursor: Cursor) -> ShowTableProperties:
    name = cursor.name("the name of a table")
    key = None
    if cursor.accept("("):
        key = cursor.option_key()
        cursor.expect(")")
    return ShowTableProperties(name, key)


def _later(cursor: Cursor, start: int) -> BergError | UnsupportedForm:
    prefix = cursor.accept_any("FULL", "USER", "SYSTEM", "ALL", "EXTENDED", "GLOBAL", "TEMPORARY", "MATERIALIZED")
    if not prefix and cursor.accept("TABLE"):
        cursor.expect("EXTENDED")
        _rest_of_show(cursor)
        return cursor.later("SHOW TABLE EXTENDED", start)
    if prefix == "MATERIALIZED" and cursor.accept("TABLES"):
        return cursor.later("SHOW MATERIALIZED TABLES", start)
    what = cursor.accept_any(*_LATER)
    if not what:
        return cursor.expected(_WORDS)
    _rest_of_show(cursor)
    return cursor.later(f"SHOW {prefix + ' ' if prefix else ''}{what}", start)


def _rest_of_show(cursor: Cursor) -> None:
    """What may follow: ``[FROM | IN] name``, PARTITION (…), ``[LIKE] 'pattern'``."""
    while not cursor.ends():
        if cursor.accept_any("FROM", "IN"):
            cursor.name("a name")
        elif cursor.accept("PARTITION"):
            cursor.options()
        elif cursor.accept_any("LIKE", "ILIKE", "NOT") or cursor.token.kind is TokenKind.STRING:
            if cursor.token.kind is TokenKind.STRING:
                cursor.advance()
        else:
            cursor.name("a name")
