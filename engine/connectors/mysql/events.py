"""What a binlog tells: rows that are changed, statements that change tables, and how far all before has been read."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

from bergsql.engine.connectors.mysql.position import Position

Row = Sequence[Any]
"""Values in the order of the columns of their event: Python's, as :class:`~.values.Columns` takes them."""


class ChangeKind(Enum):
    """What a statement did to rows."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class Change(NamedTuple):
    """Rows of one table that one event of the binlog changes.

    before, after
        Rows as they were and as they are, in the order of ``columns``: of an UPDATE both, as many.
    columns
        The names of the table's columns, as the event has them.
    timestamp
        When, in milliseconds since 1970; whole seconds.
    position
        Behind its last row: ``row`` counts the rows of tables that are read since the transaction's start.
    size
        Of its event, in bytes.
    """

    schema: str
    table: str
    kind: ChangeKind
    before: list[Row]
    after: list[Row]
    columns: tuple[str, ...]
    timestamp: int
    position: Position
    size: int = 0

    @property
    def rows(self) -> int:
        return max(len(self.before), len(self.after))

    @property
    def weight(self) -> int:
        """What it takes of memory, in rows: those that are wide count for each KiB."""
        return max(self.rows, self.size >> 10)


class SchemaChange(NamedTuple):
    """A statement that changes tables, in the database ``schema``. ``strict``: values that do not fit were refused."""

    schema: str
    sql: str
    timestamp: int
    position: Position
    strict: bool = True


class Moved(NamedTuple):
    """Everything before ``position`` has been read: transactions have ended, of whatever tables."""

    position: Position


Event = Change | SchemaChange | Moved
