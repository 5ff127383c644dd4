"""Writes Puffin files of deletion vectors, byte by byte as the specification has them."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyroaring import BitMap

_MAGIC = b"PFA1"
_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"


def deletion_vector(positions: Iterable[int]) -> bytes:
    """The blob ``deletion-vector-v1`` of the positions."""
    by_key: dict[int, list[int]] = {}
    for position in sorted(set(positions)):
        by_key.setdefault(position >> 32, []).append(position & 0xFFFFFFFF)
    vector = struct.pack("<q", len(by_key))
    for key, low in by_key.items():
        vector += struct.pack("<I", key) + BitMap(low).serialize()
    body = _VECTOR_MAGIC + vector
    return struct.pack(">i", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def write_puffin(path: Path, vectors: Sequence[tuple[str, Sequence[int]]]) -> list[tuple[int, int]]:
    """Write one blob for each (data file, positions); gives the offset and length of each."""
    path.parent.mkdir(parents=True, exist_ok=True)
    out = bytearray(_MAGIC)
    places = []
    blobs = []
    for data_file, positions in vectors:
        blob = deletion_vector(positions)
        places.append((len(out), len(blob)))
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [2147483645],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": len(out),
                "length": len(blob),
                "properties": {"referenced-data-file": data_file, "cardinality": str(len(set(positions)))},
            }
        )
        out += blob
    payload = json.dumps({"blobs": blobs, "properties": {"created-by": "tests"}}).encode()
    out += _MAGIC + payload + struct.pack("<i", len(payload)) + bytes(4) + _MAGIC
    path.write_bytes(out)
    return places
