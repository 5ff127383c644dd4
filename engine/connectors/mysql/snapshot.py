"""The rows that are there: table by table, chunk by chunk, each chunk as of one place in the binlog."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.mysql.errors import told
from bergsql.engine.connectors.mysql.view import View

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.client import Server, Session
    from bergsql.engine.connectors.mysql.keys import Key
    from bergsql.engine.connectors.mysql.known import KnownTable
    from bergsql.engine.connectors.mysql.options import MysqlOptions

_VIEW_SECONDS: Final = 2.0
"""How long one view is used: the server keeps old versions of rows for it."""
_ROWS_AT_ONCE: Final = 10_000
"""Rows of a batch of a table that is read in one go, at most."""
_BYTES_AT_ONCE: Final = 16 << 20
"""Of rows that are wide there are fewer in a chunk, and in such a batch: about so many bytes."""
_TRIES: Final = 100
"""How often a server is asked for a view between two transactions."""


class Chunk(NamedTuple):
    """Rows of a snapshot.

    filled
        Rows of the binlog that belong to them, each with its columns' names.
    upto
        Their last key; None at the table's end.
    """

    rows: Sequence[Sequence[Any]]
    filled: Sequence[tuple[tuple[str, ...], Sequence[Any]]]
    upto: Key | None


class TableSnapshot:
    """One table being read, with a view that is opened again from time to time.

    Between :meth:`look` and the chunks of a view the binlog must be read up to :attr:`high`; what it has meanwhile of
    rows that were not read yet is told by :meth:`changed`.
    """

    def __init__(self, options: MysqlOptions, server: Server, session: Session, table: KnownTable) -> None:
        self._options, self._session, self._table = options, session, table
        self._most = self._rows_at_once()
        self.view = View(options, server, session)
        self._used_since: float | None = None
        self._fills: dict[Key, tuple[Key, tuple[tuple[str, ...], Sequence[Any]] | None]] = {}
        self._cursor: Any = None
        self.begun = False
        """Whether rows were given that only count when all are."""
        if not table.unique:
            self._make_exact()

    def _rows_at_once(self) -> int:
        """How many rows of the table are held in memory at most, by what the server knows of their width."""
        sql = "SELECT AVG_ROW_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        widths = [int(row[0] or 0) for row in self._session.rows(sql, self._table.name)]
        return max(1, _BYTES_AT_ONCE // max(1, *widths, 1))

    def _make_exact(self) -> None:
        tries = 0
        while not self.view.exact:
            tries += 1
            if tries > _TRIES:
                message = f"No moment was found at which nothing is committed, to read {self._table.shown} in one go."
                hint = "Give the table a primary key, or read it while less is written."
                raise BergError(ErrorCode.CONNECTION, message, hint=hint)
            self.view.open(self._session)

    @property
    def high(self) -> tuple[str, int]:
        """The place in the binlog up to which it must be read before the next chunk."""
        return self.view.high

    @property
    def stale(self) -> bool:
        """Whether a new view is due."""
        since = self._used_since
        return bool(self._table.key) and since is not None and time.monotonic() - since > _VIEW_SECONDS

    def look(self) -> None:
        """See the table as it is now. What the binlog has up to :attr:`high` is to be read again."""
        self._fills.clear()
        self.view.open(self._session)
        if not self._table.unique:
            self._make_exact()
        self._used_since = None

    def changed(self, key: Key, row: tuple[tuple[str, ...], Sequence[Any]] | None) -> None:
        """A row behind what was read is that, with its columns' names, or is gone."""
        if not self.view.exact:
            self._fills[self._table.comparable(key)] = (key, row)

    def chunk(self, after: Key | None) -> Chunk:
        """The next rows behind a key, as of :attr:`high`."""
        table, size = self._table, min(self._options.chunk_size, self._most)
        self._used_since = self._used_since or time.monotonic()
        names = [c.name for c in table.key]
        upto = self.view.bound(table.name, names, after, size)
        rows: list[Sequence[Any]] = list(self.view.rows(table.name, self._items(), names, after, upto))
        filled: list[tuple[tuple[str, ...], Sequence[Any]]] = []
        if self._fills:
            keys = [key for key, _ in self._fills.values()]
            within = [True] * len(keys) if upto is None else table.order(self._session).upto(keys, upto)
            taken = [k for k, inside in zip(list(self._fills), within, strict=True) if inside]
            known = set(taken)
            there = self.view.keys(table.name, names, after, upto)
            rows = [r for r, k in zip(rows, there, strict=True) if table.comparable(k) not in known]
            filled = [row for k in taken if (row := self._fills.pop(k)[1]) is not None]
        return Chunk(rows, filled, upto)

    def part(self) -> list[tuple[Any, ...]]:
        """The next rows of a table that is read in one go; none at its end."""
        with told(self._options, f"Table {self._table.shown} could not be read"):
            if self._cursor is None:
                self._cursor = self.view.whole(self._table.name, self._items())
            most = min(max(self._options.fetch_size, _ROWS_AT_ONCE), self._most)
            found: list[tuple[Any, ...]] = self._cursor.fetchmany(most)
        self.begun = True
        return found

    def _items(self) -> str:
        return ", ".join(self._table.columns.select()).replace("%", "%%")

    def close(self) -> None:
        self.view.close()
