"""The actions of ALTER TABLE on branches and tags, which are read and refused by name."""

from __future__ import annotations

from typing import NoReturn

from bergsql.engine.sql.parser.cursor import Cursor


class RefusedAction(Exception):
    """An action that is known by these words and not carried out."""


def reference(cursor: Cursor, verb: str) -> NoReturn:
    """``BRANCH b [AS OF VERSION n] [RETAIN n DAYS] [WITH SNAPSHOT RETENTION …]``, ``TAG …``."""
    kind = cursor.expect_any("BRANCH", "TAG")
    cursor.if_not_exists()
    cursor.identifier(f"the name of the {kind.lower()}")
    if cursor.accept("AS"):
        cursor.expect("OF", "VERSION")
        cursor.integer("a snapshot id")
    if cursor.accept("RETAIN"):
        _age(cursor)
    if kind == "BRANCH" and cursor.accept("WITH"):
        cursor.expect("SNAPSHOT", "RETENTION")
        if cursor.peek().key in ("SNAPSHOT", "SNAPSHOTS"):
            cursor.integer()
            cursor.advance()
            if not cursor.ends():
                _age(cursor)
        else:
            _age(cursor)
    if not cursor.ends():
        cursor.expect_end("AS OF VERSION", "RETAIN", *(("WITH SNAPSHOT RETENTION",) if kind == "BRANCH" else ()))
    raise RefusedAction(f"{verb} {kind}")


def _age(cursor: Cursor) -> None:
    cursor.integer("a number of days")
    cursor.expect_any("DAYS", "HOURS", "MINUTES", "DAY", "HOUR", "MINUTE")
