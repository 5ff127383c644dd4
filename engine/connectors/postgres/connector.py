"""``postgres-cdc``: the rows of tables of PostgreSQL, and what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.connectors.base import Connector, LocalSource
from bergsql.engine.connectors.postgres.options import METADATA, OPTIONS, check

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable


def _source(table: ConnectorTable) -> LocalSource:
    from bergsql.engine.connectors.postgres.source import PostgresSource

    return PostgresSource(table)


CONNECTOR = Connector(
    "postgres-cdc", lambda _: OPTIONS, source=_source, metadata=METADATA, check=check, documented=OPTIONS
)
