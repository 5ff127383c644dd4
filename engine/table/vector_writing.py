"""Deletion vectors (spec, "Deletion Vectors"): the deleted rows of each data file, one blob each of one Puffin file."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.table.datafile import DataFile, FileContent
from bergsql.engine.table.delete_index import PUFFIN
from bergsql.engine.table.metadata_columns import METADATA_COLUMNS, POS
from bergsql.engine.table.puffin import MAGIC
from bergsql.engine.table.roaring import roaring64
from bergsql.engine.table.staging import DELETES
from bergsql.engine.version import version

if TYPE_CHECKING:
    from pyroaring import BitMap

    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.position_delete_writing import FileDeletes
    from bergsql.engine.table.staging import Staging

_PUFFIN_MAGIC = b"PFA1"
_NO_FLAGS = bytes(4)


def write_vectors(deletes: Sequence[FileDeletes], *, storage: Storage, staging: Staging) -> list[DataFile]:
    """Write one file with a vector for each of the data files. IO errors name the file."""
    staged = f"{staging.directory}/vectors"
    blobs: list[bytes] = []
    places: list[int] = []
    at = len(_PUFFIN_MAGIC)
    for d in deletes:
        blobs.append(_vector(d.positions))
        places.append(at)
        at += len(blobs[-1])
    data = b"".join((_PUFFIN_MAGIC, *blobs, _footer(deletes, blobs, places)))
    storage.write_new(staged, data, fsync=False)
    path = staging.place(storage.local_path(staged), "", f"{DELETES}.puffin")
    return [
        DataFile(
            path,
            len(d.positions),
            len(data),
            PUFFIN,
            content=FileContent.POSITION_DELETES,
            partition=d.file.partition,
            spec_id=d.file.spec_id,
            referenced_data_file=d.file.path,
            content_offset=place,
            content_size=len(blob),
        )
        for d, blob, place in zip(deletes, blobs, places, strict=True)
    ]


def _vector(positions: BitMap) -> bytes:
    """The blob ``deletion-vector-v1`` (Puffin specification)."""
    checked = MAGIC + roaring64(positions)
    return len(checked).to_bytes(4, "big") + checked + zlib.crc32(checked).to_bytes(4, "big")


def _footer(deletes: Sequence[FileDeletes], blobs: Sequence[bytes], places: Sequence[int]) -> bytes:
    """What follows the blobs: what they are. Of which snapshot they will be is not known yet."""
    described = [
        {
            "type": "deletion-vector-v1",
            "fields": [METADATA_COLUMNS[POS].field_id],
            "snapshot-id": -1,
            "sequence-number": -1,
            "offset": place,
            "length": len(blob),
            "properties": {"referenced-data-file": d.file.path, "cardinality": str(len(d.positions))},
        }
        for d, blob, place in zip(deletes, blobs, places, strict=True)
    ]
    told = {"blobs": described, "properties": {"created-by": f"bergsql {version()}"}}
    payload = json.dumps(told, separators=(",", ":")).encode()
    return _PUFFIN_MAGIC + payload + struct.pack("<i", len(payload)) + _NO_FLAGS + _PUFFIN_MAGIC
