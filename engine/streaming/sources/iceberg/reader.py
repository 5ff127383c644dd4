"""An Iceberg table being read on: a scan in chunks of files, then what each new snapshot brings."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from bergsql.catalog.clock import now_ms
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext
from bergsql.engine.streaming.sources.iceberg.line import appends, head_of, start_of, unread
from bergsql.engine.streaming.sources.iceberg.rows import RowReading
from bergsql.engine.table.planning import plan_files
from bergsql.engine.table.read_point import ReadPoint

if TYPE_CHECKING:
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.streaming.sources.iceberg.source import IcebergSource
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.snapshot_changes import SnapshotChanges

_PASSING = (ErrorCode.IO, ErrorCode.CONNECTION)
"""Failures that a later look at the table may not meet."""


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a table was read.

    after
        The last snapshot that was read to its end; None: none was, not even the first.
    snapshot, files
        The snapshot that is being read, and how many of its files were; ``scan`` says that it is read whole.
    rows
        How many rows were given, where their number is limited.
    watermark
        In microseconds, of a source that knows one.
    """

    after: int | None = None
    snapshot: int | None = None
    scan: bool = False
    files: int = 0
    rows: int = 0
    watermark: int | None = None

    def to_json(self) -> Json:
        return dict(asdict(self))

    @staticmethod
    def of(value: Json) -> Offset:
        try:
            assert isinstance(value, dict)
            return Offset(**value)  # type: ignore[arg-type]
        except (AssertionError, TypeError):
            message = "What was kept of an Iceberg table's stream is not understood."
            raise BergError(
                ErrorCode.CORRUPT, message, hint="A newer version of bergsql may have written it."
            ) from None


@dataclass(frozen=True, slots=True)
class _Work:
    """A snapshot that is being read. ``changes`` are given in one piece, and stand for ``files``."""

    snapshot: Snapshot
    files: Sequence[FileTask] = ()
    changes: SnapshotChanges | None = None


