"""Statements that are read and refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import parse_expression


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


def refused(cursor: Cursor) -> NoReturn:
    """Statements known by their first word only."""
    token = cursor.advance()
    raise UnsupportedForm("A transaction" if token.key in ("START", "COMMIT", "ROLLBACK") else token.key, token.span)
