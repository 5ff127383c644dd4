"""``jdbc``: tables of MySQL, MariaDB, PostgreSQL and SQLite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.connectors.base import Connector, LocalSink, LocalSource
from bergsql.engine.connectors.jdbc.options import OPTIONS, check

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable


def _source(table: ConnectorTable) -> LocalSource:
    from bergsql.engine.connectors.jdbc.source import JdbcSource

    return JdbcSource(table)


def _sink(table: ConnectorTable) -> LocalSink:
    from bergsql.engine.connectors.jdbc.sink import JdbcSink

    return JdbcSink(table)


CONNECTOR = Connector("jdbc", lambda _: OPTIONS, source=_source, sink=_sink, check=check, documented=OPTIONS)