class IcebergReader(Reader):
    """See :func:`bergsql.engine.streaming.sources.iceberg.iceberg_source`."""

    def __init__(self, source: IcebergSource, context: ReaderContext, offset: Json) -> None:
        self._source, self._context, self._options = source, context, source.options
        self._reading = RowReading(context.cursor, source.storage, source.projection)
        self._table = source.load()
        self._offset = self._start() if offset is None else Offset.of(offset)
        self._seen: TableMetadata | None = None
        self._pending: deque[Snapshot] = deque()
        self._work: _Work | None = None
        self._next_look = 0.0
        self._failures = 0
        if self._offset.scan:
            self._scanned()  # which tells now what is wrong

    def _start(self) -> Offset:
        place = start_of(self._table.metadata, self._source.branch, self._options)
        return Offset(place.after, place.scanned, place.scanned is not None)

    # --- what the runtime asks ---------------------------------------------------------------------------------------

    def poll(self) -> Batch | None:
        if self.finished:
            return None
        if self._work is None and not self._offset.scan:
            self._look()
        try:
            while self._is_behind and not self.finished:
                batch = self._batch()
                if batch is not None:
                    return batch
        except BergError as error:
            if error.code is ErrorCode.NOT_FOUND:
                self._check_still_there()
            raise
        return None

    @property
    def _is_behind(self) -> bool:
        """Whether there is something to read, as far as the table was looked at."""
        return self._work is not None or bool(self._pending) or self._offset.scan

    @property
    def offset(self) -> Json:
        return self._offset.to_json()

    @property
    def finished(self) -> bool:
        limit, offset = self._source.limit, self._offset
        if limit is not None and offset.rows >= limit:
            return True
        return self._source.last is not None and offset.after == self._source.last

    @property
    def wait(self) -> float:
        if self._is_behind:
            return 0.0
        return max(0.0, self._next_look - time.monotonic())

    @property
    def lag(self) -> int | None:
        """The age of the oldest snapshot that is known and was not read to its end."""
        if self._work is not None:
            oldest: Snapshot | None = self._work.snapshot
        else:
            oldest = self._pending[0] if self._pending else None
        return 0 if oldest is None else max(0, now_ms() - oldest.timestamp_ms)

    @property
    def watermark(self) -> int | None:
        return self._offset.watermark

    # --- looking for snapshots ---------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Look at the table, if it is time to, for snapshots to read."""
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + self._options.monitor_interval_ms / 1000
        try:
            table = self._source.load()
        except BergError as error:
            self._failures += 1
            most = self._options.max_failures
            if error.code not in _PASSING or -1 < most < self._failures:
                raise
            self._context.note(f"Table {self._source.name} could not be looked at: {error.message}")
            return
        self._failures = 0
        if table.metadata is not self._seen:
            self._pending = deque(self._unread(table.metadata))
            self._table, self._seen = table, table.metadata

    def _unread(self, metadata: TableMetadata) -> Sequence[Snapshot]:
        source = self._source
        try:
            head = head_of(metadata, source.branch)
        except BergError as error:
            message = f"Branch '{source.branch}' of table {source.name} is not there any more."
            raise BergError(error.code, message, hint=error.hint) from None
        found = unread(metadata, head, self._offset.after, source.name)
        ids = [s.snapshot_id for s in found]
        return found[: ids.index(source.last) + 1] if source.last in ids else found

    def _check_still_there(self) -> None:
        """Say so where a file is not there because what was read was expired meanwhile."""
        self._table = self._source.load()
        if self._offset.scan:
            self._scanned()
        else:
            self._unread(self._table.metadata)

    def _scanned(self) -> Snapshot:
        """The snapshot that is being read whole."""
        metadata, wanted = self._table.metadata, self._offset.snapshot
        snapshot = None if wanted is None else metadata.snapshot(wanted)
        if snapshot is None:
            message = (
                f"Snapshot {wanted} of table {self._source.name} was expired before it was read: {self._offset.files}"
                " of its files were."
            )
            hint = "Start the query again without its saved state. Let snapshots live longer than reading one takes."
            raise BergError(ErrorCode.NOT_FOUND, message, hint=hint)
        return snapshot

    # --- reading them ------------------------------------------------------------------------------------------------

    def _batch(self) -> Batch | None:
        """The next batch, of as many files and snapshots as it may hold; None if those that are there give nothing."""
        chosen: list[FileTask] = []
        offset, snapshots = self._offset, 0
        most = self._options.max_snapshots
        while most is None or snapshots < most:
            if self._work is None:
                try:
                    offset, self._work = self._open(offset)
                except BergError:
                    if not chosen:
                        raise
                    break  # what came before it is given first
                if self._work is None:
                    break
            work = self._work
            if work.changes is not None:
                if not chosen:
                    self._offset, self._work = replace(offset, after=work.snapshot.snapshot_id, snapshot=None), None
                    sql = self._source.changes_of(self._reading).sql(self._table, work.changes)
                    return Batch(f"({sql})") if sql else None
                break
            taken = self._take(work.files[offset.files :], chosen)
            chosen += taken
            offset = replace(offset, snapshot=work.snapshot.snapshot_id, files=offset.files + len(taken))
            if offset.files < len(work.files):
                break
            offset = replace(offset, after=work.snapshot.snapshot_id, snapshot=None, scan=False, files=0)
            self._work = None
            snapshots += 1
        return self._given(chosen, offset)

    def _given(self, chosen: Sequence[FileTask], offset: Offset) -> Batch | None:
        if not chosen:
            self._offset = offset
            return None
        limit = self._source.limit
        left = None if limit is None else limit - offset.rows
        sql = self._reading.inserts(self._table, chosen, left)
        if left is not None:
            offset = replace(offset, rows=offset.rows + self._reading.count(sql))
        column = self._source.watermarks
        if column is not None:
            least = [column.least(self._reading, self._table, task) for task in chosen]
            known = [at - 1 for at in least if at is not None]
            # As if the files came one by one, by their least times: the last one's is behind all of them.
            if known and (offset.watermark is None or max(known) > offset.watermark):
                offset = replace(offset, watermark=max(known))
        self._offset = offset
        return Batch(f"({sql})")

    def _take(self, files: Sequence[FileTask], chosen: Sequence[FileTask]) -> list[FileTask]:
        """The first of the files that a batch may hold beside those that are chosen: one at least."""
        options, context = self._options, self._context
        most_rows = context.max_rows if options.max_rows is None else min(context.max_rows, options.max_rows)
        rows = sum(t.data_file.record_count for t in chosen)
        size = sum(t.data_file.file_size for t in chosen)
        taken: list[FileTask] = []
        for task in files:
            rows += task.data_file.record_count
            size += task.data_file.file_size
            count = len(chosen) + len(taken)
            full = options.max_files is not None and count >= options.max_files
            if count and (full or rows > most_rows or size > context.max_bytes):
                break
            taken.append(task)
        return taken

    def _open(self, offset: Offset) -> tuple[Offset, _Work | None]:
        """The next snapshot that gives something, and the offset behind those before it that do not."""
        if offset.scan:
            snapshot = self._scanned()
            return offset, _Work(snapshot, self._planned(self._source.point_of(snapshot)))
        while self._pending:
            snapshot = self._pending[0]
            work = None
            if self._is_read(snapshot):
                self._source.check_columns(self._table.metadata, snapshot)
                work = self._opened(snapshot)
            self._pending.popleft()
            if work is not None:
                return offset, work
            offset = replace(offset, after=snapshot.snapshot_id, snapshot=None, files=0)
        return offset, None

    def _is_read(self, snapshot: Snapshot) -> bool:
        options = self._options
        start = options.start
        if start is not None and start.key == "stream-from-timestamp" and snapshot.timestamp_ms < int(start.value):
            return False
        if options.changelog:
            return snapshot.operation != "replace"
        return appends(snapshot, self._source.name, options)

    def _opened(self, snapshot: Snapshot) -> _Work:
        if self._options.changelog:
            from bergsql.engine.table.snapshot_changes import snapshot_changes

            changes = snapshot_changes(self._table.metadata, snapshot, self._source.storage)
            return _Work(snapshot, changes.added) if changes.only_adds else _Work(snapshot, changes=changes)
        appended = frozenset({snapshot.snapshot_id})
        return _Work(snapshot, self._planned(ReadPoint(snapshot, self._source.schema, appended)))

    def _planned(self, point: ReadPoint) -> Sequence[FileTask]:
        """The files of a state of the table, in an order that is the same each time."""
        plan = plan_files(self._table.metadata, point, None, self._source.storage)
        column = self._source.watermarks
        if column is None:
            return plan.tasks
        least = [column.least(self._reading, self._table, task) for task in plan.tasks]
        first = min((at for at in least if at is not None), default=0)
        order = sorted(range(len(least)), key=lambda i: first if (at := least[i]) is None else at)
        return [plan.tasks[i] for i in order]
