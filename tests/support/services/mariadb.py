"""A MariaDB with a binlog."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tests.support.services.server import Server

if TYPE_CHECKING:
    from pymysql import Connection

USER = "cdc"
PASSWORD = "cdc"


class MariaDB(Server):
    script = "mariadb"

    def connect(self, **more: Any) -> Connection[Any]:
        """A connection that commits each statement."""
        import pymysql

        given = {"charset": "utf8mb4", "autocommit": True, **more}
        return pymysql.connect(host="127.0.0.1", port=self.port, user=USER, password=PASSWORD, **given)

    def serves(self) -> bool:
        self.connect(connect_timeout=1).close()
        return True

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements, each for itself; the rows of the last one."""
        with self.connect() as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def run_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one statement with many rows of values, in one transaction."""
        with self.connect(autocommit=False) as connection, connection.cursor() as cursor:
            cursor.executemany(statement, rows)
            connection.commit()
