"""SHOW of everything."""

from __future__ import annotations

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor, UnsupportedForm
from bergsql.engine.sql.parser.partitioning import partition_filter
from bergsql.engine.sql.statements.base import LikePattern, Name, Statement
from bergsql.engine.sql.statements.catalogs import ShowCatalogs, ShowCreateCatalog, ShowCurrentCatalog
from bergsql.engine.sql.statements.databases import ShowCreateDatabase, ShowCurrentDatabase, ShowDatabases
from bergsql.engine.sql.statements.functions import ShowFunctions
from bergsql.engine.sql.statements.tables import (
    ShowColumns,
    ShowCreateTable,
    ShowPartitions,
    ShowTableExtended,
    ShowTableProperties,
    ShowTables,
)
from bergsql.engine.sql.statements.views import ShowCreateView, ShowViews

_DATABASES = ("DATABASES", "SCHEMAS", "NAMESPACES")
_WORDS = (
    "CATALOGS",
    *_DATABASES,
    "TABLES",
    "VIEWS",
    "COLUMNS",
    "PARTITIONS",
    "CREATE",
    "CURRENT",
    "TBLPROPERTIES",
    "MODULES",
    "JARS",
    "JOBS",
    "PROCEDURES",
    "FUNCTIONS",
    "MODELS",
)


def show(cursor: Cursor) -> Statement:
    """``SHOW CATALOGS | DATABASES | TABLES | COLUMNS | PARTITIONS | CREATE … | CURRENT … | TBLPROPERTIES …``."""
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
    if cursor.at("FUNCTIONS") or (cursor.key in ("USER", "SYSTEM", "ALL") and cursor.peek().key == "FUNCTIONS"):
        kind = cursor.accept_any("USER", "SYSTEM", "ALL")
        cursor.expect("FUNCTIONS")
        return ShowFunctions(kind, _within(cursor, "the name of a database"), _like(cursor))
    if cursor.accept("TABLE"):
        return _table_extended(cursor)
    if cursor.accept("COLUMNS"):
        return _columns(cursor)
    if cursor.accept("PARTITIONS"):
        return _partitions(cursor)
    if cursor.accept("CREATE"):
        return _show_create(cursor, start)
    if cursor.accept("CURRENT"):
        if cursor.accept("CATALOG"):
            return ShowCurrentCatalog()
        return ShowCurrentDatabase(cursor.expect_any("CATALOG", *DATABASE_WORDS) == "NAMESPACE")
    if cursor.accept("TBLPROPERTIES"):
        return _properties(cursor)
    return _of_the_engine(cursor) or _later(cursor, start)


def _of_the_engine(cursor: Cursor) -> Statement | None:
    """What is not of tables: modules, jars, jobs, procedures."""
    if cursor.accept("MODULES") or cursor.accept("FULL", "MODULES"):
        from bergsql.engine.sql.statements.modules import ShowModules

        return ShowModules(full=cursor.peek(-2).key == "FULL")
    if cursor.accept("JARS"):
        from bergsql.engine.sql.statements.modules import ShowJars

        return ShowJars()
    if cursor.accept("JOBS"):
        from bergsql.engine.sql.statements.jobs import ShowJobs

        return ShowJobs()
    if cursor.accept("PROCEDURES"):
        from bergsql.engine.sql.statements.procedures import ShowProcedures

        within = _within(cursor, "the name of a catalog or a database")
        return ShowProcedures(within, _like(cursor))
    return None


def _within(cursor: Cursor, what: str) -> Name | None:
    return cursor.name(what) if cursor.accept_any("FROM", "IN") else None


def _like(cursor: Cursor, *before: str) -> LikePattern | None:
    """``[[NOT] {LIKE | ILIKE}] 'pattern'``; ``before`` are the words that could stand here too."""
    negated = cursor.accept("NOT")
    if negated:
        word = cursor.expect_any("LIKE", "ILIKE")
    else:
        word = cursor.accept_any("LIKE", "ILIKE")
    if word or cursor.token.kind is TokenKind.STRING:
        return LikePattern(cursor.string("a pattern in quotes"), negated, word == "ILIKE")
    if not cursor.ends():
        raise cursor.expected((*(before or ("FROM", "IN")), "LIKE", "ILIKE", "NOT LIKE"))
    return None


def _table_extended(cursor: Cursor) -> ShowTableExtended:
    cursor.expect("EXTENDED")
    database = _within(cursor, "the name of a database")
    like = _like(cursor)
    if like is None:
        raise cursor.expected(("LIKE",))
    return ShowTableExtended(database, like, partition_filter(cursor) if cursor.at("PARTITION") else None)


def _columns(cursor: Cursor) -> ShowColumns:
    cursor.expect_any("FROM", "IN")
    name = cursor.name("the name of a table")
    database = _within(cursor, "the name of a database")
    return ShowColumns(name, database, _like(cursor))


def _partitions(cursor: Cursor) -> ShowPartitions:
    name = cursor.name("the name of a table")
    if cursor.at("PARTITION"):
        return ShowPartitions(name, partition_filter(cursor))
    cursor.expect_end("PARTITION")
    return ShowPartitions(name)


def _show_create(cursor: Cursor, start: int) -> Statement:
    if cursor.accept("TABLE"):
        table = cursor.name("the name of a table")
        if cursor.at("AS", "SERDE"):
            raise UnsupportedForm("SHOW CREATE TABLE … AS SERDE", cursor.token.span)
        return ShowCreateTable(table)
    if cursor.accept("CATALOG"):
        name, span = cursor.identifier("the name of a catalog")
        return ShowCreateCatalog(name, span)
    if cursor.accept_any(*DATABASE_WORDS):
        return ShowCreateDatabase(cursor.name("the name of a database"))
    if cursor.accept("VIEW"):
        return ShowCreateView(cursor.name("the name of a view"))
    what = cursor.accept_any("FUNCTION", "MODEL") or (cursor.accept("MATERIALIZED", "TABLE") and "MATERIALIZED TABLE")
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


def _later(cursor: Cursor, start: int) -> Statement:
    if cursor.accept("MATERIALIZED", "TABLES"):
        raise cursor.later("SHOW MATERIALIZED TABLES", start)
    what = cursor.accept_any("MODELS")
    if not what:
        raise cursor.expected(_WORDS)
    _within(cursor, "the name of a database")
    _like(cursor)
    raise cursor.later(f"SHOW {what}", start)
