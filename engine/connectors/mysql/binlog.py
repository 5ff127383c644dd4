"""The binlog as a stream of changes: read by a thread of its own, so that nobody waits for what has not come."""

from __future__ import annotations

import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.connectors.mysql.charsets import Charsets
from bergsql.engine.connectors.mysql.dump import opened
from bergsql.engine.connectors.mysql.events import Change, ChangeKind, Event, Moved, Row, SchemaChange
from bergsql.engine.connectors.mysql.position import Position
from bergsql.engine.connectors.mysql.row_images import Image, check_image, image_of, with_transaction
from bergsql.engine.connectors.mysql.statements import Means, meaning
from bergsql.engine.connectors.mysql.table_maps import TableMaps
from bergsql.engine.connectors.mysql.transactions import Transactions

if TYPE_CHECKING:
    from pymysqlreplication import BinLogStreamReader

MOST_WAITING: Final = 50_000
"""The weight of changes that wait to be taken, from which on the thread waits."""
_STRICT: Final = 3 << 21
"""In the mode of a statement: STRICT_TRANS_TABLES or STRICT_ALL_TABLES."""
_ALONE: Final = 1
"""MariaDB's flag of a statement that is no transaction, which has no end of its own (FL_STANDALONE)."""
_PREPARED: Final = 64
"""MariaDB's flag of a transaction that ends elsewhere in the binlog (FL_PREPARED_XA)."""
_COMPRESSED: Final = frozenset({40, *range(165, 172)})
"""MySQL's transactions and MariaDB's events that are compressed: their rows are not read."""


