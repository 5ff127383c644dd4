"""Rows of a data file as Arrow's datasets give them: a batch at a time, in one thread, in the order of the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.table.arrow_types import without_columns

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 8192
"""Rows of a batch: each file that is read holds no more of them at once."""


def scanned(path: str, file_format: str, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """Some columns, by their places, of the file at ``path``, of a format that Arrow knows (``orc``, ``parquet``)."""
    from pyarrow import dataset

    source = dataset.dataset(path, format=file_format)
    names = [source.schema.names[i] for i in columns]
    scanner = source.scanner(
        columns={name: dataset.field(name) for name in names},
        batch_size=BATCH_ROWS,
        use_threads=False,
        batch_readahead=1,
        fragment_readahead=1,
    )
    yield from scanner.to_batches()


def counted(rows: int) -> Iterator[pa.RecordBatch]:
    """So many rows of no columns."""
    for at in range(0, rows, BATCH_ROWS):
        yield without_columns(min(BATCH_ROWS, rows - at))
