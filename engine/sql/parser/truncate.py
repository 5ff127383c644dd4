"""TRUNCATE TABLE."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.sql.parser.cursor import Cursor
from bergsql.engine.sql.statements.truncate import Truncate


def truncate(cursor: Cursor) -> Truncate:
    """``TRUNCATE TABLE t``; Spark's ``PARTITION (…)`` is refused, as Spark does for Iceberg tables."""
    cursor.expect("TRUNCATE")
    if not cursor.accept("TABLE"):
        error = cursor.expected(("TABLE",))
        error.hint = error.hint or "TRUNCATE TABLE t empties a table."
        raise error
    if cursor.at("IF", "EXISTS"):
        span = Span(cursor.token.start, cursor.peek().end)
        raise cursor.error("TRUNCATE TABLE takes no IF EXISTS.", span, "Leave it out: a table that is not there fails.")
    target = cursor.name("the name of a table")
    if cursor.at("/*+"):
        raise cursor.error("TRUNCATE TABLE takes no hint.", hint="Leave it out: no rows are written.")
    if cursor.at("PARTITION"):
        raise BergError(
            ErrorCode.INVALID,
            "TRUNCATE empties a whole table: partitions of an Iceberg table follow from its rows.",
            span=cursor.token.span,
            hint=f"DELETE FROM {target} WHERE … drops the files of whole partitions without reading them.",
        )
    return Truncate(target)
