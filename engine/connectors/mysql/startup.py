"""Where the reading of tables begins, and whether the server still has what is to be read on from."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.client import connection_settings
from bergsql.engine.connectors.mysql.errors import NEW_SNAPSHOT, told
from bergsql.engine.connectors.mysql.handover import Name, Progress
from bergsql.engine.connectors.mysql.offsets import Offset
from bergsql.engine.connectors.mysql.position import Position, place_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bergsql.engine.connectors.mysql.client import Server, Session
    from bergsql.engine.connectors.mysql.options import MysqlOptions


def begin(options: MysqlOptions, server: Server, session: Session, tables: Sequence[Name]) -> Offset:
    """Where a new reader of ``tables`` begins. A snapshot's place in the binlog is before its rows are read."""
    startup = options.startup
    if startup.mode == "specific-offset" and startup.gtids is not None:
        return Offset(Position("", 0, startup.gtids, startup.skip_rows))
    progress, rows, executed = Progress(), 0, None
    match startup.mode:
        case "earliest-offset":
            file, pos = files(session)[0], 4
        case "specific-offset":
            assert startup.file is not None
            file, pos, rows = startup.file, startup.pos, startup.skip_rows
            if file not in files(session):
                raise gone(options, session, file)
        case "timestamp":
            file, pos = _file_before(options, session, startup.timestamp or 0), 4
        case _:
            file, pos, executed = server.status(session)
            progress = Progress(tuple(tables)) if startup.snapshot else progress
    gtid = gtids_at(server, session, file, pos, executed)
    position = Position(file, pos, gtid, rows, _begun(options, file))
    return Offset(position, progress, since=startup.timestamp, server=server.identity)


def gtids_at(server: Server, session: Session, file: str, pos: int, executed: str | None = None) -> str | None:
    """What was committed before a place, by GTIDs; None where the server has none, or the place is none of its."""
    if not server.is_mariadb:
        return executed
    ((found,),) = session.rows("SELECT BINLOG_GTID_POS(%s, %s)", (file, pos))
    text = found.decode() if isinstance(found, bytes) else found
    return text or None


def by_gtid(options: MysqlOptions, server: Server, session: Session, offset: Offset) -> bool:
    """Whether to read on by GTIDs, as the server's files are not those of the position: it is another server.

    :raises BergError: INVALID where they are gone, and there are no GTIDs; or where the server began its binlog anew,
        so that its GTIDs mean other transactions.
    """
    position = offset.position
    if not position.file:
        return True
    there = files(session)
    other = offset.server not in (None, server.identity)
    if not other and offset.server is not None and _anew(options, position, there):
        raise _elsewhere(options, f"began its binlog anew: its {position.file} is not the one that was read")
    if position.gtid is None:
        if other:
            raise _elsewhere(options, "is another server than the one that was read, and what was read has no GTIDs")
        if position.file not in there:
            raise gone(options, session, position.file)
        return False
    if not server.is_mariadb:
        ((has,),) = session.rows("SELECT GTID_SUBSET(%s, @@GLOBAL.gtid_executed)", (position.gtid,))
        if not has:
            raise _elsewhere(options, "does not have the transactions that were read")
        return other or position.file not in there
    if other or position.file not in there:
        return True
    found = gtids_at(server, session, position.file, position.pos)
    return set((found or "").split(",")) != set(position.gtid.split(","))


def _anew(options: MysqlOptions, position: Position, there: Sequence[str]) -> bool:
    """Whether a server that has the position's file, or had it, counts its files anew."""
    if position.file in there:
        return position.begun is not None and _begun(options, position.file) != position.begun
    name = position.file.rpartition(".")[0]
    return name == there[-1].rpartition(".")[0] and place_order(there[-1], 0) < place_order(position.file, 0)


def _elsewhere(options: MysqlOptions, what: str) -> BergError:
    return BergError(ErrorCode.INVALID, f"MySQL at {options.address} {what}.", hint=NEW_SNAPSHOT)


def files(session: Session) -> list[str]:
    """The files that the binlog has, from the first to the last."""
    return [str(row[0]) for row in session.rows("SHOW BINARY LOGS")]


def gone(options: MysqlOptions, session: Session, file: str) -> BergError:
    """The error for a file that the server deleted."""
    there = files(session)
    message = f"The binlog's file {file}, to read on from, is gone from MySQL at {options.address}: it begins with"
    return BergError(ErrorCode.INVALID, f"{message} {there[0]}.", hint=NEW_SNAPSHOT)


def server_id(options: MysqlOptions) -> int:
    """A number by which the server knows this reader."""
    first, last = options.server_ids or (1 << 30, (1 << 31) - 1)
    return random.SystemRandom().randint(first, last)


def _file_before(options: MysqlOptions, session: Session, timestamp: int) -> str:
    """The last file that was begun before a time; the first one, if none was."""
    there = files(session)
    low, high = 0, len(there) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if _begun(options, there[middle]) * 1000 < timestamp:
            low = middle
        else:
            high = middle - 1
    return there[low]


def _begun(options: MysqlOptions, file: str) -> int:
    """When a file of the binlog was begun, in seconds since 1970."""
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.event import FormatDescriptionEvent

    settings: dict[str, Any] = connection_settings(options)
    with told(options, "The binlog could not be read"):
        stream = BinLogStreamReader(
            settings,
            server_id(options),
            log_file=file,
            log_pos=4,
            resume_stream=True,
            only_events=[FormatDescriptionEvent],
            enable_logging=False,
        )
        try:
            event = stream.fetchone()
            return 0 if event is None else int(event.timestamp)
        finally:
            stream.close()
