"""A PostgreSQL with logical replication."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from tests.support.services.server import Server

if TYPE_CHECKING:
    from psycopg import Connection

USER = "postgres"


class Postgres(Server):
    script = "postgres"
    stop_signal = signal.SIGINT

    def connect(self, database: str = "postgres", **more: Any) -> Connection[Any]:
        """A connection that commits each statement."""
        import psycopg

        return psycopg.connect(host="127.0.0.1", port=self.port, user=USER, dbname=database, autocommit=True, **more)

    def serves(self) -> bool:
        self.connect(connect_timeout=1).close()
        return True

    def run(self, *statements: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run statements, each for itself; the rows of the last one, if it has any."""
        connection = self.connect(database)
        try:
            with connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()
