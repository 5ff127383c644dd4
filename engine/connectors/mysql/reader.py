"""Tables of MySQL being read: first what is there, then what the binlog has; see :mod:`..cdc.handover`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql import startup
from bergsql.engine.connectors.mysql.ahead import Ahead
from bergsql.engine.connectors.mysql.altered import changes_values
from bergsql.engine.connectors.mysql.changes import Changes, Shape
from bergsql.engine.connectors.mysql.client import Server, Session
from bergsql.engine.connectors.mysql.ddl import effects
from bergsql.engine.connectors.mysql.errors import NEW_SNAPSHOT
from bergsql.engine.connectors.mysql.events import Change, SchemaChange
from bergsql.engine.connectors.mysql.handover import update_kinds
from bergsql.engine.connectors.mysql.known import KnownTable
from bergsql.engine.connectors.mysql.offsets import Offset
from bergsql.engine.connectors.mysql.position import place_order
from bergsql.engine.connectors.mysql.snapshot import TableSnapshot
from bergsql.engine.connectors.mysql.tables import Wanted, find_tables, key_of, tables_of
from bergsql.engine.streaming.changelog import Batch, RowKind
from bergsql.engine.streaming.sources.base import Reader

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.ddl import Effect
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.source import MysqlSource
    from bergsql.engine.streaming.sources.base import Json, ReaderContext

_NEW_TABLE: Final = f"{NEW_SNAPSHOT.split('. Keep')[0]}, into an empty table."
_PATIENCE: Final = 0.03
"""Seconds that a poll waits for the binlog's parser."""


