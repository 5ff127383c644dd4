"""``mysql-cdc``: tables of MySQL and MariaDB with their changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.connectors.base import Connector, LocalSource
from bergsql.engine.connectors.mysql.changes import METADATA
from bergsql.engine.connectors.mysql.options import OPTIONS, parse

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable


def _source(table: ConnectorTable) -> LocalSource:
    from bergsql.engine.connectors.mysql.source import MysqlSource

    return MysqlSource(table)


def _check(table: ConnectorTable) -> None:
    parse(table.options)


CONNECTOR = Connector(
    "mysql-cdc", lambda _: OPTIONS, source=_source, metadata=METADATA, check=_check, documented=OPTIONS
)
