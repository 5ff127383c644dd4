"""Rows that are deleted by their place, as bits that DuckDB tests; looked up only when a query is about to read them.

Deletion vectors and position delete files never change, nor does what they make of a data file: the bits are kept in a
bounded cache. Two ways of testing them: a branch for each file, the bits being constants of its filter, costs the least
for a row; a join of all files with their bits costs the least for a file, and where a filter leaves few rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.catalog.lru import Lru
from bergsql.engine.duck import set_variables
from bergsql.engine.table.deleted_positions import deleted_positions, deletes_key
from bergsql.engine.table.file_groups import PARQUET, DeleteSql
from bergsql.engine.table.file_streams import count_rows
from bergsql.engine.table.roaring import plain_bits

if TYPE_CHECKING:
    import duckdb
    from pyroaring import BitMap

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.file_groups import FileGroup
    from bergsql.engine.table.planning import FileTask

MOST_BRANCHES = 64
"""Of more files, the bits are joined."""
CACHE_BYTES = 64 << 20
_MOST_ROWS = (1 << 31) - 8
"""DuckDB counts bits in 32 bits with a sign."""

OF_FILE, LENGTH, BITS = "of_file", "length", "bits"
"""The columns of the table that is joined."""

_cache: Lru[tuple[object, ...], bytes] = Lru(CACHE_BYTES)


@dataclass(frozen=True)
class DeletedRows:
    """The deleted rows of data files, all of which have position deletes.

    Under its name stands, once it is prepared: a variable with a list of BIT, each as long as its file or longer, or,
    if ``joined``, a table of ``OF_FILE`` (from 0), ``BITS`` and ``LENGTH``, how many bits there are.
    """

    storage: Storage
    metadata: TableMetadata
    tasks: Sequence[FileTask]
    joined: bool

    def prepare(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        """Find the rows. Raises NOT_FOUND or CORRUPT naming a delete file."""
        import pyarrow as pa

        bits = self._bits(cursor, name)
        if not self.joined:
            bits = [b.ljust((self._rows(t) + 7) // 8, b"\0") for b, t in zip(bits, self.tasks, strict=True)]
        table = pa.table(
            {
                OF_FILE: pa.array(range(len(bits)), pa.uint64()),
                LENGTH: pa.array([8 * len(b) for b in bits], pa.int64()),
                BITS: pa.array([b or b"\0" for b in bits], pa.large_binary()),
            }
        )
        set_variables(cursor, {f"{name}_bits": table})
        if self.joined:
            # A table of DuckDB's own has statistics, by which the join becomes a look-up.
            what = f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT {OF_FILE}, {LENGTH}, CAST({BITS} AS BIT) AS {BITS}"
            cursor.execute(f"{what} FROM temp.main.{name}_bits")
        else:
            what = f"list(CAST({BITS} AS BIT) ORDER BY {OF_FILE})"
            cursor.execute(f"SET VARIABLE {name} = (SELECT {what} FROM temp.main.{name}_bits)")
        cursor.unregister(f"{name}_bits")

    def _bits(self, cursor: duckdb.DuckDBPyConnection, name: str) -> list[bytes]:
        keys = [deletes_key(task) for task in self.tasks]
        found = [_cache.get(key) for key in keys]
        missing = [i for i, bits in enumerate(found) if bits is None]
        if missing:
            tasks = [self.tasks[i] for i in missing]
            found_positions = deleted_positions(cursor, self.storage, self.metadata, tasks, name)
            for i, positions in zip(missing, found_positions, strict=True):
                bits = plain_bits(self._cut(self.tasks[i], positions))
                _cache.put(keys[i], bits, len(bits) + 500)
                found[i] = bits
        return [b"" if bits is None else bits for bits in found]

    def _cut(self, task: FileTask, positions: BitMap) -> BitMap:
        """The positions without those behind the file's last row, of which no bits are to be made."""
        from pyroaring import BitMap

        if positions and positions.max() >= task.data_file.record_count:
            positions = positions & BitMap(range(self._rows(task)))
        return positions

    def _rows(self, task: FileTask) -> int:
        """How many rows the file has, whatever the manifest says."""
        rows = count_rows(self.storage, task.data_file)
        if rows > _MOST_ROWS:
            raise not_supported(f"Reading data file {task.data_file.path} of {rows} rows with deletes")
        return rows


@dataclass(frozen=True, slots=True)
class PositionDeletes:
    """Leaves out what is deleted by place; ``few`` when a filter is to leave few of the rows anyhow."""

    storage: Storage
    metadata: TableMetadata
    few: bool

    def rows_left(
        self,
        group: FileGroup,
        name: str,
        read: Mapping[str, NestedField],
        variables: dict[str, object],
        *,
        index: bool,
        position: bool,
        keep_deleted: bool,
    ) -> str:
        """:meth:`FileGroup.rows` of a group with position deletes; what it reads by name goes to ``variables``.

        ``read`` are the fields by the names that they get.
        """
        fields, names = tuple(read.values()), tuple(read)
        bits, place = f"{name}_deleted", "CAST(file_row_number AS INTEGER)"
        branches = group.file_format == PARQUET and len(group.tasks) <= (1 if self.few else MOST_BRANCHES)
        variables[bits] = DeletedRows(self.storage, self.metadata, group.tasks, joined=not branches)
        if branches:
            selects = []
            for i, file in enumerate(group.files(self.storage)):
                test = DeleteSql(f"(get_bit(list_extract(getvariable('{bits}'), {i + 1}), {place}) = 1)")
                selects.append(
                    file.rows(
                        name,
                        fields,
                        names=names,
                        index=index,
                        position=position,
                        deletes=test,
                        keep_deleted=keep_deleted,
                    )
                )
            return " UNION ALL ".join(selects)
        variables[name] = group.source(self.storage, fields, positions=True)
        test = DeleteSql(
            f"(CASE WHEN file_row_number < b.{LENGTH} THEN get_bit(b.{BITS}, {place}) ELSE 0 END = 1)",
            f" JOIN temp.main.{bits} AS b ON b.{OF_FILE} = file_index",
        )
        return group.rows(
            name, fields, names=names, index=index, position=position, deletes=test, keep_deleted=keep_deleted
        )
