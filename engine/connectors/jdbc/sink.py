"""A table of a database as a sink: rows are added, or changes go by the primary key; a transaction a checkpoint."""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.base import LocalSink
from bergsql.engine.connectors.jdbc.columns import look_at
from bergsql.engine.connectors.jdbc.database import Database
from bergsql.engine.connectors.jdbc.options import settings_of
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.connectors.jdbc.values import Values
    from bergsql.engine.streaming.sinks.base import SinkContext, Writer


class JdbcSink(LocalSink):
    """Without a key it takes new rows only.

    tracks
        Whether a table of the database remembers which checkpoints are committed: what has a key needs none.
    """

    def __init__(self, table: ConnectorTable) -> None:
        self.name, self.key = table.name, table.key
        self.columns = tuple(c.streamed for c in table.stored)
        self._table = table
        self.settings = settings_of(table.options)
        self.database = Database(self.settings, table.name)
        self.found = look_at(self.database, self.settings, table.stored)
        self.mode = ChangelogMode.INSERT_ONLY
        self.tracks = not table.key
        self.database.close()
        self._check_key()

    def _check_key(self) -> None:
        """Refuse a key that is none in the database: rows of it would stand there many times."""
        if not self.key:
            return
        names = [self.found.stored[i].name for i in self.key]
        if frozenset(names) not in self.found.uniques:
            raise BergError(
                ErrorCode.INVALID,
                f"{self.name} has the primary key ({', '.join(names)}), and in the database it has no primary key or "
                "unique index of just these columns.",
                hint="Make one there, or declare the key that is there.",
            )

    @cached_property
    def values(self) -> Values:
        from bergsql.engine.connectors.jdbc.values import Values

        return Values(self._table.stored, self.found.stored, self.settings.address, self.name)

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        self.mode = mode
        if mode is ChangelogMode.INSERT_ONLY:
            return
        if not self.key:
            raise BergError(
                ErrorCode.INVALID,
                f"The query gives changes of rows, not only new ones, and {self.name} has no primary key by which they "
                "are told.",
                hint="Declare PRIMARY KEY (…) NOT ENFORCED, as the table in the database has it.",
            )
        if key is None or not set(key) <= set(self.key):
            said, own = (", ".join(self.columns[i].name for i in k) for k in (key or (), self.key))
            raise BergError(
                ErrorCode.INVALID,
                f"The rows of the query are told apart by {'nothing' if key is None else f'({said})'}, and those of "
                f"{self.name} by ({own}): several rows would be one.",
                hint="Make the primary key of the table the columns by which the query's rows are told apart.",
            )

    def at_once(self) -> JdbcSink:
        sink = copy(self)
        sink.tracks = False
        return sink

    def writer(self, context: SinkContext, restored: int) -> Writer:  # noqa: ARG002 - the database or the key knows
        from bergsql.engine.connectors.jdbc.writer import JdbcWriter

        return JdbcWriter(self, context)

    def explain(self) -> str:
        schema = f"{self.settings.schema}." if self.settings.schema else ""
        place = f"{schema}{self.settings.table} of {self.settings.address.shown}"
        if not self.key:
            return f"{self.name}: adds rows to {place}"
        names = ", ".join(self.columns[i].name for i in self.key)
        return f"{self.name}: changes rows of {place} by ({names})"
