"""Manifests on disk, cut into columns, for the next process: several may use a cache at once.

``<directory>/<format>/<table>/<manifest>``: one file a manifest, in a directory for each table (by its uuid), so that
one table's entries never serve another, and those of a dropped one go at once. An entry belongs to a path, a length and
the very file that was read (inode, size, time of change): what was replaced, or lies where it may not be read, is no
hit. Entries are written beside and renamed, and have checksums: what is damaged is dropped and made anew. The files
that were used longest ago go when there are more than ``limit`` bytes; those of a local manifest that is gone go too.
"""

from __future__ import annotations

import os
import shutil
import struct
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from bergsql.catalog.errors import BergError
from bergsql.catalog.storage.base import scheme_of, strip_scheme
from bergsql.engine.table.avro_columns import Column, Columns
from bergsql.engine.table.avro_nodes import Shape

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestFile

FORMAT = 1
"""The version of the files' format, which is a directory's name. Others are dropped when they are older."""
DEFAULT_LIMIT = 512 << 20

_MAGIC = b"bergsqlM"
_HEAD = struct.Struct("<8s32sIII")
"""The magic, the key's digest, how many numbers there are, their checksum, the checksum of the rest."""
_SAME, _SHAPED = 1, 2
_ANY_LENGTH = 0xFFFFFFFF
_HOUR = 3600
_DAY = 24 * _HOUR
_UNUSED_DAYS = 60
_SWEPT = "swept"


