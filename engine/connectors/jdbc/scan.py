"""Queries of a table: what is selected, how it comes, and the rows as Arrow has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.connectors.jdbc.columns import Family, Stored
from bergsql.engine.connectors.jdbc.errors import has_no_value
from bergsql.engine.connectors.jdbc.url import Dialect
from bergsql.engine.sql.types import TEXTS, Kind
from bergsql.engine.table.arrow_stream import ArrowStream

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlalchemy import ColumnElement, Connection, Select, TableClause

    from bergsql.engine.connectors.jdbc.database import Database
    from bergsql.engine.connectors.jdbc.options import Settings
    from bergsql.engine.connectors.jdbc.values import Values


def table_of(settings: Settings, stored: Sequence[Stored]) -> TableClause:
    """The table for SQLAlchemy: its types are none, values are made for the driver by us."""
    import sqlalchemy as sa

    return sa.table(settings.table, *(sa.column(s.name) for s in stored), schema=settings.schema)


def columns_of(table: TableClause, values: Values) -> Mapping[str, ColumnElement[Any]]:
    """The columns of the database by the names that they are declared with."""
    return {c.name: table.c[s.name] for c, s in zip(values.columns, values.stored, strict=True)}


def selected(table: TableClause, values: Values, positions: Sequence[int], dialect: Dialect) -> Select[Any]:
    """The columns at ``positions`` as they are read; one constant where there are none."""
    import sqlalchemy as sa

    items: list[ColumnElement[Any]] = []
    for i in positions:
        stored, column = values.stored[i], table.c[values.stored[i].name]
        kind = values.columns[i].type.kind
        if dialect is Dialect.MYSQL and stored.family is Family.FLOAT:
            items.append(column.op("+")(sa.literal_column("0e0")))  # a FLOAT alone is sent with six digits
        elif dialect is Dialect.POSTGRES and stored.family is Family.OTHER and (kind in TEXTS or kind is Kind.UUID):
            items.append(sa.cast(column, sa.Text))
        else:
            items.append(column)
    return sa.select(*(items or [sa.literal_column("1")])).select_from(table)


def _fetched(
    database: Database, query: Select[Any], values: Values, positions: Sequence[int], size: int
) -> Iterator[pa.Table]:
    """The rows of a query, some at a time, as they come: the driver never holds more.

    Without ``positions`` only their number counts.
    """
    with database.connected() as connection:
        streaming = connection.execution_options(stream_results=True, max_row_buffer=size)
        for rows in chunks(streaming, query, size, database):
            yield _arrow(rows, values, positions)


def chunks(connection: Connection, query: Select[Any], size: int, database: Database) -> Iterator[Sequence[Any]]:
    """The rows of a query, some at a time.

    :raises BergError: INVALID for a value that Python has none for, as a date before the year 1.
    """
    done = False
    try:
        result = connection.execute(query)
        while rows := result.fetchmany(size):
            yield rows
        done = True
    except Exception as error:
        if not has_no_value(error):
            raise
        text = getattr(error, "orig", error)
        raise BergError(ErrorCode.INVALID, f"A value of {database.name} cannot be read: {text}.") from None
    finally:
        if not done:
            _abandon(connection, database.dialect)


def _arrow(rows: Sequence[Any], values: Values, positions: Sequence[int]) -> pa.Table:
    import pyarrow as pa

    if not positions:
        return pa.table({"one": pa.array([1] * len(rows), pa.int32())})
    return values.read(rows, positions)


def _abandon(connection: Connection, dialect: Dialect) -> None:
    """Leave a query whose rows nobody wants: MySQL's driver would fetch all of them before it closes."""
    if dialect is not Dialect.MYSQL:
        return
    with suppress(Exception):
        driver: Any = connection.connection.driver_connection
        if driver._result is not None:
            driver._result.unbuffered_active = False
        driver._force_close()
        connection.invalidate()


class Rows(ArrowStream):
    """Rows of queries."""

    def __init__(
        self, database: Database, queries: Sequence[Select[Any]], values: Values, positions: Sequence[int], size: int
    ) -> None:
        import pyarrow as pa

        self._database, self._queries, self._values = database, queries, values
        self._positions, self._size = positions, size
        self._schema = values.schema(positions) if positions else pa.schema([("one", pa.int32())])

    def schema(self) -> pa.Schema:
        return self._schema

    def batches(self) -> Iterator[pa.RecordBatch]:
        try:
            for query in self._queries:
                for rows in _fetched(self._database, query, self._values, self._positions, self._size):
                    yield from rows.to_batches()
        finally:
            self._database.close()
