"""Tables of MySQL and MariaDB as a source: a snapshot, then the changes that the binlog has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.extras import need
from bergsql.engine.connectors.base import LocalSource
from bergsql.engine.connectors.mysql.client import Server, Session
from bergsql.engine.connectors.mysql.options import parse
from bergsql.engine.connectors.mysql.tables import find_tables, key_of
from bergsql.engine.connectors.reading import read_all
from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.connectors.base import ConnectorTable
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.values import Columns
    from bergsql.engine.plan.relations import ReadAtOnce
    from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext


class MysqlSource(LocalSource):
    """The tables that two patterns name, which have the declared columns. The server is asked when it is made.

    :raises BergError: CONNECTION; CONFIG for a server whose binlog says too little, or a user who may not read it;
        NOT_FOUND and TYPE for tables and columns that are not there or do not fit.
    """

    def __init__(self, table: ConnectorTable) -> None:
        need("Connector 'mysql-cdc'", "mysql-cdc", "pymysql", "pymysqlreplication")
        self.name, self.columns, self.table = table.name, table.streamed, table
        self.options = parse(table.options)
        self.bounded = self.options.startup.mode == "snapshot"
        if not self.options.append_only and not self.bounded:
            self.mode, self.key = ChangelogMode.RETRACT, table.key
        with Session(self.options) as session:
            server = Server.of(session)
            server.check_binlog(self.options)
            _check_privileges(session, self.options.user, self.options.address)
            server.status(session)
            for name in find_tables(session, self.options):
                self.columns_of(session, server, name)
                key_of(session, self.options, name)

    def columns_of(self, session: Session, server: Server, name: Name) -> Columns:
        """The declared columns as a table has them."""
        from bergsql.engine.connectors.mysql.shape import COLUMNS_SQL, KEY_SQL, shape_of
        from bergsql.engine.connectors.mysql.values import Columns
        from bergsql.engine.sql.types import Kind

        shape = shape_of(*name, session.rows(COLUMNS_SQL, name), session.rows(KEY_SQL, name))
        zone = self.options.time_zone or server.time_zone(session)
        for column in self.table.stored if zone is None else ():
            found = shape.column(column.name)
            if found is not None and found.kind == "timestamp" and column.type.kind is not Kind.TIMESTAMP_LTZ:
                raise BergError(
                    ErrorCode.OPTION,
                    f"Column '{column.name}' is an instant in {'.'.join(name)} of MySQL, which does not tell its zone.",
                    hint="Declare it TIMESTAMP_LTZ, or set 'server-time-zone'.",
                )
        old = None if self.bounded else next((c for c in shape.columns if c.untold), None)
        if old is not None:
            raise BergError(
                ErrorCode.CONFIG,
                f"Column '{old.name}' of {'.'.join(name)} is of MariaDB 5.3's format ({old.full.split(' ')[0]}):"
                " the binlog does not say so, and its changes would be read as other values.",
                hint="ALTER TABLE … FORCE writes it anew, with SET GLOBAL mysql56_temporal_format = ON.",
            )
        return Columns(self.name, shape, self.table.stored, zone=zone or "UTC", boolean_bytes=self.options.booleans)

    @property
    def signature(self) -> Mapping[str, Json]:
        options = self.options
        return {
            "connector": "mysql-cdc",
            "server": options.address,
            "database": options.database,
            "table": options.table,
        }

    def explain(self) -> str:
        options = self.options
        return f"{self.name}: tables {options.database}.{options.table} of {options.address}, {options.startup.mode}"

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        from bergsql.engine.connectors.mysql.reader import MysqlReader

        return MysqlReader(self, context, offset)

    def whole(self, prefix: str) -> ReadAtOnce:
        return read_all(self, prefix)


def _check_privileges(session: Session, user: str, address: str) -> None:
    """
    :raises BergError: CONFIG where the user surely may not read the binlog. What a role allows is not known.
    """
    grants = [str(row[0]).upper() for row in session.rows("SHOW GRANTS")]
    everywhere = " ".join(g for g in grants if " ON *.* " in g)
    if any(not re.match(r"GRANT .* ON ", g) for g in grants):
        return
    if "ALL PRIVILEGES" not in everywhere and "REPLICATION SLAVE" not in everywhere:
        raise BergError(
            ErrorCode.CONFIG,
            f"User '{user}' may not read the binlog of MySQL at {address}.",
            hint=f"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO '{user}'.",
        )
