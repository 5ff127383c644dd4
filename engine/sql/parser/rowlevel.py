"""MERGE, UPDATE and DELETE: read whole, so that a slip is a syntax error, and refused until they are executed."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import parse_expression, parse_query


def merge(cursor: Cursor) -> NoReturn:
    """``MERGE INTO t [AS a] USING s [AS b] ON condition WHEN … THEN …``."""
    start = cursor.token.start
    cursor.expect("MERGE")
    if cursor.at("WITH", "SCHEMA"):
        raise UnsupportedForm("MERGE WITH SCHEMA EVOLUTION", cursor.token.span)
    cursor.expect("INTO")
    cursor.name("the name of a table")
    _alias(cursor, "USING")
    cursor.expect("USING")
    if cursor.at("("):
        cursor.advance()
        parse_query(cursor)
        cursor.expect(")")
    else:
        cursor.name("a table or a query in parentheses")
        if cursor.accept_any("VERSION", "TIMESTAMP"):
            cursor.expect("AS", "OF")
            cursor.advance()
    _alias(cursor, "ON")
    cursor.expect("ON")
    parse_expression(cursor, ("WHEN",))
    if not cursor.at("WHEN"):
        raise cursor.expected(("WHEN",))
    while cursor.accept("WHEN"):
        _when(cursor)
    cursor.expect_end("WHEN")
    raise cursor.refused("MERGE INTO", start)


def _alias(cursor: Cursor, following: str) -> None:
    if cursor.accept("AS"):
        cursor.identifier("an alias")
    elif cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.key != following:
        cursor.advance()
    if cursor.at("("):
        cursor.list_of(lambda: cursor.identifier("a column's name"))


def _when(cursor: Cursor) -> None:
    missing = cursor.accept("NOT")
    cursor.expect("MATCHED")
    target_only = False
    if missing and cursor.accept("BY"):
        target_only = cursor.expect_any("SOURCE", "TARGET") == "SOURCE"
    if cursor.accept("AND"):
        parse_expression(cursor, ("THEN",))
    if not cursor.accept("THEN"):
        raise cursor.expected(("AND", "THEN", *(("BY",) if missing else ())))
    if missing and not target_only:
        cursor.expect("INSERT")
        if cursor.accept("*"):
            return
        if cursor.at("("):
            cursor.list_of(lambda: cursor.name("a column's name"))
        cursor.expect("VALUES")
        cursor.list_of(lambda: parse_expression(cursor))
        return
    if cursor.expect_any("UPDATE", "DELETE") == "UPDATE":
        cursor.expect("SET")
        if not cursor.accept("*"):
            _assignments(cursor, ("WHEN",))


def _assignments(cursor: Cursor, stops: tuple[str, ...]) -> None:
    while True:
        cursor.name("a column's name")
        if not cursor.accept_any("=", "=="):
            raise cursor.expected(("=",))
        parse_expression(cursor, stops)
        if not cursor.accept(","):
            return


def update(cursor: Cursor) -> NoReturn:
    """``UPDATE t [AS a] SET column = expression, … [WHERE condition]``."""
    start = cursor.token.start
    cursor.expect("UPDATE")
    cursor.name("the name of a table")
    _hint(cursor)
    _alias(cursor, "SET")
    cursor.expect("SET")
    _assignments(cursor, ("WHERE", "FROM"))
    _where(cursor)
    raise cursor.refused("UPDATE", start)


def delete(cursor: Cursor) -> NoReturn:
    """``DELETE FROM t [AS a] [WHERE condition]``."""
    start = cursor.token.start
    cursor.expect("DELETE", "FROM")
    cursor.name("the name of a table")
    _hint(cursor)
    _alias(cursor, "WHERE")
    _where(cursor)
    raise cursor.refused("DELETE FROM", start)


def upsert(cursor: Cursor) -> NoReturn:
    """``UPSERT INTO``, which Flink parses and nobody runs."""
    raise UnsupportedForm("UPSERT INTO", cursor.token.span, "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ …")


def _hint(cursor: Cursor) -> None:
    if cursor.at("/*+"):
        from bergsql.engine.sql.hints import parse_table_hint

        parse_table_hint(cursor)


def _where(cursor: Cursor) -> None:
    if cursor.accept("WHERE"):
        parse_expression(cursor)
    elif not cursor.ends():
        raise cursor.expected(("WHERE",))
