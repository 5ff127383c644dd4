"""DESCRIBE of a table; of anything else it is refused by name."""

from __future__ import annotations

from bergsql.catalog.errors import Span
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import DATABASE_WORDS, Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import at_query, parse_query
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.tables import Describe

_OTHER = ("CATALOG", *DATABASE_WORDS, "FUNCTION", "JOB", "MODEL", "QUERY")


def describe(cursor: Cursor) -> Statement:
    """``{DESCRIBE | DESC} [TABLE] [EXTENDED | FORMATTED] t``."""
    start = cursor.token.start
    cursor.expect_any("DESCRIBE", "DESC")
    if cursor.key in _OTHER and _names_something(cursor):
        what = cursor.advance().key
        cursor.accept("EXTENDED")
        if what == "QUERY":
            parse_query(cursor)
        elif cursor.token.kind is TokenKind.STRING:
            cursor.advance()
        else:
            cursor.name("a name")
        raise cursor.later(f"DESCRIBE {what}", start)
    if cursor.at("TABLE") and _names_something(cursor):
        cursor.advance()
    extended = cursor.key in ("EXTENDED", "FORMATTED") and _names_something(cursor) and cursor.advance()
    if at_query(cursor):
        raise UnsupportedForm("DESCRIBE of a query", cursor.token.span)
    name = cursor.name("the name of a table")
    if cursor.at("PARTITION"):
        raise UnsupportedForm("DESCRIBE … PARTITION", cursor.token.span)
    if cursor.at("AS", "JSON"):
        raise UnsupportedForm("DESCRIBE … AS JSON", cursor.token.span)
    if cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED):
        column = cursor.name("a column's name")
        raise UnsupportedForm("DESCRIBE of one column", column.span)
    if extended:
        cursor.expect_end()
        form = f"DESCRIBE {extended.key}"
        raise UnsupportedForm(form, Span(start, extended.end), "DESCRIBE t; lists the columns.")
    return Describe(name)


def _names_something(cursor: Cursor) -> bool:
    """Whether the word here is a keyword with a name behind it, and not itself the name of a table."""
    following = cursor.peek()
    return following.kind in (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)
