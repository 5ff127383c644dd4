"""Deletion vectors in Puffin files (Iceberg's Puffin specification, "deletion-vector-v1 blob type").

The manifest says where in the file a vector lies, so nothing else of the file is read: not its footer, no other blob.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, BinaryIO

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.table.roaring import read_roaring64

if TYPE_CHECKING:
    from pyroaring import BitMap

    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestEntry

MAGIC = b"\xd1\xd3\x39\x64"
_FRAME = 12
"""Bytes around a vector: the length of magic and vector, the magic, a CRC-32 of both."""


def read_vectors(storage: Storage, entries: Sequence[ManifestEntry]) -> list[BitMap]:
    """The positions below 2³² that each deletion vector deletes.

    Raises NOT_FOUND or CORRUPT, naming the Puffin file and the snapshot that added it.
    """
    places: dict[str, list[int]] = {}
    for i, entry in enumerate(entries):
        places.setdefault(entry.data_file.path, []).append(i)
    found: dict[int, BitMap] = {}
    for path, those in places.items():
        try:
            with storage.open_input(path) as file:
                for i in those:
                    found[i] = _vector(file, entries[i])
        except BergError as e:
            if e.code is not ErrorCode.NOT_FOUND:
                raise
            raise BergError(ErrorCode.NOT_FOUND, f"{_what(entries[those[0]])} is missing.") from e
    return [found[i] for i in range(len(entries))]


def _vector(file: BinaryIO, entry: ManifestEntry) -> BitMap:
    deletes = entry.data_file
    offset, size = deletes.content_offset, deletes.content_size
    if offset is None or size is None or offset < 0 or size < _FRAME:
        raise _damaged(entry, "the manifest does not say where its deletion vector lies")
    end = file.seek(0, 2)
    if offset + size > end:
        raise _damaged(entry, "it is cut off")
    file.seek(offset)
    blob = file.read(size)
    length, checked = int.from_bytes(blob[:4], "big"), blob[4:-4]
    if len(blob) != size or length != len(checked):
        raise _damaged(entry, "its deletion vector has another length than the manifest says")
    if not checked.startswith(MAGIC):
        raise _damaged(entry, "there is no deletion vector where the manifest says")
    if zlib.crc32(checked) != int.from_bytes(blob[-4:], "big"):
        raise _damaged(entry, "the checksum of its deletion vector is wrong")
    try:
        positions, count = read_roaring64(checked[len(MAGIC) :])
    except (ValueError, IndexError) as e:
        raise _damaged(entry, "its deletion vector is no bitmap") from e
    if count != deletes.record_count:
        raise _damaged(entry, f"its deletion vector has {count} rows, not {deletes.record_count}")
    return positions


def _what(entry: ManifestEntry) -> str:
    return f"Puffin file {entry.data_file.path} of snapshot {entry.snapshot_id}"


def _damaged(entry: ManifestEntry, reason: str) -> BergError:
    return BergError(ErrorCode.CORRUPT, f"{_what(entry)} is damaged: {reason}.")
