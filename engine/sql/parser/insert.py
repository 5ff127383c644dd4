"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.lexer import Token
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm, refuse_twice
from bergsql.engine.sql.parser.query import at_query, parse_expression, parse_query
from bergsql.engine.sql.statements.base import Option
from bergsql.engine.sql.statements.insert import Insert, PartitionValue


def insert(cursor: Cursor, ctes: Sequence[Token] = ()) -> Insert:
    """``INSERT {INTO | OVERWRITE} [TABLE] t [hint] [PARTITION (…)] [(columns)] query``.

    ``ctes`` are the tokens of a WITH that stood before it: they are read as if they stood before the query.
    """
    start = cursor.token.start
    cursor.expect("INSERT")
    overwrite = cursor.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    if cursor.at("DIRECTORY") or cursor.at("LOCAL", "DIRECTORY"):
        raise UnsupportedForm("INSERT OVERWRITE DIRECTORY", cursor.token.span)
    cursor.accept("TABLE")
    target = cursor.name("the name of a table")
    hints: tuple[Option, ...] = ()
    if cursor.at("/*+"):
        hints = _hint(cursor)
    partition: tuple[PartitionValue, ...] = ()
    if cursor.at("PARTITION"):
        partition = _partition(cursor)
        _refuse_if_not_exists(cursor)
    if cursor.at("/*+"):
        hints += _hint(cursor)
    by_name = cursor.accept("BY", "NAME")
    if cursor.at("REPLACE") and not at_query(cursor):
        raise UnsupportedForm("INSERT … REPLACE", cursor.token.span)
    columns: tuple[str, ...] | None = None
    spans: tuple[Span, ...] = ()
    if cursor.at("(") and not at_query(cursor):
        if by_name:
            raise cursor.error("BY NAME takes no column list: the query's columns have names.", cursor.token.span)
        named = cursor.list_of(lambda: cursor.identifier("a column's name"))
        columns = tuple(name for name, _ in named)
        spans = tuple(span for _, span in named)
        refuse_twice("column", named)
    if cursor.at("/*+"):
        hints += _hint(cursor)
    if not at_query(cursor):
        known = (
            ("SELECT", "VALUES", "WITH", "TABLE", "PARTITION")
            if columns is None
            else ("SELECT", "VALUES", "WITH", "TABLE")
        )
        if cursor.at("DEFAULT", "VALUES"):
            raise UnsupportedForm("INSERT … DEFAULT VALUES", cursor.token.span)
        raise cursor.expected(known)
    if ctes and cursor.at("WITH"):
        raise UnsupportedForm("WITH … INSERT … WITH", cursor.token.span)
    cursor.tokens[cursor.index : cursor.index] = ctes
    query = parse_query(cursor)
    if cursor.at("ON"):
        raise UnsupportedForm("INSERT … ON CONFLICT", Span(start, cursor.token.end))
    return Insert(target, query, overwrite, columns, spans, partition, hints, by_name)


def _refuse_if_not_exists(cursor: Cursor) -> None:
    start = cursor.token.start
    if cursor.if_not_exists():
        raise BergError(
            ErrorCode.INVALID,
            "INSERT cannot ask whether a partition exists: an Iceberg table only has rows.",
            span=cursor.span_from(start),
            hint="Leave IF NOT EXISTS out, or let the query tell: WHERE NOT EXISTS (SELECT 1 FROM t WHERE …).",
        )


def _hint(cursor: Cursor) -> tuple[Option, ...]:
    from bergsql.engine.sql.hints import parse_table_hint

    return parse_table_hint(cursor).options


def _partition(cursor: Cursor) -> tuple[PartitionValue, ...]:
    cursor.expect("PARTITION")
    values = cursor.list_of(lambda: _partition_value(cursor))
    refuse_twice("column", ((v.column, v.span) for v in values))
    return tuple(values)


def _partition_value(cursor: Cursor) -> PartitionValue:
    start = cursor.token.start
    column, _ = cursor.identifier("a column's name")
    while cursor.accept("."):
        column += "." + cursor.identifier("a column's name")[0]
    value = None
    if cursor.accept_any("=", "=="):
        value = parse_expression(cursor)
    return PartitionValue(column, value, cursor.span_from(start))
