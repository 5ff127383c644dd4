"""SELECT and its kin as statements."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.query import parse_query
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.queries import Select


def select(cursor: Cursor) -> Statement:
    """A query as a statement; or the INSERTs that Spark lets stand behind a WITH, and behind a FROM."""
    if cursor.at("FROM") or cursor.at("WITH"):
        found = _inserts_behind_from(cursor)
        if found is not None:
            from bergsql.engine.sql.parser.insert import inserts_from

            return inserts_from(cursor, found)
    insert_at = _insert_behind_with(cursor) if cursor.at("WITH") else None
    if insert_at is not None:
        from bergsql.engine.sql.parser.insert import insert

        ctes = cursor.tokens[cursor.index : insert_at]
        cursor.index = insert_at
        return insert(cursor, ctes)
    return Select(parse_query(cursor))


def _insert_behind_with(cursor: Cursor) -> int | None:
    """Where the INSERT is that the WITH at ``cursor`` belongs to."""
    depth = 0
    for index in range(cursor.index, len(cursor.tokens)):
        key = cursor.tokens[index].key
        depth += (key == "(") - (key == ")")
        if depth == 0 and cursor.tokens[index - 1].key == ")" and key not in (",", "AS"):
            return index if key == "INSERT" else None
    return None


def _inserts_behind_from(cursor: Cursor) -> list[int] | None:
    """Where the INSERTs are, if this is ``[WITH …] FROM source INSERT … [INSERT …]``."""
    depth = 0
    behind_from = False
    found: list[int] = []
    for index in range(cursor.index, len(cursor.tokens) - 1):
        key = cursor.tokens[index].key
        depth += (key == "(") - (key == ")")
        if depth or key == ";":
            continue
        if key == "SELECT" and not found:
            return None
        behind_from = behind_from or key == "FROM"
        if key == "INSERT" and behind_from and cursor.tokens[index + 1].key in ("INTO", "OVERWRITE"):
            found.append(index)
    return found or None
