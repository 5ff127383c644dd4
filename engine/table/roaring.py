"""Sets of row positions: Roaring bitmaps as deletion vectors hold them, and the plain bits that DuckDB tests.

Roaring's portable format: github.com/RoaringBitmap/RoaringFormatSpec, "Extension for 64-bit implementations".
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyroaring import BitMap

_NO_RUNS = 12346
_CHUNK = 1 << 16
_CHUNK_BYTES = _CHUNK >> 3
_LARGEST_ARRAY = 4096
"""Containers of more values are bits."""
_STRIPES = (0x55, 0x33, 0x0F)


def read_roaring64(data: bytes) -> tuple[BitMap, int]:
    """The values below 2³² of a 64-bit bitmap, and how many values there are in all. ValueError when it is none."""
    from pyroaring import BitMap, BitMap64

    if len(data) < 8:
        raise ValueError("it is cut off")
    if struct.unpack_from("<Q", data)[0] == 0:
        return BitMap(), 0
    if struct.unpack_from("<Q", data)[0] == 1 and data[8:12] == b"\0\0\0\0":
        low = BitMap.deserialize(data[12:])
        return low, len(low)
    whole = BitMap64.deserialize(data)
    low64 = whole & BitMap64(range(0, 1 << 32))
    low = BitMap.deserialize(low64.serialize()[12:]) if low64 else BitMap()
    return low, len(whole)


def plain_bits(positions: BitMap) -> bytes:
    """The positions as bits, the first one the highest of its byte; as many bytes as the last of them needs.

    Bits of an exclusive or with stripes: where all containers hold about half of what they can, all are serialized as
    bits, whatever they were before, and no position is looked at by itself.
    """
    if not positions:
        return b""
    last = positions.max()
    count = last // _CHUNK + 1
    for stripe in _STRIPES:
        mixed = (positions ^ _striped(stripe, count)).serialize()
        cookie, containers = struct.unpack_from("<II", mixed)
        if cookie != _NO_RUNS or containers != count:
            continue
        if min(struct.unpack_from(f"<{2 * count}H", mixed, 8)[1::2]) >= _LARGEST_ARRAY:  # they are one less
            return mixed[-count * _CHUNK_BYTES :].translate(_unmixed(stripe))[: (last >> 3) + 1]
    bits = bytearray((last >> 3) + 1)
    for position in positions:
        bits[position >> 3] |= 128 >> (position & 7)
    return bytes(bits)


@lru_cache(maxsize=8)
def _striped(stripe: int, count: int) -> BitMap:
    """Containers that all hold the bits of ``stripe`` in each byte."""
    from pyroaring import BitMap

    held = stripe.bit_count() * _CHUNK_BYTES
    header = struct.pack("<II", _NO_RUNS, count)
    keys = b"".join(struct.pack("<HH", key, held - 1) for key in range(count))
    start = 8 + 8 * count
    offsets = b"".join(struct.pack("<I", start + key * _CHUNK_BYTES) for key in range(count))
    return BitMap.deserialize(header + keys + offsets + bytes([stripe]) * (_CHUNK_BYTES * count))


@lru_cache(maxsize=len(_STRIPES))
def _unmixed(stripe: int) -> bytes:
    """For :meth:`bytes.translate`: the stripes taken out again, and the bits of a byte in the other direction."""
    return bytes(int(f"{byte ^ stripe:08b}"[::-1], 2) for byte in range(256))
