"""Statements on statistics, caches and repairs."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import at_query, parse_query
from bergsql.engine.sql.statements.base import Option, Statement
from bergsql.engine.sql.statements.upkeep import (
    AnalyzeTable,
    AnalyzeTables,
    CacheTable,
    ClearCache,
    RefreshTable,
    RepairTable,
)


def analyze(cursor: Cursor) -> Statement:
    """``ANALYZE TABLE t [PARTITION (…)] COMPUTE STATISTICS [NOSCAN | FOR …]``, ``ANALYZE TABLES [IN d] COMPUTE …``."""
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


def cache(cursor: Cursor) -> Statement:
    """``CACHE [LAZY] TABLE t [AS query]``, ``UNCACHE TABLE [IF EXISTS] t``, ``CLEAR CACHE``."""
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
            _refuse_unknown(cursor.options())
        if cursor.accept("AS") or at_query(cursor):
            parse_query(cursor)
            raise cursor.later("CACHE TABLE … AS", start, "CREATE TEMPORARY VIEW v AS …; names a query.")
        cursor.expect_end("OPTIONS", "AS")
    return CacheTable(name, verb, if_exists)


def refresh(cursor: Cursor) -> Statement:
    """``REFRESH [TABLE] t``, ``[MSCK] REPAIR TABLE t [{ADD | DROP | SYNC} PARTITIONS]``."""
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


def _refuse_unknown(options: tuple[Option, ...]) -> None:
    for option in options:
        if option.key.casefold() != "storagelevel":
            raise BergError(
                ErrorCode.OPTION,
                f"CACHE TABLE has no option '{option.key}'.",
                span=option.span,
                hint=did_you_mean(option.key, ["storageLevel"]) or "It has storageLevel.",
            )
