"""Parquet files that DuckDB fails on and Arrow does not, as streams: such whose maps are called MAP_KEY_VALUE.

Old writers put that annotation on the outer group, and readers are to take it for MAP (Parquet's "Logical Types", Maps,
"Backward-compatibility rules"). DuckDB then refuses the whole file, whatever columns are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.arrow_types import without_columns

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.storage.base import Storage

_BATCH_ROWS = 8192


def parquet_columns(storage: Storage, path: str) -> list[pa.Field]:
    """The columns of a file, with their field ids. CORRUPT when it is damaged."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        return list(parquet.read_schema(storage.readable_path(path)))
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        raise _damaged(path) from e


def read_parquet_batches(storage: Storage, path: str, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, of some of its columns: their positions, ascending. CORRUPT when it is damaged."""
    import pyarrow as pa
    from pyarrow import dataset, parquet

    try:
        if not columns:
            rows = parquet.read_metadata(storage.readable_path(path)).num_rows
            for at in range(0, rows, _BATCH_ROWS):
                yield without_columns(min(_BATCH_ROWS, rows - at))
            return
        source = dataset.dataset(storage.readable_path(path), format="parquet")
        names = [source.schema.names[i] for i in columns]
        scanner = source.scanner(
            columns={name: dataset.field(name) for name in names},
            batch_size=_BATCH_ROWS,
            use_threads=False,
            batch_readahead=1,
            fragment_readahead=1,
        )
        yield from scanner.to_batches()
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        raise _damaged(path) from e


def _damaged(path: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"Data file {path} is damaged or not a Parquet file.")
