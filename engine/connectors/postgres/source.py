"""Tables of PostgreSQL as a stream: their rows, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bergsql.catalog.extras import need
from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.connectors.postgres.options import SNAPSHOT, settings_of
from bergsql.engine.connectors.postgres.texts import Columns
from bergsql.engine.connectors.reading import read_all
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.plan.relations import ReadAtOnce
    from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext


class PostgresSource(LocalSource):
    """Tables whose names match. Bounded where only their rows are asked for."""

    def __init__(self, table: ConnectorTable) -> None:
        """:raises BergError: CONFIG where the driver is not installed."""
        need("Connector 'postgres-cdc'", "postgres-cdc", "psycopg")
        self.name, self.columns = table.name, table.streamed
        self.settings = settings_of(table.options)
        self.texts = Columns(table.columns, self.settings.database, table.name)
        self.key_names = tuple(table.columns[k].name for k in table.key)
        self.bounded = self.settings.startup == SNAPSHOT
        if not self.bounded:
            self.mode = ChangelogMode.UPSERT if self.settings.upsert else ChangelogMode.RETRACT
            self.key = table.key

    @property
    def signature(self) -> Mapping[str, Json]:
        at = self.settings
        return {
            "connector": "postgres-cdc",
            "database": at.place,
            "schemas": at.schemas,
            "tables": at.tables,
            "slot": None if self.bounded else at.slot,
        }

    def explain(self) -> str:
        at = self.settings
        how = "rows" if self.bounded else f"changes by slot {at.slot}, {'upsert' if at.upsert else 'all'}"
        return f"{self.name}: {at.schemas}.{at.tables} of postgres {at.place}, {how}, from {at.startup}"

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        from bergsql.engine.connectors.postgres.reader import open_reader

        return open_reader(self, context, offset)

    def whole(self, prefix: str) -> ReadAtOnce:
        return read_all(self, prefix)
