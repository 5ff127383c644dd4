"""Which rows of data files are deleted by their place: by a deletion vector, or by position delete files together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.lru import Lru
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.delete_index import is_vector

if TYPE_CHECKING:
    import duckdb
    from pyroaring import BitMap

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile, ManifestEntry
    from bergsql.engine.table.planning import FileTask

ENTRY_BYTES = 500
"""What an entry of a cache weighs beside its value: key, objects and links."""


CACHE_BYTES = 16 << 20
_kept: Lru[bytes, BitMap] = Lru(CACHE_BYTES)
"""What was found last: a statement that deletes reads its table, and then what was deleted of it before."""


def deleted_positions(
    cursor: duckdb.DuckDBPyConnection, storage: Storage, metadata: TableMetadata, tasks: Sequence[FileTask], name: str
) -> list[BitMap]:
    """The positions below 2³² that are deleted of each of ``tasks``, which all have position deletes.

    They are kept, and not to be changed. Some may lie behind the file's last row. The query's own names begin with
    ``name``. Raises NOT_FOUND or CORRUPT naming a delete file.
    """
    keys = [deletes_key(task) for task in tasks]
    kept = {i: positions for i, key in enumerate(keys) if (positions := _kept.get(key)) is not None}
    missing = [i for i in range(len(tasks)) if i not in kept]
    if missing:
        read = _read_positions(cursor, storage, metadata, [tasks[i] for i in missing], name)
        for i, positions in zip(missing, read, strict=True):
            kept[i] = positions
            _keep(keys[i], positions)
    return [kept[i] for i in range(len(tasks))]


def remember_positions(file: DataFile, delete: DataFile, positions: BitMap) -> None:
    """Keep what was just written to ``delete``, which says all that is deleted of ``file`` by place."""
    _keep(_key(file, [delete]), positions)


def _keep(key: bytes, positions: BitMap) -> None:
    of = positions.get_statistics()
    weight = of["n_bytes_array_containers"] + of["n_bytes_run_containers"] + of["n_bytes_bitset_containers"]
    _kept.put(key, positions, weight + ENTRY_BYTES)


def _read_positions(
    cursor: duckdb.DuckDBPyConnection, storage: Storage, metadata: TableMetadata, tasks: Sequence[FileTask], name: str
) -> list[BitMap]:
    from pyroaring import BitMap

    applied = [position_deletes(task) for task in tasks]
    found = [BitMap() for _ in tasks]
    vectors = [(n, d[0]) for n, d in enumerate(applied) if is_vector(d[0])]
    if vectors:
        from bergsql.engine.table.puffin import read_vectors

        for (n, _), positions in zip(vectors, read_vectors(storage, [e for _, e in vectors]), strict=True):
            found[n] = positions
    files = {d.data_file.path: d for deletes in applied for d in deletes if not is_vector(d)}
    if files:
        from bergsql.engine.table.position_deletes import read_position_deletes

        numbers = {path: i for i, path in enumerate(files)}
        paths = {task.data_file.path: n for n, task in enumerate(tasks)}
        with _origins_named(files.values()):
            read = read_position_deletes(cursor, storage, metadata, list(files.values()), paths, name)
        for n, deletes in enumerate(applied):
            for d in deletes:
                key = (numbers.get(d.data_file.path, -1), n)
                if key in read:
                    found[n] |= read[key]
    return found


@contextmanager
def _origins_named(entries: Iterable[ManifestEntry]) -> Iterator[None]:
    """Errors of the block that are about one of these files say what it is: also where no scan is planned."""
    import duckdb

    from bergsql.engine.duck import stream_failure
    from bergsql.engine.table.file_origins import name_origin_among

    try:
        yield
    except BergError as error:
        name_origin_among(error, entries)
        raise
    except duckdb.Error as error:
        streamed = stream_failure(str(error))
        if streamed is None:
            raise
        name_origin_among(streamed, entries)
        raise streamed from error


def position_deletes(task: FileTask) -> list[ManifestEntry]:
    """What deletes rows of a file by place: its deletion vector, beside which position delete files do not count."""
    deletes = [d for d in task.deletes if d.data_file.content == FileContent.POSITION_DELETES]
    vectors = [d for d in deletes if is_vector(d)]
    if len(vectors) > 1:
        message = f"Data file {task.data_file.path} has {len(vectors)} deletion vectors, but may have only one."
        raise BergError(ErrorCode.CORRUPT, message)
    return vectors or deletes


def deletes_key(task: FileTask) -> bytes:
    """What is equal where the same rows of the same file are deleted: none of these files ever changes."""
    return _key(task.data_file, [e.data_file for e in position_deletes(task)])


def _key(file: DataFile, deletes: Iterable[DataFile]) -> bytes:
    parts: list[object] = [file.path, file.file_size, file.record_count]
    for d in deletes:
        parts += (d.path, d.file_size, d.content_offset, d.record_count)
    return digest(parts)


def digest(parts: Sequence[object]) -> bytes:
    """A key of 16 bytes for texts and numbers, however many: what remembers much keeps no paths."""
    return blake2b(repr(tuple(parts)).encode(), digest_size=16).digest()
