"""Rows that equality deletes delete, by their places: worked out once for a data file, which never changes.

A join by key reads the key of every row, which costs more than the query where few columns are read. So the second
scan of the same files and deletes looks the deleted rows up: a bit a row, kept in memory for the scans to come.

No other way of joining makes the first scan cheaper: where one of 100 rows passes a filter, nine tenths of its cost is
reading the key beside it. A filter first, NOT IN, no GROUP BY of the keys: within 5 %; bits by value cost more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.catalog.lru import Lru
from bergsql.engine.duck import set_variables
from bergsql.engine.table.delete_index import is_equality
from bergsql.engine.table.deleted_positions import ENTRY_BYTES, digest
from bergsql.engine.table.file_groups import DELETED, FILE_INDEX, FILE_POS
from bergsql.engine.table.file_streams import count_rows

if TYPE_CHECKING:
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.duck import duckdb
    from bergsql.engine.table.planning import FileTask

CACHE_BYTES = 128 << 20
_MOST_ROWS = 50_000_000
"""Rows of a group whose deleted ones are looked up (about a second); of more they are found by joins each time."""
_MOST_PAIRS = 50_000
"""Pairs of a data file and a delete file that are worth telling apart (about 50 ms)."""
_MOST_BITS = 1 << 30
"""DuckDB counts bits in 32 bits with a sign; sizes are powers of two."""

_known: Lru[bytes, bytes] = Lru(CACHE_BYTES)
_seen: Lru[bytes, bool] = Lru(100_000)


@dataclass(frozen=True, slots=True)
class Lookup:
    """SQL that gives the FILE_INDEX and FILE_POS of deleted rows of some tasks, once its variables are set."""

    sql: str
    variables: dict[str, object]
    places: tuple[int, ...]
    """The tasks among those of the group, by FILE_INDEX of ``sql``."""


class DeletedPlaces:
    """The deleted rows of a group of tasks. Prepared: what is not known is looked up."""

    def __init__(self, storage: Storage, tasks: Sequence[FileTask], names: Sequence[bytes]) -> None:
        self._storage, self._files, self._names = storage, [t.data_file for t in tasks], names
        self._bits = [_known.get(n) for n in names]
        self.lookups: Sequence[Lookup] = ()

    @property
    def unknown(self) -> tuple[int, ...]:
        """The places of tasks that must be looked up."""
        return tuple(i for i, bits in enumerate(self._bits) if bits is None)

    def prepare(self, cursor: duckdb.DuckDBPyConnection, name: str) -> None:
        """One row a task: FILE_INDEX, and ``bits``, of which each stands for a row and is set where it is deleted."""
        import pyarrow as pa

        # Each row has a bit, however many the manifest says: the test of a bit asks for no length.
        sizes = {i: self._size(i) for i in self.unknown}
        for lookup in self.lookups:
            set_variables(cursor, lookup.variables)
            for place, bits in cursor.execute(_bits_sql(lookup, sizes)).fetchall():
                self._bits[lookup.places[place]] = bits
        for i, found in enumerate(self._bits):
            if found is None:
                found = self._bits[i] = bytes(sizes[i] // 8)
            _known.put(self._names[i], found, len(found) + ENTRY_BYTES)
        self.lookups = ()
        indexes = pa.array(range(len(self._bits)), pa.int64())
        set_variables(cursor, {name: pa.table({FILE_INDEX: indexes, "bits": pa.array(self._bits, pa.binary())})})

    def _size(self, place: int) -> int:
        """How many bits a file gets: the power of two, at least 8, that is not less than its rows."""
        file = self._files[place]
        rows = count_rows(self._storage, file)
        if rows > _MOST_BITS:
            raise not_supported(f"Reading data file {file.path} of {rows} rows with deletes")
        return max(8, 1 << max(rows - 1, 0).bit_length())


def deleted_places(storage: Storage, tasks: Sequence[FileTask], context: str) -> DeletedPlaces | None:
    """The deleted rows of ``tasks``, which hold all of their deletes; None where a join by key is the better way.

    ``context`` says what else the meaning of a file depends on.
    """
    if sum(t.data_file.record_count for t in tasks) > _MOST_ROWS or sum(len(t.deletes) for t in tasks) > _MOST_PAIRS:
        return None
    names = [_name(t, context) for t in tasks]
    found = DeletedPlaces(storage, tasks, names)
    new = [names[i] for i in found.unknown if _seen.get(names[i]) is None]
    for name in new:
        _seen.put(name, True)
    return None if new else found


def without_places(rows: str, variable: str, mark: bool) -> str:
    """``rows`` (with FILE_INDEX and FILE_POS) less those that ``variable`` says are deleted, or with DELETED true."""
    deleted = f"get_bit(b.bits, CAST(d.{FILE_POS} AS INTEGER))"
    bits = f"(SELECT {FILE_INDEX}, CAST(bits AS BIT) AS bits FROM temp.main.{variable})"
    source = f"({rows}) AS d JOIN {bits} AS b ON b.{FILE_INDEX} = d.{FILE_INDEX}"
    if mark:
        return f"SELECT d.* REPLACE (d.{DELETED} OR {deleted} = 1 AS {DELETED}) FROM {source}"
    return f"SELECT d.* FROM {source} WHERE {deleted} = 0"


def _bits_sql(lookup: Lookup, sizes: Mapping[int, int]) -> str:
    """Files of about one size are folded alike, so that none takes many more bits than it has rows."""
    alike: dict[int, list[int]] = {}
    for i, place in enumerate(lookup.places):
        alike.setdefault(sizes[place], []).append(i)
    folded = [
        f"SELECT {FILE_INDEX}, CAST(bitstring_agg({FILE_POS}, 0, {size - 1}) AS BLOB) FROM found"
        f" WHERE {FILE_INDEX} IN ({', '.join(map(str, places))}) GROUP BY 1"
        for size, places in alike.items()
    ]
    return f"WITH found AS MATERIALIZED ({lookup.sql}) {' UNION ALL '.join(folded)}"


def _name(task: FileTask, context: str) -> bytes:
    """A digest of the data file, its deletes, and all that numbers them."""
    parts = [context, task.data_file.path, str(task.data_file.file_size), str(task.sequence_number)]
    parts += sorted(f"{d.sequence_number} {d.data_file.path}" for d in task.deletes if is_equality(d))
    return digest(parts)
