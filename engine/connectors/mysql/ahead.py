"""The binlog's next event, looked at before it is taken."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.mysql.binlog import Binlog
from bergsql.engine.connectors.mysql.client import connection_settings
from bergsql.engine.connectors.mysql.errors import lost, of_driver
from bergsql.engine.connectors.mysql.startup import server_id

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Server
    from bergsql.engine.connectors.mysql.events import Event
    from bergsql.engine.connectors.mysql.options import MysqlOptions
    from bergsql.engine.connectors.mysql.position import Position

_ROWS_AT_ONCE: Final = 5_000


class Ahead:
    """A binlog, read from a position on."""

    def __init__(
        self,
        options: MysqlOptions,
        server: Server,
        position: Position,
        wants: Callable[[str, str], bool],
        *,
        by_gtid: bool,
    ) -> None:
        self._events: deque[Event] = deque()
        self._options = options
        self._binlog = Binlog(
            connection_settings(options),
            position,
            wants,
            server_id=server_id(options),
            is_mariadb=server.is_mariadb,
            by_gtid=by_gtid,
            translate=self._translate,
        )

    def peek(self, patience: float) -> Event | None:
        """What comes next, waiting some seconds for it; it stays.

        :raises BergError: what made reading fail, when all before it was taken.
        """
        if not self._events:
            self._events.extend(self._binlog.read(_ROWS_AT_ONCE, patience))
        return self._events[0] if self._events else None

    def take(self) -> None:
        """Go behind what :meth:`peek` gave."""
        self._events.popleft()

    def close(self) -> None:
        self._binlog.close()

    def _translate(self, error: Exception) -> BergError:
        import pymysql

        what = "The binlog could not be read"
        if isinstance(error, pymysql.err.Error):
            return of_driver(error, self._options, what)
        return lost(self._options, what, str(error))
