"""Avro object container files, as far as Iceberg's manifests need them: fast to start and fast to skip in.

The records are avro_columns' business. (Avro data files have every type and go through fastavro.)
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from json import JSONDecodeError

from bergsql.catalog.errors import BergError, ErrorCode

MAGIC = b"Obj\x01"
MOST_UNPACKED = 256 << 20
"""How many bytes the blocks of a manifest may unpack to together: those of some 500,000 files."""
_SYNC_BYTES = 16
_MOST_DEFLATED = 1032
"""How many bytes one deflated byte may become."""


@dataclass(frozen=True, slots=True)
class Container:
    """A decoded container: its header metadata, its writer schema (JSON), and its blocks as (records, bytes)."""

    metadata: Mapping[str, bytes]
    schema: bytes
    blocks: tuple[tuple[int, bytes], ...]


def corrupt(what: str, why: object) -> BergError:
    """The error for a file that is not what it should be."""
    return BergError(ErrorCode.CORRUPT, f"{what} is damaged or not an Avro file: {why}.")


def read_container(data: bytes, what: str) -> Container:
    """Take a container file apart. ``what`` names it in errors (CORRUPT)."""
    try:
        return _read_container(data)
    except BergError:
        raise
    except Exception as e:  # whatever garbage makes of a varint, a codec or JSON
        raise corrupt(what, reason(e)) from e


def _read_container(data: bytes) -> Container:
    if data[:4] != MAGIC:
        raise ValueError("its first bytes are not Avro's")
    metadata: dict[str, bytes] = {}
    at = 4
    while True:
        count, at = read_long(data, at)
        if count == 0:
            break
        if count < 0:
            count, (_, at) = -count, read_long(data, at)
        for _ in range(count):
            key, at = read_bytes(data, at)
            metadata[key.decode()], at = read_bytes(data, at)
    sync = data[at : at + _SYNC_BYTES]
    if len(sync) != _SYNC_BYTES:
        raise ValueError("it is cut off")
    at += _SYNC_BYTES
    unpack = block_codec(metadata.get("avro.codec", b"null").decode())
    blocks = []
    room = MOST_UNPACKED
    while at < len(data):
        count, at = read_long(data, at)
        payload, at = read_bytes(data, at)
        if data[at : at + _SYNC_BYTES] != sync or count < 0:
            raise ValueError("a block does not end where it should")
        at += _SYNC_BYTES
        block = unpack(payload, room)
        room -= len(block)
        blocks.append((count, block))
    return Container(metadata, metadata["avro.schema"], tuple(blocks))


def write_container(schema: str, metadata: Mapping[str, str], count: int, payload: bytes, *, level: int = 6) -> bytes:
    """A container with one deflated block of ``count`` records. ``schema`` is the writer schema's JSON."""
    out = bytearray(MAGIC)
    header = {"avro.schema": schema, "avro.codec": "deflate", **metadata}
    write_long(out, len(header))
    for key, value in header.items():
        write_bytes(out, key.encode())
        write_bytes(out, value.encode())
    out.append(0)
    sync = os.urandom(_SYNC_BYTES)
    out += sync
    if count:
        deflate = zlib.compressobj(level, zlib.DEFLATED, -15)
        body = deflate.compress(payload) + deflate.flush()
        write_long(out, count)
        write_bytes(out, body)
        out += sync
    return bytes(out)


def block_codec(name: str) -> Callable[[bytes, int], bytes]:
    """What unpacks a block of a file to so many bytes at most; ValueError for a codec that is not known."""
    found = _CODECS.get(name)
    if found is None:
        raise ValueError(f"its codec {name} is not known")
    return found


def _within(block: bytes, most: int) -> bytes:
    if len(block) > most:
        raise ValueError("it unpacks to more bytes than any manifest has")
    return block


def _stored(b: bytes, most: int) -> bytes:
    return _within(b, most)


def _inflate(b: bytes, most: int) -> bytes:
    if len(b) * _MOST_DEFLATED <= most:
        return zlib.decompress(b, -15)
    inflater = zlib.decompressobj(-15)
    block = _within(inflater.decompress(b, most + 1), most)
    if not inflater.eof:
        raise ValueError("it is cut off")
    return block


def _bunzip2(b: bytes, most: int) -> bytes:
    import bz2

    return _within(bz2.BZ2Decompressor().decompress(b, most + 1), most)


def _unxz(b: bytes, most: int) -> bytes:
    import lzma

    return _within(lzma.LZMADecompressor(memlimit=MOST_UNPACKED).decompress(b, most + 1), most)


def _unzstd(b: bytes, most: int) -> bytes:
    import pyarrow as pa

    return _within(bytes(pa.input_stream(pa.py_buffer(b), compression="zstd").read(most + 1)), most)


def _unsnap(b: bytes, most: int) -> bytes:
    import pyarrow as pa

    size = b[0]
    if size > 127:
        size, _ = varint_tail(b, 1, size)
    if size > most:
        raise ValueError("it unpacks to more bytes than any manifest has")
    return bytes(pa.decompress(b[:-4], decompressed_size=size, codec="snappy", asbytes=True))


_CODECS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "null": _stored,
    "deflate": _inflate,
    "bzip2": _bunzip2,
    "xz": _unxz,
    "zstandard": _unzstd,
    "snappy": _unsnap,
}


# -- values ------------------------------------------------------------------------------------------------------------


def read_long(b: bytes, at: int) -> tuple[int, int]:
    """A zigzag varint at ``at``: (value, where it ends)."""
    v = b[at]
    at += 1
    if v > 127:
        v, at = varint_tail(b, at, v)
    return (v >> 1) ^ -(v & 1), at


def varint_tail(b: bytes, at: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte was ``first``: (unsigned value, where it ends)."""
    v = first & 127
    shift = 7
    while True:
        c = b[at]
        at += 1
        v |= (c & 127) << shift
        if c < 128:
            return v, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


def read_bytes(b: bytes, at: int) -> tuple[bytes, int]:
    """Bytes after their number, as Avro has them at ``at``: (value, where they end)."""
    n, at = read_long(b, at)
    if n < 0 or n > len(b) - at:
        raise ValueError("it is cut off")
    return b[at : at + n], at + n


def write_long(out: bytearray, value: int) -> None:
    v = (value << 1) ^ (value >> 63)
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)


def write_bytes(out: bytearray, value: bytes) -> None:
    write_long(out, len(value))
    out += value


# -- errors ------------------------------------------------------------------------------------------------------------


def reason(e: Exception) -> str:
    """What to tell a person of an exception that decoding garbage raised."""
    for kind, told in _REASONS.items():
        if isinstance(e, kind):
            return told
    return str(e) or type(e).__name__


_REASONS: Mapping[type[Exception], str] = {
    IndexError: "it is cut off",
    EOFError: "it is cut off",
    KeyError: "its header or its schema lacks what each has",
    RecursionError: "its schema is too deep or too large",
    UnicodeDecodeError: "a text of it is not UTF-8",
    JSONDecodeError: "its schema is not JSON",
    zlib.error: "a block of it cannot be unpacked",
    TypeError: "a part of it has another type than it should",
    AttributeError: "a part of it has another type than it should",
    OverflowError: "a number is too large",
}
