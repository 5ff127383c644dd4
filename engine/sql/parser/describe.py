"""DESCRIBE of catalogs, databases, tables and queries; of anything else it is refused by name."""

from __future__ import annotations

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor
from bergsql.engine.sql.parser.partitioning import partition_filter
from bergsql.engine.sql.parser.query import at_query, parse_query
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.tables import Describe, DescribeQuery

_LATER = ("MODEL",)
_NAMES = (TokenKind.WORD, TokenKind.QUOTED)


def describe(cursor: Cursor) -> Statement:
    """``{DESCRIBE | DESC} {CATALOG | DATABASE | [TABLE] | [QUERY]} …``."""
    start = cursor.token.start
    cursor.expect_any("DESCRIBE", "DESC")
    if _accept_keyword(cursor, "CATALOG"):
        from bergsql.engine.sql.statements.catalogs import DescribeCatalog

        extended = _accept_keyword(cursor, "EXTENDED") != ""
        name, span = cursor.identifier("the name of a catalog")
        return DescribeCatalog(name, span, extended)
    if _accept_keyword(cursor, *DATABASE_WORDS):
        from bergsql.engine.sql.statements.databases import DescribeDatabase

        extended = _accept_keyword(cursor, "EXTENDED") != ""
        return DescribeDatabase(cursor.name("the name of a database"), extended)
    if _accept_keyword(cursor, "FUNCTION"):
        from bergsql.engine.sql.parser.functions import describe_function

        return describe_function(cursor)
    if cursor.at("JOB") and cursor.peek().kind is TokenKind.STRING and cursor.accept("JOB"):
        from bergsql.engine.sql.parser.jobs import describe as describe_job

        return describe_job(cursor)
    if what := _accept_keyword(cursor, *_LATER):
        cursor.accept("EXTENDED")
        if cursor.token.kind is TokenKind.STRING:
            cursor.advance()
        else:
            cursor.name("a name")
        raise cursor.later(f"DESCRIBE {what}", start)
    if cursor.at("QUERY") and not cursor.ends(1):
        cursor.advance()
        return DescribeQuery(parse_query(cursor))
    if not _accept_keyword(cursor, "TABLE") and at_query(cursor):
        return DescribeQuery(parse_query(cursor))
    return _table(cursor)


def _table(cursor: Cursor) -> Describe:
    """``[EXTENDED | FORMATTED] t [PARTITION (…) | column] [AS JSON]``."""
    extended = _accept_keyword(cursor, "EXTENDED", "FORMATTED") != ""
    name = cursor.name("the name of a table")
    partition = column = None
    if cursor.at("PARTITION", "("):
        partition = partition_filter(cursor)
    elif cursor.token.kind in _NAMES and not cursor.at("AS", "JSON"):
        column = cursor.name("a column's name")
    as_json = cursor.accept("AS", "JSON")
    if not as_json and not partition and not column:
        cursor.expect_end("PARTITION", "AS JSON")
    return Describe(name, extended, column, partition, as_json)


def _accept_keyword(cursor: Cursor, *words: str) -> str:
    """One of ``words``, stepped over, if it is a keyword with a name behind it and not itself the name of a table."""
    following = cursor.peek()
    if following.kind in _NAMES or following.kind is TokenKind.STRING:
        return cursor.accept_any(*words)
    return ""
