"""Read tables of MySQL by ``mysql-cdc`` in the test's process: a reader, stopped and opened again at will."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from bergsql.engine.connectors.base import ConnectorTable, TableColumn
from bergsql.engine.connectors.mysql.source import MysqlSource
from bergsql.engine.sql.types import DataType
from bergsql.engine.streaming.changelog import RowKind, column
from bergsql.engine.streaming.sources.base import Json, Reader
from tests.support.services.mariadb import PASSWORD, USER, MariaDB
from tests.support.streams import Change, fold

DEADLINE = 40.0


def options(server: MariaDB, database: str, table: str, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """What WITH says, without ``connector``."""
    return {
        "hostname": "127.0.0.1",
        "port": str(server.port),
        "username": USER,
        "password": PASSWORD,
        "database-name": database,
        "table-name": table,
        **(more or {}),
    }


def source(
    given: Mapping[str, str], columns: Mapping[str, DataType], metadata: Sequence[TableColumn] = ()
) -> MysqlSource:
    """The source of a table whose first column is its primary key."""
    declared = (*(TableColumn(name, type_) for name, type_ in columns.items()), *metadata)
    return MysqlSource(ConnectorTable("t", declared, given, key=(0,)))


class Place:
    """What a reader is given."""

    def __init__(self, max_rows: int) -> None:
        self.cursor = duckdb.connect()
        self.time_zone = "UTC"
        self.max_rows = max_rows
        self.max_bytes = 1 << 20
        self.notes: list[str] = []
        self._made = self._dropped = 0

    def relation(self, rows: pa.Table) -> str:
        self._made += 1
        self.cursor.register(f"r{self._made}", rows)
        return f"r{self._made}"

    def drop(self) -> None:
        """Drop what the round made."""
        for at in range(self._dropped, self._made):
            self.cursor.unregister(f"r{at + 1}")
        self._dropped = self._made

    def note(self, message: str) -> None:
        self.notes.append(message)


class Reading:
    """A reader at work, what it gave, and its last checkpoint."""

    def __init__(self, of: MysqlSource, *, max_rows: int = 10_000) -> None:
        self.source, self.place = of, Place(max_rows)
        self.changes: list[Change] = []
        """Up to the last checkpoint and behind it."""
        self.kept: tuple[int, Json] = 0, None
        self.reader: Reader
        self.open()

    def open(self) -> None:
        self.reader = self.source.reader(self.place, self.kept[1])

    def poll(self) -> int:
        """One poll; how many changes it gave."""
        batch = self.reader.poll()
        if batch is None:
            return 0
        names = ", ".join(column(at) for at in range(len(self.source.columns)))
        rows = self.place.cursor.execute(f"SELECT op, {names} FROM {batch.sql}").fetchall()
        self.place.drop()
        self.changes += [(RowKind(op).symbol, *values) for op, *values in rows]
        return len(rows)

    def checkpoint(self) -> None:
        if not self.reader.holds:
            self.kept = len(self.changes), self.reader.offset

    def restart(self) -> None:
        """Die and begin again at the last checkpoint."""
        self.reader.close()
        del self.changes[self.kept[0] :]
        self.open()

    def until(self, holds: Callable[[], object]) -> None:
        """Poll until something holds."""
        deadline = time.monotonic() + DEADLINE
        while not holds():
            if not self.poll():
                assert time.monotonic() < deadline, (self.changes[-5:], self.reader.offset)
                time.sleep(0.001)

    def until_rows(self, rows: Callable[[], Counter[Change]]) -> None:
        """Poll until the changes make these rows, when nothing is behind them."""
        deadline = time.monotonic() + DEADLINE
        while self.poll() or (made := self.folded()) != (wanted := rows()):
            assert time.monotonic() < deadline, (made - wanted, wanted - made, self.reader.offset)

    def folded(self) -> Counter[Change]:
        return fold(self.changes)


@contextmanager
def reading(of: MysqlSource, *, max_rows: int = 10_000) -> Iterator[Reading]:
    made = Reading(of, max_rows=max_rows)
    try:
        yield made
    finally:
        made.reader.close()


def rows_of(server: MariaDB, sql: str) -> Counter[Any]:
    return Counter(server.run(sql))
