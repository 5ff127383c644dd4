"""SELECT and its kin as statements."""

from __future__ import annotations

from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.parser.query import parse_query
from bergsql.engine.sql.statements.base import Statement
from bergsql.engine.sql.statements.queries import Select


def select(cursor: Cursor) -> Statement:
    """A query as a statement; or what Spark lets stand behind a WITH (what changes rows) and a FROM (INSERTs)."""
    if cursor.at("FROM") or cursor.at("WITH"):
        found = _inserts_behind_from(cursor)
        if found is not None:
            from bergsql.engine.sql.parser.insert import inserts_from

            return inserts_from(cursor, found)
    behind = _behind_with(cursor) if cursor.at("WITH") else cursor.index
    word = cursor.tokens[behind].key
    if word not in ("INSERT", "MERGE", "UPDATE", "DELETE"):
        return Select(parse_query(cursor))
    ctes = cursor.tokens[cursor.index : behind]
    cursor.index = behind
    if word == "MERGE":
        from bergsql.engine.sql.parser.merge import merge

        return merge(cursor, ctes)
    if word in ("UPDATE", "DELETE"):
        from bergsql.engine.sql.parser.rowlevel import delete, queries_of_with, update

        queries = queries_of_with(cursor, ctes)
        return update(cursor, queries) if word == "UPDATE" else delete(cursor, queries)
    from bergsql.engine.sql.parser.insert import insert

    return insert(cursor, ctes)


def _behind_with(cursor: Cursor) -> int:
    """Where the statement is that the WITH at ``cursor`` belongs to."""
    depth = 0
    for index in range(cursor.index, len(cursor.tokens)):
        key = cursor.tokens[index].key
        depth += (key == "(") - (key == ")")
        if depth == 0 and cursor.tokens[index - 1].key == ")" and key not in (",", "AS"):
            return index
    return cursor.index


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
