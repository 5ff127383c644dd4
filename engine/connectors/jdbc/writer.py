"""A job writes to a table of a database: rows wait in a file, and go into the table in one transaction a checkpoint.

What is prepared is written again after a crash, word for word. By keys that changes nothing: of each key only the last
row is there, and keys that go are deleted first. Without a key a table of the database knows which checkpoints it has.

An older process of the job cannot write over newer rows: while it lives it holds the job's lock, and what the database
still has of it, it holds in a transaction with locks of those rows, for which the commit of the next process waits.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, cast

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.jdbc.commits import NAME, Commits
from bergsql.engine.connectors.jdbc.statements import Statements
from bergsql.engine.duck import stream_batches
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import Kind
from bergsql.engine.streaming.changelog import OP, Batch, ChangelogMode, RowKind, column
from bergsql.engine.streaming.sinks.base import SinkContext, Writer
from bergsql.engine.streaming.sinks.iceberg_buffer import RowBuffer
from bergsql.engine.streaming.sinks.prepared_rows import PreparedRows, drop_prepared, read_prepared

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import Connection

    from bergsql.engine.connectors.jdbc.sink import JdbcSink
    from bergsql.engine.streaming.sources.base import Json

_COMES = (int(RowKind.INSERT), int(RowKind.UPDATE_AFTER))
_ROWS = 1000
"""Of one statement."""


class JdbcWriter(Writer):
    """See :class:`~bergsql.engine.streaming.sinks.base.Writer`."""

    def __init__(self, sink: JdbcSink, context: SinkContext) -> None:
        self._sink, self._context = sink, context
        self._database = sink.database
        self._statements = Statements(sink.settings, sink.found, sink.key)
        self._buffer = RowBuffer(context.cursor, f"rows of {context.sink_id}", len(sink.columns), changes=True)
        self._file: PreparedRows | None = None
        self._commits = self._bookkeeping()
        # What has no key and is noted nowhere would be there twice if it were done again, and was done.
        half_stays, noted = not sink.found.transactional, self._commits is not None
        self._added = self._database.outcome_counts if not sink.key and half_stays else nullcontext
        self._ended = self._database.outcome_counts if not sink.key and (half_stays or not noted) else nullcontext

    def _bookkeeping(self) -> Commits | None:
        sink, context = self._sink, self._context
        if not sink.found.transactional:
            context.note(f"The table of {sink.name} knows no transactions: what fails half-way stays half written.")
        if not sink.tracks:
            return None
        commits = Commits(sink.settings.schema, context.job_id, context.sink_id)
        refused = commits.is_there(self._database)
        if refused is None:
            return commits
        context.note(
            f"The table {NAME} cannot be made in the database of {sink.name}, which has no key: after a crash the "
            f"rows of the last checkpoint may be there twice. {refused.message}"
        )
        return None

    # --- rows ---------------------------------------------------------------------------------------------------------

    def write(self, batch: Batch) -> int:
        if self._sink.key:
            return self._buffer.add(batch)
        order = " ORDER BY rowid" if batch.is_table else ""
        return self._keep(f"SELECT {self._items('q')}, {OP} FROM {batch.sql} AS q{order}")

    def _items(self, alias: str) -> str:
        items = []
        for i, c in enumerate(self._sink.columns):
            type_ = "VARCHAR" if c.type.kind is Kind.UUID else duckdb_name(c.type)
            items.append(f"CAST({alias}.{column(i)} AS {type_}) AS {column(i)}")
        return ", ".join(items)

    def _keep(self, sql: str) -> int:
        """Put the rows of a query into the file of the checkpoint."""
        import pyarrow as pa
        import pyarrow.compute as pc

        count = 0
        for batch in stream_batches(self._context.cursor, sql, _ROWS):
            # Of a row that goes only the key may be known.
            self._sink.values.check(batch.filter(pc.is_in(batch.column(OP), pa.array(_COMES, pa.int8()))))
            if self._file is None:
                self._file = PreparedRows(self._context.directory, self._context.sink_id, batch.schema)
            self._file.write(pa.Table.from_batches([batch]))
            count += batch.num_rows
        return count

    def _folded(self) -> str:
        """Of each key the last change, unless the row was there before as it is now; deletions come first."""
        sink, table = self._sink, self._buffer.table
        keys = [column(i) for i in sink.key]
        comes = f"l.{OP} IN ({RowKind.INSERT:d}, {RowKind.UPDATE_AFTER:d})"
        ends = f"SELECT min(rowid) AS f, max(rowid) AS l FROM {table} GROUP BY {', '.join(keys)}"
        changed = "true"
        if sink.mode is ChangelogMode.RETRACT:
            columns = range(len(sink.columns))
            same = " AND ".join(f"f.{column(i)} IS NOT DISTINCT FROM l.{column(i)}" for i in columns)
            was = f"f.{OP} <> {RowKind.INSERT:d}"
            changed = (
                f"CASE WHEN {comes} THEN NOT (f.{OP} <> {RowKind.UPDATE_AFTER:d} AND {was} AND {same}) ELSE {was} END"
            )
        return (
            f"SELECT {self._items('l')}, l.{OP} FROM ({ends}) AS e JOIN {table} AS l ON l.rowid = e.l"
            f" JOIN {table} AS f ON f.rowid = e.f WHERE {changed}"
            f" ORDER BY {comes}, {', '.join(f'l.{k}' for k in keys)}"
        )

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def prepare(self, checkpoint: int) -> Json:  # noqa: ARG002 - the file has a name of its own
        try:
            if self._buffer.rows:
                self._keep(self._folded())
                self._buffer.clear()
        except BaseException:
            self.discard()
            raise
        file, self._file = self._file, None
        return None if file is None else {"file": file.close()}

    def commit(self, checkpoint: int, committable: Json) -> None:
        name = cast("dict[str, str]", committable)["file"]

        def write(connection: Connection) -> None:
            if self._commits is None or self._commits.claim(connection, checkpoint):
                with self._added():
                    self._apply(connection, read_prepared(self._context.directory, name))
                with self._ended():
                    connection.commit()

        try:
            self._database.retried(write, self._sink.settings.sink_retries, self._failed)
        except BergError as error:
            if error.code is ErrorCode.INVALID and not self._sink.found.transactional:
                error.hint = "The table knows no transactions: rows that were written before this one are there."
            raise
        # It may be asked for once more, until the next checkpoint is durable.
        drop_prepared(self._context.directory, self._context.sink_id, but=name)

    def _failed(self, error: BergError) -> None:
        self._context.note(f"{error.message} It is tried again.")

    def _apply(self, connection: Connection, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            kinds = batch.column(len(self._sink.columns)).to_pylist()
            rows = self._sink.values.write(batch)
            if not self._sink.key:
                self._statements.insert(connection, rows)
                continue
            stays = [kind in _COMES for kind in kinds]
            self._statements.delete(connection, _chosen(rows, stays, False))
            self._statements.upsert(connection, _chosen(rows, stays, True))

    def discard(self) -> None:
        self._buffer.clear()
        if self._file is not None:
            self._file.discard()
        self._file = None

    def close(self) -> None:
        self.discard()
        self._database.close()


def _chosen(rows: list[list[Any]], stays: list[bool], wanted: bool) -> list[list[Any]]:
    return [row for row, kept in zip(rows, stays, strict=True) if kept is wanted]
