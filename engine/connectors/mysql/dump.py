"""A connection on which a server sends its binlog, event by event."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pymysqlreplication import BinLogStreamReader

    from bergsql.engine.connectors.mysql.position import Position
    from bergsql.engine.connectors.mysql.table_maps import TableMaps

_HEARTBEAT: Final = 10.0
"""Seconds of silence after which the server says that it is there."""
_CONNECTIONS: Final = 2
"""For the stream, and for questions about it."""
_FOR_ROWS: Final = "for rows"
"""Told with the settings of the first."""


def opened(
    settings: Mapping[str, Any],
    position: Position,
    *,
    server_id: int,
    is_mariadb: bool,
    by_gtid: bool,
    connections: list[Any],
    maps: TableMaps,
) -> BinLogStreamReader:
    """The library's reader of a binlog, from a position on.

    :param settings: what PyMySQL connects with.
    :param server_id: what no other replica of the server is called.
    :param by_gtid: begin behind the position's GTIDs, on a server where its file means nothing.
    :param maps: what is read of tables.
    :param connections: filled with those that are made, so that they can be ended from elsewhere.
    """
    import pymysql
    from pymysqlreplication import BinLogStreamReader

    def connect(**settings: Any) -> Any:
        # The library connects again by itself, and then in the middle of a transaction, whose tables it forgot.
        if len(connections) == _CONNECTIONS:
            raise ConnectionError("the connection was lost")
        for_rows = settings.pop(_FOR_ROWS, False)
        made: Any = pymysql.connect(**settings)
        if for_rows:
            made._read_packet = _reading(made._read_packet, maps)
        connections.append(made)
        return made

    logging.getLogger("pymysqlreplication").disabled = True
    place: dict[str, Any] = {"log_file": position.file, "log_pos": position.pos, "is_mariadb": False}
    if by_gtid:  # with a file, MariaDB's is read from its start if it is named so
        place = {"auto_position": position.gtid, "is_mariadb": is_mariadb}
    return BinLogStreamReader(
        # Heartbeats tell that the server is there: twice without one, and it is not.
        connection_settings={**settings, "read_timeout": 3 * _HEARTBEAT, _FOR_ROWS: True},
        ctl_connection_settings=dict(settings),
        server_id=server_id,
        resume_stream=True,
        blocking=True,
        only_events=_kinds(),
        filter_non_implemented_events=False,
        slave_heartbeat=_HEARTBEAT,
        pymysql_wrapper=connect,
        enable_logging=False,
        freeze_schema=False,
        **place,
    )


def _reading(read: Callable[..., Any], maps: TableMaps) -> Callable[..., Any]:
    """A connection's way to read a packet, with the tables of ``maps``."""

    def packet(*kind: Any) -> Any:
        found = read(*kind)
        found._data = maps.readable(found._data)
        return found

    return packet


def _kinds() -> list[type]:
    """The events that are looked at."""
    from pymysqlreplication import event as events
    from pymysqlreplication import row_event as rows

    return [
        rows.WriteRowsEvent,
        rows.UpdateRowsEvent,
        rows.PartialUpdateRowsEvent,
        rows.DeleteRowsEvent,
        rows.TableMapEvent,
        events.QueryEvent,
        events.ExecuteLoadQueryEvent,
        events.XidEvent,
        events.XAPrepareEvent,
        events.GtidEvent,
        events.MariadbGtidEvent,
        events.HeartbeatLogEvent,
        events.RotateEvent,
        events.NotImplementedEvent,
        # Nothing is in these, but the binlog goes on with them.
        events.FormatDescriptionEvent,
        events.MariadbGtidListEvent,
        events.MariadbBinLogCheckPointEvent,
        events.PreviousGtidsEvent,
    ]
