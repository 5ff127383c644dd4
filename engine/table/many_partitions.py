"""Writes that meet more partitions than one COPY should have.

DuckDB keeps something for every open partition of a COPY: above some ten thousand it slows down out of proportion
(1 ms a file at 8,000, 17 ms at 100,000). Nobody knows the number beforehand without running the query, so the files of
a COPY are counted while it runs; if they are too many, it is stopped and the rows go to disk once more, in portions
with few partitions each.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from os import scandir
from typing import TYPE_CHECKING

from bergsql.engine.duck import duckdb
from bergsql.engine.sql.quoting import string_literal

if TYPE_CHECKING:
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.copy_sql import Rows
    from bergsql.engine.table.staging import Staging

MOST_FILES = 8000
PORTIONS = 256
_LOOK_EVERY = 0.25
"""Seconds between two looks at the number of files."""


class TooManyPartitions(Exception):
    """The COPY was stopped because it had written too many files."""


def copy_watched(cursor: duckdb.DuckDBPyConnection, directory: str, copy: Callable[[], None]) -> None:
    """Run ``copy``, which writes to the local ``directory``; TooManyPartitions if there are too many files in it."""
    done, exceeded = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_EVERY):
            if _count(directory) > MOST_FILES:
                exceeded.set()
                cursor.interrupt()
                return

    watcher = threading.Thread(target=watch, name="partitions", daemon=True)
    watcher.start()
    try:
        copy()
    except duckdb.InterruptException:
        if exceeded.is_set():
            raise TooManyPartitions from None
        raise
    finally:
        done.set()
        watcher.join()


def _count(directory: str) -> int:
    try:
        with scandir(directory) as files:
            return sum(1 for _ in files)
    except OSError:
        return 0  # whatever is wrong with the directory, the COPY will say so


def copy_in_portions(
    cursor: duckdb.DuckDBPyConnection, rows: Rows, storage: Storage, staging: Staging
) -> Iterator[str]:
    """Spread the rows over portions on disk, by their partitions, and give each as something to select from.

    The partition keys come back as text. A portion is deleted when the next one is asked for.
    """
    staging.clear()
    spread = staging.subdirectory("spread")
    keys = rows.key_columns
    items = ", ".join((*(c.sql for c in rows.columns), *(f"CAST({k} AS VARCHAR) AS {k}" for k in keys)))
    portion = f"{keys[0]}_portion"
    cursor.execute(
        f"COPY (SELECT {items}, hash({', '.join(keys)}) % {PORTIONS} AS {portion} FROM {rows.source}) "
        f"TO {string_literal(storage.local_path(spread))} "
        f"(FORMAT parquet, COMPRESSION lz4_raw, PARTITION_BY ({portion}))"
    ).fetchall()
    for name, is_dir in sorted(storage.list(spread)):
        if is_dir:
            directory = f"{spread}/{name}"
            files = [string_literal(storage.local_path(f"{directory}/{file}")) for file, _ in storage.list(directory)]
            yield f"(SELECT * FROM read_parquet([{', '.join(files)}], hive_partitioning = false))"
            storage.delete_tree(directory)