class Binlog:
    """A binlog from a position on. Close it to end its thread and its connection."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        position: Position,
        wants: Callable[[str, str], bool],
        *,
        server_id: int,
        is_mariadb: bool,
        by_gtid: bool = False,
        translate: Callable[[Exception], BergError],
    ) -> None:
        """
        :param settings: what PyMySQL connects with.
        :param wants: whether rows of a table, by its database and name, are read.
        :param server_id: what no other replica of the server is called.
        :param by_gtid: begin behind the position's GTIDs, on a server where its file means nothing.
        :param translate: what errors of the driver are told as.
        """
        self._settings = dict(settings)
        self._wants = wants
        self._maps = TableMaps(wants)
        self._server_id = server_id
        self._is_mariadb = is_mariadb
        self._by_gtid = by_gtid
        self._translate = translate
        self._transactions = Transactions(position)
        self._images: dict[int, Image | None] = {}
        """By the number of a table: how its rows are told, None where it is not read."""
        self._charsets: Charsets | None = None
        self._events: deque[Event] = deque()
        self.waiting = 0
        """The weight of what waits to be taken."""
        self._error: BergError | None = None
        self._begun = False
        """Whether an event came: until then, what fails is the connection."""
        self._closed = False
        self._changed = threading.Condition()
        self._connections: list[Any] = []
        self._thread = threading.Thread(target=self._run, name="binlog", daemon=True)
        self._thread.start()

    # --- for who reads -----------------------------------------------------------------------------------------------

    def read(self, most: int, patience: float = 0.0) -> list[Event]:
        """Events of about ``most`` rows that have come; it waits up to ``patience`` seconds for the first.

        :raises BergError: what ended the stream, when all before it has been read.
        """
        found: list[Event] = []
        rows = 0
        with self._changed:
            if not self._events and self._error is None and patience > 0:
                self._changed.wait(patience)
            while self._events and rows < most:
                event = self._events.popleft()
                found.append(event)
                if isinstance(event, Change):
                    rows += event.rows
                    self.waiting -= event.weight
            self._changed.notify_all()
            if not found and self._error is not None:
                raise self._error
        return found

    def close(self) -> None:
        """End it, at once."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for connection in self._connections:
            with suppress(Exception):  # it may be closed
                connection._sock.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    # --- the thread --------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        stream: BinLogStreamReader | None = None
        try:
            stream = opened(
                self._settings,
                self._transactions.base,
                server_id=self._server_id,
                is_mariadb=self._is_mariadb,
                by_gtid=self._by_gtid,
                connections=self._connections,
                maps=self._maps,
            )
            while not self._closed:
                event = stream.fetchone()
                if event is None:
                    raise EOFError("the server ended the stream")
                self._begun = True
                self._take(stream, event)
        except BaseException as error:
            found = error if isinstance(error, BergError) else self._told(error, stream)
            with self._changed:
                if not self._closed:
                    self._error = found
                self._changed.notify_all()
        finally:
            if stream is not None:
                with suppress(Exception):
                    stream.close()
            for connection in self._connections:
                with suppress(Exception):
                    connection.close()

    def _told(self, error: BaseException, stream: BinLogStreamReader | None) -> BergError:
        from pymysql.err import Error

        if isinstance(error, Error | OSError | EOFError) or (isinstance(error, Exception) and not self._begun):
            return self._translate(error)
        place = "" if stream is None else f" behind {stream.log_file}:{stream.log_pos}"
        why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return BergError(
            ErrorCode.INTERNAL,
            f"An event of the binlog{place} could not be read ({why}).",
            hint="Report it with the table's DDL. A new job reads a new snapshot, and goes on behind the event.",
        )

    def _take(self, stream: BinLogStreamReader, event: Any) -> None:
        name = type(event).__name__
        match name:
            case "WriteRowsEvent" | "UpdateRowsEvent" | "DeleteRowsEvent" | "PartialUpdateRowsEvent":
                self._take_rows(event, name)
            case "TableMapEvent":
                self._take_table(event)
            case "XidEvent" | "XAPrepareEvent":
                self._ended(stream)
            case "QueryEvent":
                self._take_query(stream, event)
            case "ExecuteLoadQueryEvent":
                raise _as_text("LOAD DATA")
            case "GtidEvent" | "MariadbGtidEvent":
                self._take_gtid(event, is_mariadb=name == "MariadbGtidEvent")
            case "RotateEvent":
                if not self._transactions.turned(event.next_binlog, event.position):
                    raise _taken_back("as the server crashed")
                self._put(Moved(self._transactions.base))
            case "HeartbeatLogEvent":
                ident = event.ident
                self._passed(ident if isinstance(ident, str) else ident.decode(), event.packet.log_pos)
            case "FormatDescriptionEvent":
                self._transactions.described(event.timestamp)
                self._passed(stream.log_file, stream.log_pos)
            case "MariadbGtidListEvent" | "MariadbBinLogCheckPointEvent" | "PreviousGtidsEvent":
                self._passed(stream.log_file, stream.log_pos)
            case "NotImplementedEvent" if event.event_type in _COMPRESSED:
                raise BergError(
                    ErrorCode.CONFIG,
                    "The binlog is compressed, which cannot be read.",
                    hint="SET GLOBAL log_bin_compress = OFF (MySQL: binlog_transaction_compression = OFF).",
                )

    def _passed(self, file: str, pos: int) -> None:
        """Nothing more was before a place."""
        if self._transactions.passed(file, pos):
            self._put(Moved(self._transactions.base))

    def _ended(self, stream: BinLogStreamReader) -> None:
        """A transaction is over."""
        self._transactions.end(stream.log_file, stream.log_pos)
        self._put(Moved(self._transactions.base))

    def _take_gtid(self, event: Any, *, is_mariadb: bool) -> None:
        known = self._transactions.base.gtid
        if is_mariadb or known is not None:  # from where MySQL's are not known, some of them would tell of no place
            self._transactions.named(with_transaction(known, event.gtid, is_mariadb=is_mariadb))
        if is_mariadb and not event.flags & _ALONE:  # MySQL says BEGIN
            self._transactions.begin(in_two_phases=bool(event.flags & _PREPARED))

    def _take_table(self, event: Any) -> None:
        wanted = self._wants(event.schema, event.table)
        if wanted and self._charsets is None:
            self._charsets = Charsets(event._ctl_connection)
        self._images[event.table_id] = None
        if wanted and self._charsets is not None:
            self._images[event.table_id] = image_of(event, self._charsets, self._maps.compressed)

    def _take_rows(self, event: Any, name: str) -> None:
        image = self._images.get(event.table_id)
        if image is None:
            return
        if self._transactions.in_two_phases:
            raise not_supported(
                f"Reading changes of {event.schema}.{event.table} in XA transactions, which may still end"
            )
        check_image(event)
        before: list[Row] = []
        after: list[Row] = []
        for row in event.rows:
            if name == "UpdateRowsEvent":
                before.append(image.filled(row, "before_values"))
                after.append(image.filled(row, "after_values"))
            else:
                (after if name == "WriteRowsEvent" else before).append(image.filled(row, "values"))
        count = max(len(before), len(after))
        new = self._transactions.add(count)
        if not new:
            return
        kind = {"WriteRowsEvent": ChangeKind.INSERT, "DeleteRowsEvent": ChangeKind.DELETE}.get(name, ChangeKind.UPDATE)
        self._put(
            Change(
                event.schema,
                event.table,
                kind,
                before[-new:] if before else before,
                after[-new:] if after else after,
                image.columns,
                event.timestamp * 1000,
                self._transactions.here,
                event.event_size,
            )
        )

    def _take_query(self, stream: BinLogStreamReader, event: Any) -> None:
        text = event.query.decode(errors="replace") if isinstance(event.query, bytes) else str(event.query)
        schema = event.schema.decode(errors="replace") if isinstance(event.schema, bytes) else str(event.schema)
        match meaning(text):
            case Means.BEGIN:
                self._transactions.begin()
            case Means.BEGIN_XA:
                self._transactions.begin(in_two_phases=True)
            case Means.GOES_ON:
                return
            case Means.END:
                self._ended(stream)
            case Means.TAKEN_BACK | Means.PARTLY_TAKEN_BACK if self._transactions.rows:
                raise _taken_back("as it changed a table without transactions, too")
            case Means.TAKEN_BACK:
                self._ended(stream)
            case Means.ROWS:
                raise _as_text(text)
            case Means.OTHER:
                self._transactions.stated(stream.log_file, stream.log_pos)
                strict = bool(getattr(event, "sql_mode", _STRICT) & _STRICT)
                self._put(SchemaChange(schema, text, event.timestamp * 1000, self._transactions.here, strict))

    def _put(self, event: Event) -> None:
        with self._changed:
            if isinstance(event, Moved) and self._events and isinstance(self._events[-1], Moved):
                self._events[-1] = event
            else:
                self._events.append(event)
            if isinstance(event, Change):
                self.waiting += event.weight
            self._changed.notify_all()
            while self.waiting >= MOST_WAITING and not self._closed:
                self._changed.wait(1.0)


def _taken_back(why: str) -> BergError:
    return BergError(
        ErrorCode.INVALID,
        f"A transaction took back changes that were in the binlog already, {why}: what was read of it is wrong.",
        hint="Start a new job: it reads a new snapshot.",
    )


def _as_text(statement: str) -> BergError:
    return BergError(
        ErrorCode.CONFIG,
        f"A statement was written to the binlog as a text, not as rows: {statement[:100]}",
        hint="SET GLOBAL binlog_format = 'ROW'; and let sessions connect anew. Then start a new job.",
    )
