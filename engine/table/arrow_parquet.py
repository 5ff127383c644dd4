"""Parquet files that DuckDB does not read rightly and Arrow does, as streams.

Some have maps that are called MAP_KEY_VALUE, others variants that are null themselves, which DuckDB takes for NULL.

Old writers put MAP_KEY_VALUE on the outer group, and readers are to take it for MAP (Parquet's "Logical Types", Maps,
"Backward-compatibility rules"). DuckDB then refuses the whole file, whatever columns are asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.engine.table.arrow_scan import counted, scanned

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.storage.base import Storage

_null_variants: Lru[tuple[str, int], bool] = Lru(20_000)


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
    from pyarrow import parquet

    try:
        if not columns:
            yield from counted(parquet.read_metadata(storage.readable_path(path)).num_rows)
            return
        yield from scanned(storage.readable_path(path), "parquet", columns)
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        raise _damaged(path) from e


def may_hold_null_variants(storage: Storage, path: str, size: int) -> bool:
    """Whether the statistics of a file leave room for a variant, not shredded, that is its own null: the byte 0, which
    is the least of all values."""
    import pyarrow as pa
    from pyarrow import parquet

    known = _null_variants.get((path, size))
    if known is not None:
        return known
    try:
        metadata = parquet.read_metadata(storage.readable_path(path))
    except (MemoryError, pa.ArrowCancelled):
        raise
    except (OSError, ValueError, pa.ArrowException) as e:
        raise _damaged(path) from e
    paths = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    values = [i for i, p in enumerate(paths) if p.endswith(".value") and p[: -len("value")] + "metadata" in paths]
    chunks = (metadata.row_group(g).column(i) for g in range(metadata.num_row_groups) for i in values)
    found = any(_may_be_null(chunk.statistics, chunk.num_values) for chunk in chunks)
    _null_variants.put((path, size), found)
    return found


def _may_be_null(statistics: Any, values: int) -> bool:
    if statistics is None:
        return True
    if statistics.has_min_max:
        return not statistics.min > b"\0"
    return not (statistics.has_null_count and statistics.null_count == values)


def _damaged(path: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"Data file {path} is damaged or not a Parquet file.")
