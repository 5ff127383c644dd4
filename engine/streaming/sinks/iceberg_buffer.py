"""Rows that wait for their checkpoint, or until they are worth a file: a temporary table, which DuckDB spills."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.sql.quoting import identifier
from bergsql.engine.streaming.changelog import OP, Batch, column

if TYPE_CHECKING:
    import duckdb

_SAMPLE = 1000
"""Rows by which the width of all is told."""


class RowBuffer:
    """Rows of some batches, in their order. ``changes``: with what each of them does."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, name: str, columns: int, *, changes: bool) -> None:
        self._cursor = cursor
        self._name = name
        self._items = ", ".join((*map(column, range(columns)), *((OP,) if changes else ())))
        self._there = False
        self._width: float | None = None
        self.rows = 0

    @property
    def table(self) -> str:
        """What to select from; ``rowid`` is the order of the rows."""
        return f"temp.main.{identifier(self._name)}"

    def add(self, batch: Batch) -> int:
        """Take the rows of a batch; how many."""
        rows = f"SELECT {self._items} FROM {batch.sql} AS q"
        if not self._there:
            self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE {identifier(self._name)} AS {rows} LIMIT 0")
            self._there = True
        ((count,),) = self._cursor.execute(f"INSERT INTO {self.table} {rows}").fetchall()
        self.rows += count
        return int(count)

    def width(self, source: str) -> float:
        """About how many bytes a row has, told once by some rows of ``source``."""
        if self._width is None:
            ((found,),) = self._cursor.execute(
                f"SELECT avg(strlen(CAST(s AS VARCHAR))) FROM (SELECT {self._items} FROM {source} LIMIT {_SAMPLE}) AS s"
            ).fetchall()
            self._width = found
        return self._width or 0.0

    @property
    def bytes(self) -> float:
        """About how much the rows are."""
        return self.rows * self.width(self.table) if self.rows else 0.0

    def clear(self) -> None:
        """Forget all rows."""
        if self._there:
            self._cursor.execute(f"DROP TABLE IF EXISTS {self.table}")
        self._there = False
        self.rows = 0
