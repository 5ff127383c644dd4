"""Statement sets and EXECUTE; compiled plans are read whole and refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.catalog.errors import did_you_mean
from bergsql.engine.sql.lexer import TokenKind
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.insert import insert
from bergsql.engine.sql.parser.queries import select
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.insert import StatementSet


def statement_set(cursor: Cursor) -> StatementSet:
    """``STATEMENT SET BEGIN insert; … END``."""
    cursor.expect("STATEMENT", "SET", "BEGIN")
    return _inserts(cursor, empty=False)


def _inserts(cursor: Cursor, *, empty: bool) -> StatementSet:
    inserts = []
    while not cursor.accept("END"):
        if not cursor.at("INSERT"):
            if cursor.token.kind is TokenKind.WORD and not did_you_mean(cursor.token.text, ["INSERT", "END"]):
                raise cursor.error("A statement set holds INSERT statements only.", cursor.token.span)
            raise cursor.expected(("INSERT", "END"))
        inserts.append(insert(cursor))
        cursor.expect(";")
    if not inserts and not empty:
        raise cursor.error("A statement set needs at least one INSERT.", cursor.previous.span)
    return StatementSet(tuple(inserts))


def begin(cursor: Cursor) -> StatementSet:
    """``BEGIN STATEMENT SET; insert; … END``; any other block is refused."""
    start = cursor.token.start
    cursor.expect("BEGIN")
    if cursor.ends() or cursor.at("TRANSACTION"):
        cursor.accept("TRANSACTION")
        raise cursor.later("A transaction", start)
    if cursor.accept("STATEMENT"):
        cursor.expect("SET", ";")
        return _inserts(cursor, empty=True)
    raise cursor.later("A BEGIN … END block", start)


def execute(cursor: Cursor) -> Statement:
    """``EXECUTE STATEMENT SET BEGIN … END``, ``EXECUTE insert``, ``EXECUTE select``, which only say so.

    ``EXECUTE PLAN`` and ``EXECUTE IMMEDIATE`` are refused.
    """
    start = cursor.token.start
    cursor.expect("EXECUTE")
    if cursor.at("STATEMENT"):
        return statement_set(cursor)
    if cursor.accept("PLAN"):
        cursor.string("a path in quotes")
        raise cursor.later("EXECUTE PLAN", start)
    if cursor.accept("IMMEDIATE"):
        raise cursor.later("EXECUTE IMMEDIATE", start)
    if cursor.at("INSERT"):
        return insert(cursor)
    if cursor.at("SELECT") or cursor.at("WITH") or cursor.at("VALUES"):
        return select(cursor)
    raise cursor.expected(("STATEMENT SET", "PLAN", "INSERT", "SELECT", "IMMEDIATE"))


def compile_plan(cursor: Cursor) -> NoReturn:
    """``COMPILE [AND EXECUTE] PLAN 'path' [IF NOT EXISTS] FOR {insert | STATEMENT SET …}``."""
    start = cursor.token.start
    cursor.expect("COMPILE")
    if cursor.accept("AND"):
        cursor.expect("EXECUTE")
    cursor.expect("PLAN")
    cursor.string("a path in quotes")
    cursor.if_not_exists()
    cursor.expect("FOR")
    if cursor.at("STATEMENT"):
        statement_set(cursor)
    else:
        insert(cursor)
    raise cursor.refused("COMPILE PLAN", start)


def end(cursor: Cursor) -> NoReturn:
    """An END without its BEGIN."""
    raise cursor.error("END closes a statement set, and none is open.", cursor.token.span)
