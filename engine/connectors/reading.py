"""A bounded source read at once: what its reader gives, as one stream of Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import arrow_rows
from bergsql.engine.plan.relations import ReadAtOnce
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.table.arrow_stream import ArrowStream

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.engine.connectors.base import LocalSource

_ROWS = 100_000
_BYTES = 64 << 20
_PAUSE = 0.01
"""Seconds between two looks for rows that have not come."""


def read_all(source: LocalSource, prefix: str) -> ReadAtOnce:
    """All rows of a bounded source that only gives rows.

    :raises BergError: INVALID for one that gives changes, or has no end.
    """
    if not source.bounded:
        raise BergError(ErrorCode.INVALID, f"{source.name} has no end: it is read as a stream.")
    if source.mode is not ChangelogMode.INSERT_ONLY:
        raise BergError(
            ErrorCode.INVALID,
            f"{source.name} gives changes, which a batch cannot read.",
            hint="SET 'execution.runtime-mode' = 'streaming'; reads them as a stream that ends.",
        )
    name = f"{prefix}read"
    items = ", ".join(f"CAST(c{i} AS {duckdb_name(c.type)}) AS c{i}" for i, c in enumerate(source.columns))
    return ReadAtOnce(f"(SELECT {items} FROM {identifier(name)})", {name: _Rows(source)})


@dataclass(frozen=True)
class _Rows(ArrowStream):
    """It may be read many times: each time by a reader of its own."""

    source: LocalSource

    @property
    def _names(self) -> str:
        return ", ".join(f"c{i}" for i in range(len(self.source.columns)))

    def schema(self) -> pa.Schema:
        import duckdb

        items = ", ".join(f"NULL::{duckdb_name(c.type)} AS c{i}" for i, c in enumerate(self.source.columns))
        with duckdb.connect() as connection:
            return arrow_rows(connection, f"SELECT {items}").schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        import time

        import duckdb

        from bergsql.engine.plan.duck_errors import from_duckdb_error

        schema = self.schema()
        with duckdb.connect() as connection:
            connection.execute(f"SET TimeZone = {string_literal(self.source.time_zone)}")
            context = _Context(connection, self.source.tell)
            reader = self.source.reader(context, None)
            try:
                while not reader.finished:
                    batch = reader.poll()
                    if batch is None:
                        time.sleep(min(reader.wait, _PAUSE))
                        continue
                    try:
                        rows = arrow_rows(connection, f"SELECT {self._names} FROM {batch.sql}")
                    except duckdb.Error as error:
                        raise reader.explained(from_duckdb_error(error)) from None
                    yield from rows.cast(schema).to_batches()
                    context.end_round()
                if reader.skipped:
                    context.note(
                        f"{self.source.name}: rows that could not be read and were left out: {reader.skipped}."
                    )
            finally:
                reader.close()


class _Context:
    """What a reader asks of the runtime."""

    max_rows = _ROWS
    max_bytes = _BYTES

    def __init__(self, cursor: duckdb.DuckDBPyConnection, note: Callable[[str], None]) -> None:
        self.cursor, self.note = cursor, note
        self._relations: list[str] = []
        self._count = 0

    def relation(self, rows: pa.Table) -> str:
        self._count += 1
        name = f"read{self._count}"
        self.cursor.register(name, rows)
        self._relations.append(name)
        return name

    def end_round(self) -> None:
        while self._relations:
            self.cursor.unregister(self._relations.pop())
