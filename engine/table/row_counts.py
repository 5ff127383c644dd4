"""How many rows files have: counts of manifests, less the rows that are deleted by their place.

Deletion vectors are counted by the manifest. Position delete files may name a row twice, or one that there is not: they
are read, but only when the query runs, and what they delete of a file is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.lru import Lru
from bergsql.engine.table.delete_index import PUFFIN
from bergsql.engine.table.deleted_positions import deleted_positions, deletes_key, position_deletes

if TYPE_CHECKING:
    import duckdb

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.planning import FileTask

_counts: Lru[bytes, int] = Lru(20_000)
"""How many rows of a data file are deleted."""


@dataclass(frozen=True)
class RowCount:
    """A number of rows: ``known``, less what is deleted of ``tasks``, which all have position delete files.

    Under its name stands, once it is prepared, a variable with it.
    """

    storage: Storage
    metadata: TableMetadata
    known: int
    tasks: Sequence[FileTask]

    def prepare(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        """Find it. Raises NOT_FOUND or CORRUPT naming a delete file."""
        cursor.execute(f"SET VARIABLE {name} = CAST(? AS BIGINT)", [self.found(cursor, name)])

    def found(self, cursor: duckdb.DuckDBPyConnection, name: str) -> int:
        """The number itself; what is read for it is called ``name``."""
        return self.known - self._deleted(cursor, name)

    def _deleted(self, cursor: duckdb.DuckDBPyConnection, name: str) -> int:
        keys = [deletes_key(t) for t in self.tasks]
        found = [_counts.get(key) for key in keys]
        missing = [i for i, count in enumerate(found) if count is None]
        if missing:
            tasks = [self.tasks[i] for i in missing]
            for i, positions in zip(
                missing, deleted_positions(cursor, self.storage, self.metadata, tasks, name), strict=True
            ):
                # Of the rows that there are: others may be named too.
                found[i] = count = positions.range_cardinality(0, self.tasks[i].data_file.record_count)
                _counts.put(keys[i], count)
        return sum(count for count in found if count is not None)


def row_count(storage: Storage, metadata: TableMetadata, tasks: Sequence[FileTask]) -> int | RowCount:
    """How many rows files have of which none is deleted by key: a number, or what finds it when the query runs.

    Raises CORRUPT naming a data file with two deletion vectors.
    """
    known, unknown = 0, []
    for task in tasks:
        known += task.data_file.record_count
        if not task.deletes:
            continue
        deletes = position_deletes(task)
        file = deletes[0].data_file
        if file.format == PUFFIN and file.referenced_data_file == task.data_file.path:
            known -= file.record_count
        else:
            unknown.append(task)
    return RowCount(storage, metadata, known, tuple(unknown)) if unknown else known
