"""INSERT INTO and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.lexer import Token, TokenKind
from bergsql.engine.sql.parser.cursor import Cursor, UnsupportedForm, refuse_twice
from bergsql.engine.sql.parser.query import at_query, parse_expression, parse_query
from bergsql.engine.sql.statements.base import Option, Query
from bergsql.engine.sql.statements.insert import Insert, PartitionValue, StatementSet


def insert(cursor: Cursor, ctes: Sequence[Token] = (), *, behind_from: bool = False) -> Insert:
    """``INSERT {INTO | OVERWRITE} [TABLE] t [hint] [PARTITION (…)] [(columns)] query``.

    ``ctes`` are the tokens of a WITH that stood before it, ``behind_from`` of one with a FROM: they are read as if they
    stood before the query.
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
    if cursor.at("DEFAULT", "VALUES") and not by_name and columns is None and not ctes:
        return Insert(target, _default_values(cursor), overwrite, partition=partition, hints=hints, defaults=True)
    if behind_from and not cursor.at("SELECT"):
        raise cursor.expected(("SELECT",))
    if not at_query(cursor):
        known = (
            ("SELECT", "VALUES", "WITH", "TABLE", "PARTITION")
            if columns is None
            else ("SELECT", "VALUES", "WITH", "TABLE")
        )
        raise cursor.expected(known)
    if ctes and cursor.at("WITH"):
        raise UnsupportedForm("WITH … INSERT … WITH", cursor.token.span)
    begin = cursor.token.start
    cursor.tokens[cursor.index : cursor.index] = ctes
    query = parse_query(cursor)
    if behind_from:
        query = query._replace(text=cursor.text[begin : query.span.end], span=Span(begin, query.span.end))
    if cursor.at("ON"):
        raise UnsupportedForm("INSERT … ON CONFLICT", Span(start, cursor.token.end))
    return Insert(target, query, overwrite, columns, spans, partition, hints, by_name)


def inserts_from(cursor: Cursor, places: Sequence[int]) -> Insert | StatementSet:
    """Spark's ``[WITH …] FROM source INSERT … SELECT … [INSERT … SELECT …]``: INSERTs that read the same.

    ``places`` is where the INSERTs begin. Each query is read as ``FROM source SELECT …``.
    """
    source = cursor.tokens[cursor.index : places[0]]
    stop = next((i for i in range(places[-1], len(cursor.tokens)) if cursor.tokens[i].key == ";"), -1)
    last = cursor.tokens[stop]
    inserts = []
    for start, end in pairwise([*places, stop]):
        tokens = cursor.tokens[start:end]
        between = Token(TokenKind.END, "", tokens[-1].end, tokens[-1].end)
        member = Cursor(cursor.text, [*tokens, last if end == stop else between], cursor.flavour)
        inserts.append(insert(member, source, behind_from=True))
        member.expect_end()
    cursor.index = len(cursor.tokens) + stop if stop < 0 else stop
    return inserts[0] if len(inserts) == 1 else StatementSet(tuple(inserts))


def _default_values(cursor: Cursor) -> Query:
    """``DEFAULT VALUES`` as one row, whose values are told when the table is known."""
    start = cursor.token.start
    cursor.expect("DEFAULT", "VALUES")
    row = exp.Tuple(expressions=[exp.Null()])
    span = cursor.span_from(start)
    return Query(cursor.text[span.start : span.end], span, exp.Values(expressions=[row]))


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
