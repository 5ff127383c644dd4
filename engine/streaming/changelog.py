"""Changes of rows: what streams are made of ("Dynamic Tables" in Flink's documentation)."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Final, NamedTuple

from bergsql.engine.sql.types import DataType

OP: Final = "op"
"""The column of a batch that says what a row does: a TINYINT, of :class:`RowKind`."""

NO_WATERMARK: Final = -(2**63)
"""The watermark before the first one."""
END_OF_TIME: Final = 2**63 - 1
"""The watermark behind the last row of a bounded input."""


class RowKind(IntEnum):
    """What a row of a changelog does; the numbers are those of Flink's RowKind."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def symbol(self) -> str:
        return ("+I", "-U", "+U", "-D")[self]


class ChangelogMode(Enum):
    """What kinds of change a stream may hold."""

    INSERT_ONLY = "insert-only"
    RETRACT = "retract"  # all four; -U and -D hold the whole row as it was
    UPSERT = "upsert"  # +I and +U replace the row of their key, -D holds the key (the rest may be NULL); no -U


class StreamColumn(NamedTuple):
    """A column of a stream."""

    name: str
    type: DataType
    nullable: bool = True
    rowtime: bool = False
    """Whether it is the event time that the stream's watermarks speak of."""
    proctime: bool = False
    """Whether it is the time at which a row is processed (PROCTIME())."""


class Batch(NamedTuple):
    """Some changes, in order: a relation that DuckDB reads, with the columns c0, c1, … and ``op``.

    ``sql`` may stand behind FROM: a name or a query in parentheses. ``rows`` is known of what is materialised: then
    ``sql`` is the name of a table of the round, which may be read many times; its ``rowid`` is the order of the rows.
    A batch is good for the round that gave it.
    """

    sql: str
    rows: int | None = None

    @property
    def is_table(self) -> bool:
        return self.rows is not None


def column(position: int) -> str:
    """The name of a batch's column by its position, from 0."""
    return f"c{position}"
