"""The statements that write rows to a table of a database. Values are parameters, names are quoted by SQLAlchemy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bergsql.engine.connectors.jdbc.scan import table_of
from bergsql.engine.connectors.jdbc.url import Dialect

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from bergsql.engine.connectors.jdbc.columns import StoredTable
    from bergsql.engine.connectors.jdbc.options import Settings

Row = Sequence[Any]

_ROWS = "__bergsql_rows__"
"""What stands for rows in a statement until the driver fills them in."""
_MOST_KEYS = 500
"""Of one DELETE."""


class Statements:
    """How rows of all columns are added, put in the place of those with their keys, and deleted by key."""

    def __init__(self, settings: Settings, found: StoredTable, key: Sequence[int]) -> None:
        self._table = table_of(settings, found.stored)
        self._names = [s.name for s in found.stored]
        self._key = list(key)
        self._by = [self._table.c[self._names[i]] for i in key]
        self._rest = [n for i, n in enumerate(self._names) if i not in self._key]
        own = frozenset(self._names[i] for i in key)
        mysql = settings.address.dialect is Dialect.MYSQL
        self._one_by_one = mysql and any(u != own for u in found.uniques)
        """MySQL takes a row of any unique index for the one to change: there that would be another row."""
        self._dialect = settings.address.dialect

    def insert(self, connection: Connection, rows: Sequence[Row]) -> None:
        if rows:
            self._put(connection, self._table.insert(), rows)

    def upsert(self, connection: Connection, rows: Sequence[Row]) -> None:
        if not rows:
            return
        if self._one_by_one and self._rest:
            self.insert(connection, [row for row in rows if not self._updated(connection, row)])
        else:
            self._put(connection, self._upsert(connection), rows)

    def delete(self, connection: Connection, rows: Sequence[Row]) -> None:
        import sqlalchemy as sa

        for start in range(0, len(rows), _MOST_KEYS):
            # Of no type: a text would be called VARCHAR, which PostgreSQL compares with no UUID and no ENUM.
            keys = [
                [sa.literal(row[i], sa.types.NullType()) for i in self._key] for row in rows[start : start + _MOST_KEYS]
            ]
            if len(self._by) == 1:
                condition = self._by[0].in_([value for (value,) in keys])
            else:
                condition = sa.tuple_(*self._by).in_([sa.tuple_(*key) for key in keys])
            connection.execute(self._table.delete().where(condition))

    def _put(self, connection: Connection, statement: Any, rows: Sequence[Row]) -> None:
        """Run an INSERT with many rows."""
        connection.execute(statement, self._named(rows))

    def _named(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        return [dict(zip(self._names, row, strict=True)) for row in rows]

    def _updated(self, connection: Connection, row: Row) -> bool:
        """Change the row with the key of ``row``; False where there is none."""
        given = dict(zip(self._names, row, strict=True))
        at = [column == row[i] for column, i in zip(self._by, self._key, strict=True)]
        statement = self._table.update().where(*at).values({n: given[n] for n in self._rest})
        return bool(connection.execute(statement).rowcount)

    def _upsert(self, connection: Connection) -> Any:
        import sqlalchemy as sa
        from sqlalchemy.dialects import mysql, postgresql, sqlite

        if self._dialect is Dialect.MYSQL:
            names = type(connection.dialect.identifier_preparer)(connection.dialect)
            names._double_percents = False  # a literal's are doubled as it is
            # VALUES(c), and no alias: by that the driver knows a statement that takes many rows.
            changed = self._rest or self._names[:1]
            return mysql.insert(self._table).on_duplicate_key_update(
                {n: sa.literal_column(f"VALUES({names.quote(n)})") for n in changed}
            )
        made: Any = (postgresql if self._dialect is Dialect.POSTGRES else sqlite).insert(self._table)
        if not self._rest:
            return made.on_conflict_do_nothing(index_elements=self._by)
        return made.on_conflict_do_update(index_elements=self._by, set_={n: made.excluded[n] for n in self._rest})