class MysqlReader(Reader):
    """See :func:`bergsql.engine.connectors.mysql.source.MysqlSource.reader`."""

    def __init__(self, source: MysqlSource, context: ReaderContext, offset: Json) -> None:
        self._source, self._options, self._context = source, source.options, context
        self._wanted = Wanted(self._options)
        self._shape = Shape(source.table.columns, append_only=self._options.append_only)
        self._tables: dict[Name, KnownTable] = {}
        self._binlog: Ahead | None = None
        self._snapshot: TableSnapshot | None = None
        self._reached = False
        """Whether the binlog was read up to where the snapshot's view is."""
        self._lag: int | None = None
        self._idle_at = 0.0
        self._session = Session(self._options)
        try:
            self._server = Server.of(self._session)
            self._server.check_binlog(self._options)
            if offset is None:
                tables = find_tables(self._session, self._options)
                self._at = startup.begin(self._options, self._server, self._session, tables)
            else:
                self._at = Offset.from_json(offset)
            self._by_gtid = startup.by_gtid(self._options, self._server, self._session, self._at)
        except BaseException:
            self._session.close()
            raise
        self._foreign = self._by_gtid
        """Whether the position is in files of another server."""
        if not self._foreign:
            self._at = replace(self._at, server=self._server.identity)
        self._kept = self._at

    # --- what the runtime asks ----------------------------------------------------------------------------------------

    def poll(self) -> Batch | None:
        if self.finished:
            return None
        rows = self._snapshot_rows() if self._at.progress.left else self._binlog_rows(None)
        now = time.monotonic()
        moved = rows is not None or self._kept.progress != self._at.progress
        if moved or now >= self._idle_at:
            self._kept, self._idle_at = self._at, now + min(self._options.heartbeat, 30.0)
        return None if rows is None else Batch(rows)

    @property
    def offset(self) -> Json:
        return self._kept.to_json()

    @property
    def finished(self) -> bool:
        return self._source.bounded and not self._at.progress.left

    @property
    def wait(self) -> float:
        return 0.0 if self._at.progress.left else 0.05

    @property
    def lag(self) -> int | None:
        return self._lag

    @property
    def holds(self) -> bool:
        return self._snapshot is not None and self._snapshot.begun

    def close(self) -> None:
        if self._snapshot is not None:
            self._snapshot.close()
        if self._binlog is not None:
            self._binlog.close()
        self._session.close()

    # --- the rows that are there --------------------------------------------------------------------------------------

    def _snapshot_rows(self) -> str | None:
        """The next rows of the snapshot, or what the binlog has before them."""
        name = self._at.progress.current
        assert name is not None
        table = self._table(name)
        if self._snapshot is None:
            self._snapshot = TableSnapshot(self._options, self._server, self._session, table)
            self._reached = False
        elif self._reached and self._snapshot.stale:
            self._snapshot.look()
            self._reached = False
        if not self._reached:
            rows = self._before(self._snapshot)
            if rows is not None or not self._reached:
                return rows
        return self._chunk(table, self._snapshot) if table.key else self._part(table, self._snapshot)

    def _before(self, snapshot: TableSnapshot) -> str | None:
        """What the binlog has up to the snapshot's view, of what was read."""
        if self._source.bounded:
            self._reached = True  # rows of one moment a table, and no changes
            return None
        high = place_order(*snapshot.high)
        if not self._foreign and high <= self._at.position.order[:2]:
            self._reached = True
            return None
        return self._binlog_rows(high)

    def _chunk(self, table: KnownTable, snapshot: TableSnapshot) -> str | None:
        chunk = snapshot.chunk(self._at.progress.bound)
        progress = self._at.progress
        progress = progress.done() if chunk.upto is None else progress.upto(chunk.upto)
        self._at = replace(self._at, progress=progress, given=self._at.given | {table.name})
        if chunk.upto is None:
            self._end_snapshot(table)
        parts = []
        if chunk.rows:
            parts.append(self._inserts(table, chunk.rows))
        if chunk.filled:
            filled = Changes()
            for names, row in chunk.filled:
                filled.add(table, names, RowKind.INSERT, row, 0)
            parts.append(f"SELECT * EXCLUDE (place) FROM {filled.sql(self._shape, self._context.relation)}")
        return f"({' UNION ALL '.join(parts)})" if parts else None

    def _part(self, table: KnownTable, snapshot: TableSnapshot) -> str | None:
        rows = snapshot.part()
        if rows:
            return f"({self._inserts(table, rows)})"
        self._at = replace(self._at, progress=self._at.progress.done(), given=self._at.given | {table.name})
        self._end_snapshot(table)
        return None

    def _inserts(self, table: KnownTable, rows: Sequence[Sequence[Any]]) -> str:
        made = self._shape.snapshot(table.columns.from_select(rows))
        return self._shape.sql(self._context.relation(made), table)

    def _end_snapshot(self, table: KnownTable) -> None:
        assert self._snapshot is not None
        self._snapshot.close()
        self._snapshot = None
        self._context.note(f"The snapshot of MySQL's table {table.shown} is read.")

    # --- the binlog ---------------------------------------------------------------------------------------------------

    def _binlog_rows(self, upto: tuple[int, int] | None) -> str | None:
        """The next changes, up to a place: then ``_reached`` is set."""
        if self._binlog is None:
            self._binlog = self._opened()
        changes = Changes()
        deadline = time.monotonic() + _PATIENCE
        while changes.count < self._context.max_rows:
            event = self._peek(self._binlog, changes)
            if event is None:
                break
            place = event.position.order[:2]
            inside = isinstance(event, Change)
            if upto is not None and (place >= upto if inside else place > upto):
                self._reached = True
                break
            if isinstance(event, SchemaChange):
                if changes.count:
                    break  # what came before it is given first: it may be an error
                self._statement(event)
            elif isinstance(event, Change):
                self._change(event, changes)
                self._lag = max(0, now_ms() - event.timestamp)
            self._binlog.take()
            self._at = replace(self._at, position=event.position)
            if self._foreign and not inside:
                self._foreign, self._at = False, replace(self._at, server=self._server.identity)
            self._reached = self._reached or (upto is not None and not inside and place == upto)
            if time.monotonic() > deadline:
                break
        if not changes.count:
            self._lag = 0
            return None
        return changes.sql(self._shape, self._context.relation)

    def _peek(self, binlog: Ahead, changes: Changes) -> Any:
        """The next event; a failure waits until what came before it is given."""
        try:
            return binlog.peek(0.0 if changes.count or self._reached else _PATIENCE)
        except BergError as error:
            if changes.count:
                return None
            file = self._at.position.file
            if error.code is ErrorCode.INVALID and file and file not in startup.files(self._session):
                raise startup.gone(self._options, self._session, file) from None
            raise

    def _opened(self) -> Ahead:
        made = Ahead(self._options, self._server, self._at.position, self._wanted, by_gtid=self._by_gtid)
        self._by_gtid = False
        return made

    def _change(self, change: Change, changes: Changes) -> None:
        if self._at.since is not None and change.timestamp < self._at.since:
            return
        name = change.schema, change.table
        given = self._at.progress.given(name)
        if given is False and name != self._at.progress.current:
            return
        table = self._table(name)
        key_of_row = table.key_of(change.columns)
        before: Sequence[Any] = change.before or [None] * change.rows
        after: Sequence[Any] = change.after or [None] * change.rows
        if given:
            if name not in self._at.given:
                self._at = replace(self._at, given=self._at.given | {name})
            _all(table, change, zip(before, after, strict=True), changes)
            return
        if not table.key:
            return  # its snapshot, which will be read in one go, has them
        keys = [None if row is None else key_of_row(row) for pair in zip(before, after, strict=True) for row in pair]
        inside = self._inside(table, keys)
        for at, (old, new) in enumerate(zip(before, after, strict=True)):
            kinds = update_kinds(inside[2 * at], inside[2 * at + 1])
            for row, key, kind in ((old, keys[2 * at], kinds[0]), (new, keys[2 * at + 1], kinds[1])):
                if row is None or key is None:
                    continue
                if kind is not None:
                    changes.add(table, change.columns, kind, row, change.timestamp)
                elif self._snapshot is not None:
                    self._snapshot.changed(key, None if row is old else (change.columns, row))

    def _inside(self, table: KnownTable, keys: Sequence[Any]) -> list[bool]:
        """Which keys are up to the bound; None is not."""
        bound = self._at.progress.bound
        if bound is None:
            return [False] * len(keys)
        asked = [table.comparable(key) for key in keys if key is not None]
        answers = iter(table.order(self._session).upto(asked, table.comparable(bound)))
        return [key is not None and next(answers) for key in keys]

    # --- tables -------------------------------------------------------------------------------------------------------

    def _table(self, name: Name) -> KnownTable:
        found = self._tables.get(name)
        if found is None:
            columns = self._source.columns_of(self._session, self._server, name)
            key, unique = ((), False) if self._source.bounded else key_of(self._session, self._options, name)
            found = self._tables[name] = KnownTable(name, columns, key, unique=unique)
        return found

    def _statement(self, statement: SchemaChange) -> None:
        if self._at.since is not None and statement.timestamp < self._at.since:
            return
        for effect in effects(statement.sql, statement.schema):
            if effect.table is None:
                hit = sorted(n for n in self._known_names() if n[0] == effect.database)
            else:
                hit = [(effect.database, effect.table)] if self._wanted(effect.database, effect.table) else []
            for name in hit:
                self._effect(effect, name, statement)

    def _known_names(self) -> frozenset[Name]:
        return self._at.given | frozenset(self._at.progress.left)

    def _effect(self, effect: Effect, name: Name, statement: SchemaChange) -> None:
        progress = self._at.progress
        has_rows = name in self._at.given or (name == progress.current and progress.bound is not None)
        if effect.what == "alter":
            self._altered(name, statement, effect.lost if has_rows else frozenset())
            return
        self._tables.pop(name, None)
        comes = effect.what == "rename" or (effect.what == "move" and name not in progress.left)
        if effect.what == "create" or not (has_rows or comes):
            return
        table, place = ".".join(name), f"{statement.position} of the binlog"
        what = {
            "empty": f"All rows of a table or a partition went with TRUNCATE: {table}, at {place}.",
            "move": f"Rows of {table} went or came with a partition, a file or IGNORE, at {place}.",
            "drop": f"The table {table} was dropped, at {place}.",
            "rename": f"The table {table} was renamed, or another one got its name, at {place}.",
        }[effect.what]
        raise BergError(
            ErrorCode.INVALID,
            f"{what} Which rows went is not in the binlog.",
            hint=f"{_NEW_TABLE} DELETE FROM says which rows go.",
        )

    def _altered(self, name: Name, statement: SchemaChange, lost: frozenset[str]) -> None:
        """Look at a table anew, of which columns were changed.

        :raises BergError: where those that are declared are not there any more, do not fit, or hold other values.
        """
        message = f"Table {'.'.join(name)} was changed, at {statement.position} of the binlog."
        declared = [c.name for c in self._source.table.stored]
        gone = [c for c in declared if c.casefold() in lost]
        if gone:
            message = f"{message} Its column '{gone[0]}' was dropped or renamed."
            raise BergError(ErrorCode.INVALID, message, hint=f"{_NEW_TABLE} Declare what is there.")
        before = self._tables.pop(name, None)
        if before is None or name not in tables_of(self._session, self._options):
            return
        try:
            table = self._table(name)
        except BergError as error:
            hint = "Start the statement again as a new job that declares what is there."
            raise BergError(ErrorCode.INVALID, f"{message} {error.message}", hint=hint) from None
        shapes = before.columns.shape, table.columns.shape
        for old, new in zip(*([shape.column(c) for c in declared] for shape in shapes), strict=True):
            if old is not None and new is not None and changes_values(old, new, strict=statement.strict):
                message = f"{message} Its column '{new.name}' was {old.full} and is {new.full}: which values changed is"
                raise BergError(ErrorCode.INVALID, f"{message} not in the binlog.", hint=_NEW_TABLE)
        known = [c.name for c in before.columns.shape.columns]
        added = [c.name for c in table.columns.shape.columns if c.name not in known]
        for column in added:
            self._context.note(f"Table {table.shown} has a new column '{column}', which is not declared and not read.")


def _all(table: KnownTable, change: Change, rows: Iterable[tuple[Any, Any]], changes: Changes) -> None:
    """All of a change, before and after."""
    names, at = change.columns, change.timestamp
    for before, after in rows:
        if before is None:
            changes.add(table, names, RowKind.INSERT, after, at)
        elif after is None:
            changes.add(table, names, RowKind.DELETE, before, at)
        else:
            changes.add(table, names, RowKind.UPDATE_BEFORE, before, at)
            changes.add(table, names, RowKind.UPDATE_AFTER, after, at)
