"""A consistent view of the server's tables, with the place in the binlog that it is as of; nothing is locked."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bergsql.engine.connectors.mysql.client import connect
from bergsql.engine.connectors.mysql.errors import told
from bergsql.engine.connectors.mysql.keys import behind
from bergsql.engine.connectors.mysql.values import texts_only

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Server, Session
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.keys import Key
    from bergsql.engine.connectors.mysql.options import MysqlOptions

Place = tuple[str, int]
"""A file of the binlog, and a place in it that is between two transactions."""


class View:
    """A transaction that sees the tables as of a place between ``low`` and ``high``.

    MariaDB tells the place itself, and both are it. MySQL does not: what was committed between them may be seen or
    not, so what the binlog has from there must be put over what is read.
    """

    def __init__(self, options: MysqlOptions, server: Server, session: Session) -> None:
        """``session``: another connection, to ask for the binlog's end."""
        self._options = options
        self.connection: Any = connect(options, autocommit=False)
        self._typed, self._texts = self.connection.decoders, texts_only()
        self.low: Place
        self.high: Place
        self._server = server
        try:
            self.open(session)
        except BaseException:
            self.close()
            raise

    def open(self, session: Session) -> None:
        """See the tables as they are now, and no more as they were."""
        with told(self._options, "A snapshot could not be begun"), self.connection.cursor() as cursor:
            with_place = self._server.tells_places
            low = None if with_place else self._server.status(session)[:2]
            cursor.execute("ROLLBACK")
            cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            cursor.execute("START TRANSACTION READ ONLY, WITH CONSISTENT SNAPSHOT")
            place = None
            if with_place:
                cursor.execute("SHOW STATUS LIKE 'binlog_snapshot_%'")
                found = {str(name).casefold(): value for name, value in cursor.fetchall()}
                place = found["binlog_snapshot_file"], int(found["binlog_snapshot_position"])
            self.low = place or low  # type: ignore[assignment]  # one of them is known
            self.high = place or self._server.status(session)[:2]

    @property
    def exact(self) -> bool:
        return self.low == self.high

    def bound(self, table: Name, key: Sequence[str], after: Key | None, rows: int) -> Key | None:
        """The key with which a chunk of so many rows behind ``after`` ends; None where there are fewer."""
        condition, values = behind([quoted(name) for name in key], after)
        order = ", ".join(map(quoted, key))
        sql = f"SELECT {order} FROM {quoted_table(table)} WHERE {condition} ORDER BY {order} LIMIT {rows - 1}, 1"
        found = self._fetch(table, sql, values, self._typed)
        return found[0] if found else None

    def keys(self, table: Name, key: Sequence[str], after: Key | None, upto: Key | None) -> list[Key]:
        """The keys of :meth:`rows` of the same bounds, in the same order."""
        names = ", ".join(map(quoted, key))
        condition, values = self._between(key, after, upto)
        sql = f"SELECT {names} FROM {quoted_table(table)} WHERE {condition} ORDER BY {names}"
        return self._fetch(table, sql, values, self._typed)

    def rows(
        self, table: Name, items: str, key: Sequence[str], after: Key | None, upto: Key | None
    ) -> list[tuple[Any, ...]]:
        """The rows behind one key and up to another, as texts; None is no bound."""
        names = ", ".join(map(quoted, key))
        condition, values = self._between(key, after, upto)
        sql = f"SELECT {items} FROM {quoted_table(table)} WHERE {condition} ORDER BY {names}"
        return self._fetch(table, sql, values, self._texts)

    @staticmethod
    def _between(key: Sequence[str], after: Key | None, upto: Key | None) -> tuple[str, list[Any]]:
        names = [quoted(name) for name in key]
        condition, values = behind(names, after)
        if upto is not None:
            beyond, more = behind(names, upto)
            condition, values = f"{condition} AND NOT {beyond}", [*values, *more]
        return condition, values

    def _fetch(self, table: Name, sql: str, values: Sequence[Any], decoders: Any) -> list[tuple[Any, ...]]:
        self.connection.decoders = decoders
        with told(self._options, f"Table {'.'.join(table)} could not be read"), self.connection.cursor() as cursor:
            cursor.execute(sql, values)
            return list(cursor.fetchall())

    def whole(self, table: Name, items: str) -> Any:
        """A cursor over all rows of a table, which the server sends as they are fetched."""
        import pymysql.cursors

        with told(self._options, f"Table {'.'.join(table)} could not be read"):
            self.connection.decoders = self._texts
            cursor = self.connection.cursor(pymysql.cursors.SSCursor)
            cursor.execute(f"SELECT {items} FROM {quoted_table(table)}", ())
            return cursor

    def close(self) -> None:
        with suppress(Exception):
            self.connection._force_close()  # an open SSCursor is not read to its end


def quoted(name: str) -> str:
    """A name in backticks, for a statement with parameters."""
    return "`" + name.replace("`", "``").replace("%", "%%") + "`"


def quoted_table(table: Name) -> str:
    return f"{quoted(table[0])}.{quoted(table[1])}"
