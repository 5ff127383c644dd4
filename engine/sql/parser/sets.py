"""Statement sets, compiled plans and EXECUTE: read whole, refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.insert import insert

_SET_FORM = "A statement set"


def statement_set(cursor: Cursor) -> None:
    """Read ``STATEMENT SET BEGIN insert; … END``."""
    cursor.expect("STATEMENT", "SET", "BEGIN")
    _inserts(cursor)


def _inserts(cursor: Cursor) -> None:
    count = 0
    while not cursor.accept("END"):
        if not cursor.at("INSERT"):
            raise cursor.expected(("INSERT", "END"))
        insert(cursor)
        cursor.expect(";")
        count += 1
    if not count:
        raise cursor.error("A statement set needs at least one INSERT.", cursor.previous.span)


def begin(cursor: Cursor) -> NoReturn:
    """``BEGIN STATEMENT SET; insert; … END``; any other block is refused."""
    start = cursor.token.start
    cursor.expect("BEGIN")
    if cursor.ends() or cursor.at("TRANSACTION"):
        cursor.accept("TRANSACTION")
        raise cursor.later("A transaction", start)
    if cursor.accept("STATEMENT"):
        cursor.expect("SET", ";")
        _inserts(cursor)
        raise cursor.refused(_SET_FORM, start)
    raise cursor.later("A BEGIN … END block", start)


def execute(cursor: Cursor) -> NoReturn:
    """``EXECUTE STATEMENT SET BEGIN … END``, ``EXECUTE PLAN``, ``EXECUTE insert``, ``EXECUTE IMMEDIATE``."""
    start = cursor.token.start
    cursor.expect("EXECUTE")
    if cursor.at("STATEMENT"):
        statement_set(cursor)
        raise cursor.refused(_SET_FORM, start)
    if cursor.accept("PLAN"):
        cursor.string("a path in quotes")
        form = "EXECUTE PLAN"
    elif cursor.accept("IMMEDIATE"):
        form = "EXECUTE IMMEDIATE"
    elif cursor.at("INSERT"):
        insert(cursor)
        form = "EXECUTE INSERT"
    elif cursor.at("SELECT"):
        form = "EXECUTE SELECT"
    else:
        raise cursor.expected(("STATEMENT SET", "PLAN", "INSERT", "SELECT", "IMMEDIATE"))
    raise cursor.later(form, start)


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
