"""Rows that are deleted by their place, as bits that DuckDB tests; looked up only when a query is about to read them.

Deletion vectors and position delete files never change, nor does what they make of a data file: the bits are kept in a
bounded cache. Two ways of testing them: a branch for each file, the bits being constants of its filter, costs the least
for a row; a join of all files with their bits costs the least for a file, and where a filter leaves few rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.catalog.lru import Lru
from bergsql.engine.duck import set_variables
from bergsql.engine.table.deleted_positions import ENTRY_BYTES, deleted_positions, deletes_key, position_deletes
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
IN_A_LIST = 8
"""Files whose bits one variable holds: DuckDB copies the whole list for a branch, and takes long to set a variable."""
_BLOCK_ROWS = 1 << 28
"""Rows of data files whose bits (32 MiB) are found at a time, so that those of many files are never all in Python."""
CACHE_BYTES = 64 << 20
_MANY = 1 << 24
"""Of more rows, what the manifest says is not believed."""
_MOST_ROWS = (1 << 31) - 8
"""DuckDB counts bits in 32 bits with a sign."""

OF_FILE, LENGTH, BITS = "of_file", "length", "bits"
"""The columns of the table that is joined."""

_cache: Lru[bytes, bytes] = Lru(CACHE_BYTES)


@dataclass(frozen=True)
class DeletedRows:
    """The deleted rows of data files, all of which have position deletes.

    By its name are found, once it is prepared: variables of ``IN_A_LIST`` BIT each, the first one's number behind the
    name, or, if ``joined``, a table of ``OF_FILE`` (from 0), ``BITS`` and ``LENGTH``, how many bits there are. If they
    are ``padded``, there are as many as the file has rows, or more.
    """

    storage: Storage
    metadata: TableMetadata
    tasks: Sequence[FileTask]
    joined: bool
    padded: bool

    def prepare(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        """Find the rows. Raises NOT_FOUND or CORRUPT naming a delete file."""
        if not self.joined:
            what = f"SELECT list(CAST({BITS} AS BIT) ORDER BY {OF_FILE})"
            for start, block in _blocks(self.tasks):
                bits = self._bits(cursor, name, block)
                for i in range(0, len(bits), IN_A_LIST):
                    some, number = bits[i : i + IN_A_LIST], start + i
                    _with_table(cursor, f"SET VARIABLE {name}_{number} = ({what} FROM {{}})", name, number, some)
            return
        # A table of DuckDB's own has statistics, by which the join becomes a look-up.
        columns = f"{OF_FILE} UBIGINT, {LENGTH} BIGINT, {BITS} BIT"
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} ({columns})")
        into = f"INSERT INTO temp.main.{name} SELECT {OF_FILE}, {LENGTH}, CAST({BITS} AS BIT) FROM {{}}"
        for start, block in _blocks(self.tasks):
            _with_table(cursor, into, name, start, self._bits(cursor, name, block))

    def _bits(self, cursor: duckdb.DuckDBPyConnection, name: str, tasks: Sequence[FileTask]) -> list[bytes]:
        found: list[bytes | None] = [None] * len(tasks)
        for i, task in enumerate(tasks):
            if task.gone is not None:
                found[i] = plain_bits(self._cut(task, self._gone(cursor, name, task)))
        keys = [deletes_key(task) for task in tasks]
        found = [_cache.get(key) if bits is None else bits for key, bits in zip(keys, found, strict=True)]
        missing = [i for i, bits in enumerate(found) if bits is None]
        if missing:
            wanted = [tasks[i] for i in missing]
            positions = deleted_positions(cursor, self.storage, self.metadata, wanted, name)
            for i, those in zip(missing, positions, strict=True):
                bits = plain_bits(self._cut(tasks[i], those))
                _cache.put(keys[i], bits, len(bits) + ENTRY_BYTES)
                found[i] = bits
        there = [b"" if bits is None else bits for bits in found]
        if self.padded:
            there = [b.ljust((self._rows(t) + 7) // 8, b"\0") for b, t in zip(there, tasks, strict=True)]
        return there

    def _gone(self, cursor: duckdb.DuckDBPyConnection, name: str, task: FileTask) -> BitMap:
        """The positions that are deleted, and those that are left out anyhow."""
        assert task.gone is not None
        if not position_deletes(task):
            return task.gone
        (deleted,) = deleted_positions(cursor, self.storage, self.metadata, [task], name)
        return deleted | task.gone

    def _cut(self, task: FileTask, positions: BitMap) -> BitMap:
        """The positions without those behind the file's last row, of which no bits are to be made."""
        from pyroaring import BitMap

        last = positions.max() if positions else 0
        if last >= task.data_file.record_count or last >= _MANY:
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
        padded = len(group.tasks) <= MOST_BRANCHES
        variables[bits] = DeletedRows(self.storage, self.metadata, group.tasks, joined=not branches, padded=padded)
        if branches:
            selects = []
            for i, file in enumerate(group.files(self.storage)):
                place_in_list = i % IN_A_LIST
                of_file = f"list_extract(getvariable('{bits}_{i - place_in_list}'), {place_in_list + 1})"
                test = DeleteSql(f"get_bit({of_file}, {place})")
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
        bit = f"get_bit(b.{BITS}, {place})"
        if not padded:
            bit = f"CASE WHEN file_row_number < b.{LENGTH} THEN {bit} ELSE 0 END"
        test = DeleteSql(bit, f" JOIN temp.main.{bits} AS b ON b.{OF_FILE} = file_index")
        return group.rows(
            name, fields, names=names, index=index, position=position, deletes=test, keep_deleted=keep_deleted
        )


def _with_table(cursor: duckdb.DuckDBPyConnection, sql: str, name: str, start: int, bits: Sequence[bytes]) -> None:
    """Run SQL with the table of the bits of files from ``start`` in place of its braces."""
    import pyarrow as pa

    table = pa.table(
        {
            OF_FILE: pa.array(range(start, start + len(bits)), pa.uint64()),
            LENGTH: pa.array([8 * len(b) for b in bits], pa.int64()),
            BITS: pa.array([b or b"\0" for b in bits], pa.large_binary()),
        }
    )
    set_variables(cursor, {f"{name}_bits": table})
    cursor.execute(sql.format(f"temp.main.{name}_bits"))
    cursor.unregister(f"{name}_bits")


def _blocks(tasks: Sequence[FileTask]) -> Iterator[tuple[int, Sequence[FileTask]]]:
    """The tasks in order, about ``_BLOCK_ROWS`` rows at a time, and the place of the first: one that begins a list."""
    start = rows = 0
    for i, task in enumerate(tasks):
        if rows >= _BLOCK_ROWS and i % IN_A_LIST == 0:
            yield start, tasks[start:i]
            start, rows = i, 0
        rows += task.data_file.record_count
    yield start, tasks[start:]
