"""Sets of row positions: Roaring bitmaps as deletion vectors hold them, and the plain bits that DuckDB tests.

Roaring's portable format: github.com/RoaringBitmap/RoaringFormatSpec, "Extension for 64-bit implementations".
"""

from __future__ import annotations

import struct
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyroaring import BitMap

_NO_RUNS = 12346
_RUNS = 12347
_OFFSETS_FROM = 4
"""So many containers, some of them runs, are told where they lie."""
_CHUNK = 1 << 16
_CHUNK_BYTES = _CHUNK >> 3
_LARGEST_ARRAY = 4096
"""Containers of more values are bits."""
_STRIPES = (0x55, 0x33, 0x0F)


def roaring64(positions: BitMap) -> bytes:
    """A 64-bit bitmap of values below 2³², which are at least one."""
    small = positions.copy()
    small.run_optimize()
    return struct.pack("<QI", 1, 0) + small.serialize()


def read_roaring64(data: bytes) -> tuple[BitMap, int]:
    """The values below 2³² of a 64-bit bitmap, and how many values there are in all. ValueError when it is none."""
    from pyroaring import BitMap, BitMap64

    if len(data) < 8:
        raise ValueError("it is cut off")
    if struct.unpack_from("<Q", data)[0] == 0:
        return BitMap(), 0
    if struct.unpack_from("<Q", data)[0] == 1 and data[8:12] == b"\0\0\0\0":
        check_containers(data, 12)
        low = BitMap.deserialize(data[12:])
        return low, len(low)
    _check_parts(data)
    whole = BitMap64.deserialize(data)
    low64 = whole & BitMap64(range(0, 1 << 32))
    low = BitMap.deserialize(low64.serialize()[12:]) if low64 else BitMap()
    return low, len(whole)


def _check_parts(data: bytes) -> None:
    """Raise ValueError where the 32-bit bitmaps of a 64-bit one are not what it says they are."""
    count, at, last = struct.unpack_from("<Q", data)[0], 8, -1
    for _ in range(count):  # which ends with the data, whatever is claimed
        if at + 12 > len(data):
            raise ValueError("it is cut off")
        (key,) = struct.unpack_from("<I", data, at)
        if key <= last:
            raise ValueError("its parts are not in order")
        last = key
        at = check_containers(data, at + 4)


def check_containers(data: bytes, at: int) -> int:
    """Where the 32-bit bitmap at ``at`` ends. ValueError where CRoaring would be led out of its memory: it takes the
    sizes of containers, and where runs end, as they are written."""
    try:
        (cookie,) = struct.unpack_from("<I", data, at)
        runs = b""
        if cookie & 0xFFFF == _RUNS:
            count: int = (cookie >> 16) + 1
            runs = data[at + 4 : at + 4 + (count + 7) // 8]
            at += 4 + len(runs)
        elif cookie == _NO_RUNS:
            (count,) = struct.unpack_from("<I", data, at + 4)
            at += 8
        else:
            raise ValueError("it is no bitmap")
        if count > _CHUNK:
            raise ValueError("it has too many containers")
        heads = struct.unpack_from(f"<{2 * count}H", data, at)
        keys = heads[::2]
        if any(a >= b for a, b in pairwise(keys)):
            raise ValueError("its containers are not in order")
        at += 4 * count + (4 * count if not runs or count >= _OFFSETS_FROM else 0)
        for i in range(count):
            at = _check_container(data, at, heads[2 * i + 1] + 1, bool(runs and runs[i // 8] >> (i % 8) & 1))
    except struct.error:
        raise ValueError("it is cut off") from None
    if at > len(data):
        raise ValueError("it is cut off")
    return at


def _check_container(data: bytes, at: int, size: int, is_run: bool) -> int:
    """Where the container of ``size`` values at ``at`` ends."""
    if is_run:
        count: int = struct.unpack_from("<H", data, at)[0]
        pairs = struct.unpack_from(f"<{2 * count}H", data, at + 2)
        end = -1
        for start, more in zip(pairs[::2], pairs[1::2], strict=True):
            if start <= end or start + more >= _CHUNK:
                raise ValueError("its runs overlap, or go too far")
            end = start + more
        return at + 2 + 4 * count
    if size <= _LARGEST_ARRAY:
        return at + 2 * size
    if int.from_bytes(data[at : at + _CHUNK_BYTES], "little").bit_count() != size:
        raise ValueError("a container has another size than it says")
    return at + _CHUNK_BYTES


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