class ManifestCache:
    """A cache in ``directory``, which is made when it is needed. Nothing that goes wrong there is an error."""

    def __init__(self, directory: Path, limit: int = DEFAULT_LIMIT) -> None:
        self._root = directory
        self._directory = str(directory / str(FORMAT))
        self._limit = limit
        self._written = 0
        self._tidied = False

    def get(self, storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> Columns | None:
        """What was kept of a manifest, if its file is still what it was."""
        named = self._named(storage, manifest, metadata)
        if named is None:
            return None
        path, digest = named
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            stat = os.fstat(fd)
            data = os.read(fd, stat.st_size)
            now = time.time()
            if now - stat.st_mtime > _HOUR:
                with suppress(OSError):
                    os.utime(fd)
        except OSError:
            return None
        finally:
            os.close(fd)
        try:
            return decode(data, digest)
        except (ValueError, IndexError, struct.error, OverflowError):
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - paths are made for every manifest
            return None

    def put(self, storage: Storage, manifest: ManifestFile, metadata: TableMetadata, columns: Columns) -> None:
        """Keep a manifest; nothing happens when that cannot be done."""
        named = self._named(storage, manifest, metadata)
        if named is None:
            return
        path, digest = named
        data = encode(columns, digest, _local(manifest.path))
        if 4 * len(data) > self._limit:
            return
        try:
            self._write(path, data)
        except OSError:
            return
        self._written += len(data)
        if not self._tidied or 8 * self._written > self._limit:
            self._tidied, self._written = True, 0
            self.tidy()

    def forget(self, table_uuid: str | None, location: str) -> None:
        """Drop all entries of a table."""
        shutil.rmtree(Path(self._directory, _table_name(table_uuid, location)), ignore_errors=True)

    def tidy(self) -> None:
        """Drop what is useless, then what was used longest ago, until there is room."""
        with suppress(OSError):
            self._drop_older_formats()
            entries = sorted(self._entries())
            kept = self._without_gone(entries) if self._is_time() else entries
            room = self._limit - self._limit // 8
            if sum(size for _, size, _ in kept) <= self._limit:
                return
            for _, size, path in reversed(kept):  # the newest first
                room -= size
                if room < 0:
                    _unlink(path)

    def _named(self, storage: Storage, manifest: ManifestFile, metadata: TableMetadata) -> tuple[str, bytes] | None:
        """The entry's path and the digest of what it belongs to; None for what cannot be kept."""
        identity: object = None
        if scheme_of(manifest.path) == "file":
            try:
                identity = storage.identity(manifest.path)
            except BergError:
                return None
            if identity is None:
                return None
        key = repr((manifest.path, manifest.length, manifest.spec_id, metadata.table_uuid, identity))
        digest = sha256(key.encode()).digest()
        return f"{self._directory}/{_table_name(metadata.table_uuid, metadata.location)}/{digest.hex()}", digest

    def _write(self, path: str, data: bytes) -> None:
        beside = f"{path}.{os.getpid()}.{time.monotonic_ns()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            fd = os.open(beside, flags, 0o600)
        except FileNotFoundError:
            Path(path).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            fd = os.open(beside, flags, 0o600)
        try:
            with open(fd, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
                if file.write(data) != len(data):
                    raise OSError("the disk is full")
            os.replace(beside, path)  # noqa: PTH105
        except BaseException:
            _unlink(beside)
            raise

    def _entries(self) -> Iterator[tuple[float, int, str]]:
        """When each file was last used, how large it is, its path."""
        with os.scandir(self._directory) as tables:
            for table in tables:
                if table.is_dir(follow_symlinks=False):
                    with suppress(OSError), os.scandir(table.path) as entries:
                        for entry in entries:
                            with suppress(OSError):
                                stat = entry.stat(follow_symlinks=False)
                                yield stat.st_mtime, stat.st_size, entry.path

    def _drop_older_formats(self) -> None:
        for other in self._root.iterdir():
            if other.name.isdecimal() and int(other.name) < FORMAT:
                shutil.rmtree(other, ignore_errors=True)

    def _is_time(self) -> bool:
        """Whether nobody has looked for useless entries for a day."""
        mark = Path(self._directory, _SWEPT)
        with suppress(OSError):
            if time.time() - mark.stat().st_mtime < _DAY:
                return False
        mark.touch(mode=0o600)
        return True

    def _without_gone(self, entries: Sequence[tuple[float, int, str]]) -> list[tuple[float, int, str]]:
        """The entries without those of manifests that are gone, of writers that died, and of nobody for long."""
        kept = []
        now = time.time()
        for entry in entries:
            used, _, path = entry
            left_over = "." in path.rpartition("/")[2] and now - used > _HOUR
            if left_over or now - used > _UNUSED_DAYS * _DAY or _is_gone(path):
                _unlink(path)
            else:
                kept.append(entry)
        for table in Path(self._directory).iterdir():
            if table.is_dir():
                with suppress(OSError):
                    table.rmdir()  # only if it is empty
        return kept


@lru_cache(maxsize=256)
def _table_name(table_uuid: str | None, location: str) -> str:
    return sha256((table_uuid or f"at {location}").encode()).hexdigest()[:32]


@lru_cache(maxsize=256)
def _shape(pairs: tuple[int, ...]) -> Shape:
    return tuple((k, None if v == _ANY_LENGTH else v) for k, v in zip(pairs[::2], pairs[1::2], strict=True))


def _local(path: str) -> str:
    return strip_scheme(path) if scheme_of(path) == "file" else ""


def _unlink(path: str) -> None:
    with suppress(OSError):
        os.unlink(path)  # noqa: PTH108


def _is_gone(path: str) -> bool:
    """Whether the entry's manifest was a local file that is no more."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            manifest = _manifest_of(file.read(1 << 16))
    except OSError:
        return False
    return bool(manifest) and not os.path.lexists(manifest)


def _manifest_of(data: bytes) -> str:
    """The local path that an entry was made of; empty if it has none, or cannot be told."""
    try:
        count = _HEAD.unpack_from(data)[2]
        at = _HEAD.size + 4 * count
        length = struct.unpack_from("<I", data, _HEAD.size)[0]
        return data[at : at + length].decode()
    except (struct.error, ValueError):
        return ""


# -- entries -----------------------------------------------------------------------------------------------------------


def encode(columns: Columns, digest: bytes, manifest: str) -> bytes:
    """A file's content: the head, numbers that describe the columns, the manifest's local path, schema, columns."""
    name = manifest.encode()
    numbers = array("I", (len(name), len(columns.schema), columns.count, len(columns.columns)))
    pieces = [name, columns.schema]
    for column in columns.columns:
        flags = (_SAME if column.same else 0) | (_SHAPED if column.shape is not None else 0)
        ends = array("I", column.ends)
        numbers.extend((flags, column.width, len(ends), column.length))
        shape = column.shape or ()
        if column.shape is not None:
            numbers.append(len(shape))
            for key, length in shape:
                numbers.extend((key, _ANY_LENGTH if length is None else length))
        pieces += (ends.tobytes(), column.raw)
    rest = b"".join(pieces)
    head = numbers.tobytes()
    return _HEAD.pack(_MAGIC, digest, len(numbers), crc32(head), crc32(rest)) + head + rest


def decode(data: bytes, digest: bytes) -> Columns:
    """The columns in a file's content. ValueError, IndexError or struct.error where it is damaged or another's."""
    magic, whose, count, head_sum, rest_sum = _HEAD.unpack_from(data)
    at = _HEAD.size + 4 * count
    head = data[_HEAD.size : at]
    if magic != _MAGIC or whose != digest or crc32(head) != head_sum or crc32(memoryview(data)[at:]) != rest_sum:
        raise ValueError("damaged")
    numbers = memoryview(head).cast("I").tolist()
    name, schema_length, rows, columns = numbers[:4]
    at += name
    schema = data[at : at + schema_length]
    at += schema_length
    found = []
    n = 4
    for _ in range(columns):
        flags, width, ends_count, length = numbers[n : n + 4]
        n += 4
        shape = None
        if flags & _SHAPED:
            pairs = numbers[n + 1 : n + 1 + 2 * numbers[n]]
            n += 1 + len(pairs)
            shape = _shape(tuple(pairs))
        ends: Sequence[int] = ()
        if ends_count:
            ends = array("I", data[at : at + 4 * ends_count])
            at += 4 * ends_count
        found.append(Column(data, at, length, rows, bool(flags & _SAME), width, ends, shape))
        at += length
    if at != len(data):
        raise ValueError("damaged")
    return Columns(schema, rows, tuple(found))
