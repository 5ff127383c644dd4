"""What a statement gives back to whoever asked for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.sql.types import STRING, DataType

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.jobs.registry import Job

Row = tuple[object, ...]
"""One row as Python values.

BOOLEAN bool; integers int; FLOAT and DOUBLE float; DECIMAL Decimal; strings str; BINARY and BYTES bytes; DATE date;
TIME time (int nanoseconds of the day when precision > 6); TIMESTAMP naive datetime (int nanoseconds since 1970 when
precision > 6); TIMESTAMP_LTZ the same, in UTC; INTERVAL_YEAR_MONTH int months; INTERVAL_DAY_TIME int microseconds;
UUID uuid.UUID; ARRAY list; MAP list of (key, value) tuples in order; ROW tuple; NULL None.
"""


class ResultKind(StrEnum):
    """How a result wants to be shown."""

    OK = "ok"  # a statement that only succeeds
    ROWS = "rows"  # a query: capped columns, <NULL>, a footer with the time
    LISTING = "listing"  # SHOW, DESCRIBE, EXPLAIN, SET: fitted columns, NULL blank, no time
    SCRIPT = "script"  # one column of SQL text: a tableau prints it line by line, without a box
    DML = "dml"  # messages say what was written


class Column(NamedTuple):
    """A column of a result."""

    name: str
    type: DataType
    nullable: bool = True


class Result:
    """A result. ``changelog``: it is of changes, and the first column, ``op``, says what each does; it may have no end.

    ``chunks`` streams lists of rows and may be read once; ``close`` frees what is unread.

    ``batches``, of a query, gives what is unread as Arrow batches of at most so many rows instead: columns by place,
    DuckDB's own types, with what :func:`bergsql.engine.rows.presentable` makes of others. ``messages`` are lines for
    the person, shown as ``[INFO] …`` on stderr. ``job``: what the statement has started and goes on behind it.
    """

    __slots__ = ("batches", "changelog", "chunks", "close", "columns", "job", "kind", "messages")

    def __init__(
        self,
        kind: ResultKind,
        columns: tuple[Column, ...] = (),
        chunks: Iterable[list[Row]] = (),
        messages: tuple[str, ...] = (),
        close: Callable[[], None] = lambda: None,
        batches: Callable[[int], Iterator[pa.RecordBatch]] | None = None,
        *,
        changelog: bool = False,
        job: Job | None = None,
    ) -> None:
        self.kind = kind
        self.columns = columns
        self.chunks = chunks
        self.messages = messages
        self.close = close
        self.batches = batches
        self.changelog = changelog
        self.job = job

    def rows(self) -> Iterator[Row]:
        """All rows, one by one."""
        for chunk in self.chunks:
            yield from chunk


def ok(*messages: str) -> Result:
    """A statement that succeeded and has nothing to show."""
    return Result(ResultKind.OK, messages=messages)


def listing(names: Iterable[str], rows: list[Row]) -> Result:
    """A small table of text, as SHOW and DESCRIBE give it."""
    return Result(ResultKind.LISTING, tuple(Column(n, STRING) for n in names), [rows])
