"""UPDATE and DELETE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from bergsql.catalog.errors import Span
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.parser.cursor import END_OF_STATEMENT, Cursor, UnsupportedForm
from bergsql.engine.sql.parser.query import parse_expression, parse_query
from bergsql.engine.sql.statements.base import Expression, Name, Option, Query
from bergsql.engine.sql.statements.rowlevel import Assignment, Delete, Update


def assignments(cursor: Cursor, stops: tuple[str, ...]) -> tuple[Assignment, ...]:
    """``column = value, …`` behind SET, as far as one of ``stops``."""
    found = []
    while True:
        parts, spans = column_name(cursor)
        if not cursor.accept_any("=", "=="):
            raise cursor.expected((".", "="))
        start = cursor.token.start
        value = value_or_default(cursor, stops)
        found.append(Assignment(parts, spans, value, cursor.span_from(start)))
        if not cursor.accept(","):
            return tuple(found)


def column_name(cursor: Cursor) -> tuple[tuple[str, ...], tuple[Span, ...]]:
    """The dotted name of a column, or of a field of one: its parts and their places."""
    parts: list[str] = []
    spans: list[Span] = []
    while not parts or cursor.accept("."):
        part, span = cursor.identifier("a name after the dot" if parts else "a column's name")
        parts.append(part)
        spans.append(span)
    return tuple(parts), tuple(spans)


def value_or_default(cursor: Cursor, stops: tuple[str, ...] = ()) -> Expression | None:
    """What a column gets: an expression, or None for DEFAULT."""
    behind = cursor.peek()
    if cursor.at("DEFAULT") and (behind.kind is TokenKind.END or behind.key in (",", ")", ";", *stops)):
        cursor.advance()
        return None
    return parse_expression(cursor, stops, queries=True)


def queries_of_with(cursor: Cursor, ctes: Sequence[Token]) -> Query:
    """A query that has the WITH whose tokens are ``ctes``, for its queries' sake."""
    start, end = ctes[0].start, ctes[-1].end
    body = [Token(TokenKind.WORD, "SELECT", end, end, "SELECT"), Token(TokenKind.NUMBER, "1", end, end)]
    inner = Cursor(cursor.text, [*ctes, *body, Token(TokenKind.END, "", end, end)], cursor.flavour)
    return parse_query(inner)._replace(text=cursor.text[start:end], span=Span(start, end))


def update(cursor: Cursor, queries: Query | None = None) -> Update:
    """``UPDATE t [hint] [AS a] SET column = expression, … [WHERE condition]``; ``queries``: of a WITH before it."""
    cursor.expect("UPDATE")
    target, alias, hints = changed_table(cursor, "SET")
    if cursor.at(","):
        raise cursor.error("UPDATE changes one table.", cursor.token.span)
    if not cursor.accept("SET"):
        raise cursor.expected(("SET", *(("AS",) if alias is None else ())))
    assigned = assignments(cursor, ("WHERE", "FROM"))
    if cursor.at("FROM"):
        hint = "MERGE INTO t USING s ON … WHEN MATCHED THEN UPDATE SET …, or SET column = (SELECT …)."
        raise cursor.error("UPDATE reads no other tables in a FROM.", cursor.token.span, hint)
    return Update(target, assigned, alias, _where(cursor, (",",)), hints, queries)


def delete(cursor: Cursor, queries: Query | None = None) -> Delete:
    """``DELETE FROM t [hint] [AS a] [WHERE condition]``; ``queries``: of a WITH before it."""
    cursor.expect("DELETE", "FROM")
    target, alias, hints = changed_table(cursor, "WHERE", "USING", "ORDER", "LIMIT")
    if cursor.at("USING"):
        hint = "MERGE INTO t USING s ON … WHEN MATCHED THEN DELETE, or WHERE … IN (SELECT …)."
        raise cursor.error("DELETE reads no other tables in a USING.", cursor.token.span, hint)
    return Delete(target, alias, _where(cursor, () if alias else ("AS",)), hints, queries)


def upsert(cursor: Cursor) -> NoReturn:
    """``UPSERT INTO``, which Flink parses and nobody runs."""
    raise UnsupportedForm("UPSERT INTO", cursor.token.span, "INSERT INTO t /*+ OPTIONS('upsert-enabled'='true') */ …")


_VERSIONS = (
    ("VERSION", "AS"),
    ("TIMESTAMP", "AS"),
    ("FOR", "SYSTEM_TIME"),
    ("FOR", "SYSTEM_VERSION"),
    ("FOR", "VERSION"),
)


def changed_table(cursor: Cursor, *following: str) -> tuple[Name, str | None, tuple[Option, ...]]:
    """The table that is changed, with its alias and the options of its hint, which may stand behind either."""
    target = cursor.name("the name of a table")
    hints = _hint(cursor)
    if any(cursor.at(*words) for words in _VERSIONS):
        raise cursor.error("A state of the table that was is only read: a statement changes it as it is now.")
    alias = None
    if cursor.accept("AS"):
        alias, _ = cursor.identifier("an alias")
    elif cursor.token.kind in (TokenKind.WORD, TokenKind.QUOTED) and cursor.key not in following:
        alias = cursor.advance().text
    if alias is not None and cursor.at("("):
        raise cursor.error("The alias of a table that is changed names no columns.", cursor.token.span)
    return target, alias, hints or _hint(cursor)


def _hint(cursor: Cursor) -> tuple[Option, ...]:
    if not cursor.at("/*+"):
        return ()
    from bergsql.engine.sql.hints import parse_table_hint

    return parse_table_hint(cursor).options


def _where(cursor: Cursor, also: tuple[str, ...]) -> Expression | None:
    if cursor.accept("WHERE"):
        return parse_expression(cursor, queries=True)
    if not cursor.ends():
        raise cursor.expected(("WHERE", *also, END_OF_STATEMENT))
    return None
