"""Statements of one form each; those that bergsql does not run yet are refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import at_query, parse_expression, parse_query
from bergsql.engine.sql.statements.base import Statement


def call(cursor: Cursor) -> NoReturn:
    """``CALL [catalog.]system.procedure(argument, name => argument, …)``."""
    start = cursor.token.start
    cursor.expect("CALL")
    cursor.name("the name of a procedure")
    cursor.list_of(lambda: _argument(cursor), may_be_empty=True)
    raise cursor.refused("CALL", start)


def _argument(cursor: Cursor) -> None:
    if cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.peek().key == "=>":
        cursor.index += 2
    parse_expression(cursor)


def truncate(cursor: Cursor) -> NoReturn:
    """``TRUNCATE TABLE t``."""
    start = cursor.token.start
    cursor.expect("TRUNCATE", "TABLE")
    cursor.name("the name of a table")
    raise cursor.refused("TRUNCATE TABLE", start)


def analyze(cursor: Cursor) -> Statement:
    """``ANALYZE TABLE t [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR …]``, ``ANALYZE TABLES [IN d] COMPUTE …``."""
    from bergsql.engine.sql.statements.upkeep import AnalyzeTable, AnalyzeTables

    cursor.expect("ANALYZE")
    if cursor.expect_any("TABLE", "TABLES") == "TABLES":
        database = cursor.name("the name of a database") if cursor.accept_any("FROM", "IN") else None
        cursor.expect("COMPUTE", "STATISTICS")
        cursor.accept("NOSCAN")
        return AnalyzeTables(database)
    name = cursor.name("the name of a table")
    if cursor.at("PARTITION"):
        raise UnsupportedForm("ANALYZE TABLE … PARTITION", cursor.token.span)
    cursor.expect("COMPUTE", "STATISTICS")
    if cursor.at("FOR"):
        raise UnsupportedForm("ANALYZE TABLE … FOR COLUMNS", cursor.token.span)
    cursor.accept("NOSCAN")
    cursor.expect_end("NOSCAN", "FOR")
    return AnalyzeTable(name)


def add(cursor: Cursor) -> Statement:
    """``ADD JAR 'path'``, ``ADD FILE …``."""
    return _resource(cursor, "ADD")


def remove(cursor: Cursor) -> Statement:
    """``REMOVE JAR 'path'``."""
    return _resource(cursor, "REMOVE")


def listing(cursor: Cursor) -> Statement:
    """``LIST JARS``."""
    return _resource(cursor, "LIST")


def _resource(cursor: Cursor, verb: str) -> Statement:
    """A path may be in quotes or bare; bare, it goes to the end of the statement."""
    from bergsql.engine.sql.statements.modules import ChangeJars, ShowJars

    start = cursor.token.start
    cursor.expect(verb)
    what = cursor.expect_any("JAR", "JARS", "FILE", "FILES", "ARCHIVE", "ARCHIVES")
    if what not in ("JAR", "JARS"):
        raise cursor.later(f"{verb} {what}", start)
    if verb != "LIST" and cursor.ends():
        raise cursor.expected((), "the path of a jar")
    while not cursor.ends():
        cursor.advance()
    return ShowJars() if verb == "LIST" else ChangeJars(verb)


def load(cursor: Cursor) -> Statement:
    """``LOAD MODULE m [WITH (…)]``, ``LOAD DATA …``."""
    from bergsql.engine.sql.statements.modules import LoadModule

    start = cursor.token.start
    cursor.expect("LOAD")
    if cursor.expect_any("MODULE", "DATA") == "DATA":
        raise cursor.later("LOAD DATA", start)
    name, span = cursor.identifier("the name of a module")
    if cursor.accept("WITH"):
        return LoadModule(name, span, cursor.options())
    cursor.expect_end("WITH")
    return LoadModule(name, span)


def unload(cursor: Cursor) -> Statement:
    """``UNLOAD MODULE m``."""
    from bergsql.engine.sql.statements.modules import UnloadModule

    cursor.expect("UNLOAD", "MODULE")
    return UnloadModule(*cursor.identifier("the name of a module"))


def stop(cursor: Cursor) -> NoReturn:
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""
    start = cursor.token.start
    cursor.expect("STOP", "JOB")
    cursor.string("the job's id in quotes")
    while cursor.accept("WITH"):
        cursor.expect_any("SAVEPOINT", "DRAIN")
    raise cursor.refused("STOP JOB", start)


def cache(cursor: Cursor) -> Statement:
    """``CACHE [LAZY] TABLE t [AS query]``, ``UNCACHE TABLE [IF EXISTS] t``, ``CLEAR CACHE``."""
    from bergsql.engine.sql.statements.upkeep import CacheTable, ClearCache

    start = cursor.token.start
    verb = cursor.expect_any("CACHE", "UNCACHE", "CLEAR")
    if verb == "CLEAR":
        cursor.expect("CACHE")
        return ClearCache()
    if verb == "CACHE":
        cursor.accept("LAZY")
    cursor.expect("TABLE")
    if_exists = verb == "UNCACHE" and cursor.if_exists()
    name = cursor.name("the name of a table")
    if verb == "CACHE":
        if cursor.accept("OPTIONS"):
            cursor.options()
        if cursor.accept("AS") or at_query(cursor):
            parse_query(cursor)
            raise cursor.later("CACHE TABLE … AS", start, "CREATE TEMPORARY VIEW v AS …; names a query.")
        cursor.expect_end("OPTIONS", "AS")
    return CacheTable(name, verb, if_exists)


def refresh(cursor: Cursor) -> Statement:
    """``REFRESH [TABLE] t``, ``[MSCK] REPAIR TABLE t [{ADD | DROP | SYNC} PARTITIONS]``."""
    from bergsql.engine.sql.statements.upkeep import RefreshTable, RepairTable

    start = cursor.token.start
    if cursor.accept("REFRESH"):
        if cursor.at("FUNCTION") and not cursor.ends(1):
            cursor.advance()
            cursor.name("the name of a function")
            raise cursor.refused("REFRESH FUNCTION", start)
        if cursor.token.kind is TokenKind.STRING:
            raise UnsupportedForm("REFRESH of a path", cursor.token.span, "REFRESH TABLE t; names a table.")
        if cursor.at("TABLE") and not cursor.ends(1):
            cursor.advance()
        return RefreshTable(cursor.name("the name of a table"))
    cursor.accept("MSCK")
    cursor.expect("REPAIR", "TABLE")
    span = cursor.span_from(start)
    name = cursor.name("the name of a table")
    if cursor.accept_any("ADD", "DROP", "SYNC"):
        cursor.expect("PARTITIONS")
    return RepairTable(name, span)


def refused(cursor: Cursor) -> NoReturn:
    """Statements known by their first word only."""
    token = cursor.advance()
    raise UnsupportedForm("A transaction" if token.key in ("START", "COMMIT", "ROLLBACK") else token.key, token.span)
