"""Reads: first the rows of the tables, piece by piece, then the log from where their snapshot was taken."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.postgres.changes import Assembler, Cursor, Known, Row
from bergsql.engine.connectors.postgres.client import connect, shut, telling
from bergsql.engine.connectors.postgres.feed import Feed
from bergsql.engine.connectors.postgres.pgoutput import Change, Garbled, parse
from bergsql.engine.connectors.postgres.slots import plain_view, snapshot_view
from bergsql.engine.connectors.postgres.snapshot import Limits, Piece, TableSnapshot
from bergsql.engine.connectors.postgres.start import Start, begin, go_on
from bergsql.engine.connectors.postgres.tables import StoredType, Types
from bergsql.engine.connectors.postgres.texts import AT, SCHEMA, TABLE, text_array, text_name
from bergsql.engine.streaming.changelog import OP, Batch
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Connection

    from bergsql.engine.connectors.postgres.handover import Progress
    from bergsql.engine.connectors.postgres.slots import SnapshotView
    from bergsql.engine.connectors.postgres.source import PostgresSource
    from bergsql.engine.connectors.postgres.texts import Conversions
    from bergsql.engine.streaming.sources.base import Json, ReaderContext


def open_reader(source: PostgresSource, context: ReaderContext, offset: Json) -> PostgresReader:
    """The reader of a source from an offset on, None for a new job.

    :raises BergError: where it cannot be read, or not from there.
    """
    types = Types()
    connection = connect(source.settings)
    try:
        with telling(source.settings):
            if offset is None:
                start = begin(source, connection, types, context.note)
            else:
                start = go_on(source, connection, types, offset, context.note)
    finally:
        shut(connection)
    return PostgresReader(source, context, start, types)


class _Told(NamedTuple):
    """A row of the log, with what is said beside it."""

    row: Row
    known: Known
    commit: int
    at: int


class PostgresReader(Reader):
    """See :func:`open_reader`."""

    def __init__(self, source: PostgresSource, context: ReaderContext, start: Start, types: Types) -> None:
        self._source, self._context, self._types = source, context, types
        self._settings = source.settings
        self._tables = start.tables
        self._progress: Progress | None = start.progress
        self._cursor = start.cursor
        self._pieces: Iterator[Piece] | None = None
        self._view: SnapshotView | None = None
        self._held = False
        self._feed: Feed | None = None
        self._asking: Connection[Any] | None = None
        self._assembler: Assembler | None = None
        self._durable: deque[int] = deque()
        self._beat = time.monotonic()
        self._at: int | None = None
        if start.cursor is not None:
            self._open_log(start.cursor)

    def poll(self) -> Batch | None:
        if self._cursor is None:
            return self._poll_snapshot()
        return self._poll_log()

    # --- the snapshot -------------------------------------------------------------------------------------------------

    def _poll_snapshot(self) -> Batch | None:
        progress = self._progress
        assert progress is not None
        id_ = progress.next
        if id_ is None:
            self._end_snapshot(progress)
            return None
        table = self._tables[id_]
        if self._view is None:
            self._view = plain_view(self._settings) if self._source.bounded else snapshot_view(self._settings)
        view = self._view
        conversions = self._source.texts.conversions(table.columns, table.full_name)
        if self._pieces is None:
            reading = TableSnapshot(view.connection, self._settings, table, self._source.texts.stored, conversions)
            limits = Limits(self._context.max_rows, self._context.max_bytes)
            self._pieces = reading.pieces(progress.after(id_), limits)
        piece = next(self._pieces)
        if piece.last is None:
            self._pieces = None
        self._held = piece.last is not None and (not table.key or not self._settings.chunked)
        if not self._held:
            progress.add(id_, piece.last, view.position)
        if self._source.bounded:
            self._held = progress.next is not None  # pieces of two snapshots would be the table of no moment
        elif progress.next is None:
            self._end_snapshot(progress)
        if not piece.rows.num_rows:
            return None
        return Batch(self._source.texts.typed(self._context, piece.rows, conversions))

    def _end_snapshot(self, progress: Progress) -> None:
        self._close_view()
        if self._source.bounded:
            return
        lowest = progress.lowest
        assert lowest is not None
        self._cursor = Cursor(lowest)
        self._open_log(self._cursor)
        self._beat = time.monotonic()

    # --- the log ------------------------------------------------------------------------------------------------------

    def _open_log(self, cursor: Cursor) -> None:
        self._assembler = Assembler(
            self._source.texts,
            self._source.key_names,
            self._tables,
            self._find_types,
            self._context.note,
            upsert=self._settings.upsert,
            cursor=cursor,
        )
        self._feed = Feed(self._settings, cursor.position)

    def _poll_log(self) -> Batch | None:
        assert self._assembler is not None
        assert self._feed is not None
        found = self._take(self._feed, self._assembler)
        self._cursor = self._assembler.cursor
        if not found:
            self._stay(self._feed, self._assembler)
        if self._progress is not None:
            found = self._not_in_snapshot(found, self._progress)
            if self._assembler.between and self._cursor.position >= self._progress.highest:
                self._progress = None
        if not found:
            return None
        self._at = found[-1].at
        conversions = found[0].known.conversions
        return Batch(self._source.texts.typed(self._context, self._texts(found, conversions), conversions))

    def _take(self, feed: Feed, assembler: Assembler) -> list[_Told]:
        """Rows of messages that are there, of tables that are alike."""
        found: list[_Told] = []
        size = 0
        while len(found) < self._context.max_rows and size < self._context.max_bytes:
            data = feed.next()
            if data is None:
                break
            try:
                message = parse(data)
            except Garbled as error:
                text = f"PostgreSQL at {self._settings.place} sends what is not understood: {error}."
                raise BergError(ErrorCode.CORRUPT, text) from None
            if not isinstance(message, Change):
                assembler.rows(message)
                continue
            known = assembler.known(message)
            if known is not None and found and known.conversions is not found[0].known.conversions:
                feed.give_back(data)
                break
            size += len(data)
            for row in assembler.rows(message, with_keys=self._progress is not None):
                assert known is not None
                found.append(_Told(row, known, assembler.commit, assembler.at))
        return found

    def _stay(self, feed: Feed, assembler: Assembler) -> None:
        """Move on over what others write, so that the server need not keep it."""
        now = time.monotonic()
        if not self._settings.heartbeat or now - self._beat < self._settings.heartbeat:
            return
        position = feed.idle_position
        if position is not None and assembler.between:
            assembler.idle(position)
            self._cursor = assembler.cursor
            self._beat = now

    def _not_in_snapshot(self, found: list[_Told], progress: Progress) -> list[_Told]:
        """Without the changes that the snapshot holds."""
        asked: dict[int, list[int]] = {}
        for n, told in enumerate(found):
            if told.commit < progress.highest:
                asked.setdefault(told.known.table.id, []).append(n)
        dropped: set[int] = set()
        for id_, places in asked.items():
            keys = [found[n].row.key or () for n in places]
            with telling(self._settings):
                positions = progress.positions(self._connection, self._tables[id_], keys)
            dropped.update(n for n, at in zip(places, positions, strict=True) if found[n].commit < at)
        return [told for n, told in enumerate(found) if n not in dropped] if dropped else found

    def _texts(self, found: Sequence[_Told], conversions: Conversions) -> pa.Table:
        import pyarrow as pa

        columns: dict[str, pa.Array] = {}
        values = zip(*(told.row.values for told in found), strict=True)
        for n, (column, how, own) in enumerate(zip(self._source.texts.stored, conversions, values, strict=True)):
            columns[text_name(n)] = text_array(own, how, column.name)
        columns[SCHEMA] = pa.array([t.known.relation.schema for t in found], pa.string())
        columns[TABLE] = pa.array([t.known.relation.name for t in found], pa.string())
        columns[AT] = pa.array([t.at for t in found], pa.int64())
        columns[OP] = pa.array([int(t.row.kind) for t in found], pa.int8())
        return pa.table(columns)

    @property
    def _connection(self) -> Connection[Any]:
        if self._asking is None:
            self._asking = connect(self._settings)
        return self._asking

    def _find_types(self, ids: Sequence[int]) -> dict[int, StoredType]:
        if all(self._types.knows(i) for i in ids):
            return self._types.known(ids)
        with telling(self._settings):
            return self._types.find(self._connection, ids)

    # --- what the runtime asks ----------------------------------------------------------------------------------------

    @property
    def offset(self) -> Json:
        kept: dict[str, Json] = {
            "tables": list(self._tables),
            "names": [t.full_name for t in self._tables.values()],
            "snapshot": self._progress.kept if self._progress is not None else None,
            "log": list(self._cursor) if self._cursor is not None else None,
        }
        return kept

    @property
    def holds(self) -> bool:
        return self._held

    @property
    def finished(self) -> bool:
        return self._source.bounded and self._progress is not None and self._progress.next is None

    @property
    def wait(self) -> float:
        return 0.0 if self._cursor is None else 0.03

    @property
    def lag(self) -> int | None:
        if self._cursor is None:
            return None
        waits = self._feed is not None and self._feed.idle_position is None
        return max(0, round(time.time() * 1000) - self._at) if waits and self._at is not None else 0

    def checkpointed(self, offset: Json) -> None:
        if self._feed is None or not isinstance(offset, dict):
            return
        log: Any = offset.get("log")
        if log is None:
            return
        self._durable.append(log[0])
        while len(self._durable) > self._settings.confirm_delay:
            self._feed.confirm(self._durable.popleft())

    def close(self) -> None:
        if self._feed is not None:
            self._feed.close()
        self._close_view()
        shut(self._asking)

    def _close_view(self) -> None:
        self._pieces = None
        if self._view is not None:
            shut(self._view.connection)
        self._view = None
