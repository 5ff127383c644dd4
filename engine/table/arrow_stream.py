"""Rows that DuckDB reads as a stream, a batch at a time, by Arrow's PyCapsule interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.duck import StreamFailure

if TYPE_CHECKING:
    import pyarrow as pa


class ArrowStream(ABC):
    """It is asked anew each time that a query reads it. An error of ours comes out of the query as it is."""

    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the batches."""

    @abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows, from the first one on."""

    def __arrow_c_schema__(self) -> Any:
        with _told():
            return self.schema().__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        with _told():
            schema = self.schema()
        return pa.RecordBatchReader.from_batches(schema, self._told_batches()).__arrow_c_stream__(requested_schema)

    def _told_batches(self) -> Iterator[pa.RecordBatch]:
        with _told():
            yield from self.batches()


@contextmanager
def _told() -> Iterator[None]:
    """Turns an error of ours into a text that what reads it knows again."""
    try:
        yield
    except BergError as error:
        raise StreamFailure(error) from error
    except KeyboardInterrupt as interruption:
        raise StreamFailure(BergError(ErrorCode.INTERRUPTED, "")) from interruption
