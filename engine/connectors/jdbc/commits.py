"""The table ``bergsql_commits``: which checkpoints of a job's sink a database holds already.

It is written in the transaction of the rows. So rows without a key are there once, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bergsql.catalog.errors import BergError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Insert, Table

    from bergsql.engine.connectors.jdbc.database import Database

NAME: Final = "bergsql_commits"


class Commits:
    """The checkpoints of one sink of a job."""

    def __init__(self, schema: str | None, job: str, sink: str) -> None:
        self._schema, self._job, self._sink = schema, job, sink
        self._table = _table(schema)

    def is_there(self, database: Database) -> BergError | None:
        """Make the table, unless it is there; gives why it cannot be."""
        import sqlalchemy as sa

        def made(connection: Connection) -> None:
            if not sa.inspect(connection).has_table(NAME, self._schema):
                self._table.create(connection)
                connection.commit()

        def stands(connection: Connection) -> bool:
            return sa.inspect(connection).has_table(NAME, self._schema)

        try:
            database.retried(made, 0)
        except BergError as error:
            # Another job may have made it in between.
            return None if database.retried(stands, 0) else error
        return None

    def claim(self, connection: Connection, checkpoint: int) -> bool:
        """Note a checkpoint within the transaction of its rows; False where it is there already.

        Who does the same at this time waits for this transaction, and finds then what it left.
        """
        table = self._table
        first = self._unless_there(connection).values(job=self._job, sink=self._sink, checkpoint_id=checkpoint)
        own = table.update().where(table.c.job == self._job, table.c.sink == self._sink)
        later = own.where(table.c.checkpoint_id < checkpoint).values(checkpoint_id=checkpoint)
        counted = connection.execution_options(preserve_rowcount=True)  # else an INSERT may have none, which is -1
        return any(counted.execute(change).rowcount > 0 for change in (first, later))

    def _unless_there(self, connection: Connection) -> Insert:
        """An INSERT that does nothing where the key stands already."""
        from sqlalchemy.dialects import postgresql, sqlite

        match connection.dialect.name:
            case "postgresql":
                return postgresql.insert(self._table).on_conflict_do_nothing()
            case "sqlite":
                return sqlite.insert(self._table).on_conflict_do_nothing()
        return self._table.insert().prefix_with("IGNORE")


def _table(schema: str | None) -> Table:
    import sqlalchemy as sa

    return sa.Table(
        NAME,
        sa.MetaData(),
        sa.Column("job", sa.String(32), primary_key=True),
        sa.Column("sink", sa.String(190), primary_key=True),
        sa.Column("checkpoint_id", sa.BigInteger, nullable=False, autoincrement=False),
        schema=schema,
        mysql_engine="InnoDB",
        mariadb_engine="InnoDB",
    )
