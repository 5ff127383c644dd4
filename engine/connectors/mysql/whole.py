"""All rows of a table as of one moment, for a statement that reads it at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError
from bergsql.engine.connectors.mysql.client import Server, Session

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.mysql.changes import Shape
    from bergsql.engine.connectors.mysql.known import KnownTable
    from bergsql.engine.connectors.mysql.options import MysqlOptions


class WholeTable:
    """A stream of Arrow's PyCapsule interface, asked anew each time that it is read."""

    def __init__(self, options: MysqlOptions, table: KnownTable, shape: Shape) -> None:
        self._options, self._table, self._shape = options, table, shape
        self._schema = shape.snapshot(table.columns.from_select([])).schema

    def __arrow_c_schema__(self) -> object:
        return self._schema.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        import pyarrow as pa

        reader: Any = pa.RecordBatchReader.from_batches(self._schema, self._batches())
        return reader.__arrow_c_stream__()

    def _batches(self) -> Iterator[pa.RecordBatch]:
        from bergsql.engine.connectors.mysql.snapshot import TableSnapshot
        from bergsql.engine.duck import StreamFailure

        try:
            with Session(self._options) as session:
                snapshot = TableSnapshot(self._options, Server.of(session), session, self._table)
                try:
                    while rows := snapshot.part():
                        yield from self._shape.snapshot(self._table.columns.from_select(rows)).to_batches()
                finally:
                    snapshot.close()
        except BergError as error:
            raise StreamFailure(error) from None
