"""Avro data files: written and read in blocks, whatever their size.

The container is ours, as that of manifests is (avro.py); records are encoded and decoded by fastavro.
"""

from __future__ import annotations

import io
import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from bergsql.catalog.storage.base import MOST_BYTES
from bergsql.engine.table.avro import MAGIC, block_codec, corrupt, reason, write_bytes, write_long
from bergsql.engine.table.avro_schema import Json, arrow_fields, expanded, named_once, numbered, without_logical_types
from bergsql.engine.table.avro_values import batch_of, records_of

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.catalog.storage.base import Storage

_BLOCK = 64 << 10
"""Bytes of records after which a block ends; Java's writers do so at 64,000."""
_BATCH_ROWS = 8192
_SYNC = 16
_LONGEST_HEADER = 64 << 20
T = TypeVar("T")
_LEVEL = 6
"""Of deflate, when no level is asked for. Java takes 9, which is four times slower and hardly smaller."""


# --- writing ----------------------------------------------------------------------------------------------------------


class AvroWriter:
    """Writes the local file ``path``. ``codec`` is Iceberg's name, ``level`` None the codec's default."""

    def __init__(self, path: str, schema: Json, codec: str, level: int | None, metadata: dict[str, str]) -> None:
        import fastavro

        self._schema = expanded(numbered(schema))
        self._plain = fastavro.parse_schema(named_once(without_logical_types(self._schema)))
        self._encode = fastavro.schemaless_writer
        name, self._compress = _compressor(codec, level)
        self._sync = os.urandom(_SYNC)
        self._block, self._rows = io.BytesIO(), 0
        self._file = open(path, "wb")  # noqa: SIM115, PTH123 - closed by close()
        header = bytearray(MAGIC)
        entries = {"avro.schema": json.dumps(schema), "avro.codec": name, **metadata}
        write_long(header, len(entries))
        for key, value in entries.items():
            write_bytes(header, key.encode())
            write_bytes(header, value.encode())
        self._file.write(bytes(header) + b"\0" + self._sync)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows, whose columns are the schema's, in order."""
        encode, block, plain = self._encode, self._block, self._plain
        for record in records_of(batch, self._schema):
            encode(block, plain, record)
            self._rows += 1
            if block.tell() >= _BLOCK:
                self._flush()

    def _flush(self) -> None:
        data = self._compress(self._block.getvalue())
        head = bytearray()
        write_long(head, self._rows)
        write_long(head, len(data))
        self._file.write(bytes(head) + data + self._sync)
        self._block.seek(0)
        self._block.truncate()
        self._rows = 0

    def close(self) -> None:
        """Finish the file."""
        if self._rows:
            self._flush()
        self._file.close()

    def abandon(self) -> None:
        """Close the file, of which nothing is wanted any more."""
        self._file.close()


def _compressor(codec: str, level: int | None) -> tuple[str, Callable[[bytes], bytes]]:
    """Avro's name of a codec, and what compresses a block."""
    if codec == "uncompressed":
        return "null", lambda data: data
    if codec == "gzip":

        def deflate(data: bytes) -> bytes:
            made = zlib.compressobj(_LEVEL if level is None else level, zlib.DEFLATED, -15)
            return made.compress(data) + made.flush()

        return "deflate", deflate
    import pyarrow as pa

    if codec == "zstd":
        zstd = pa.Codec("zstd", compression_level=level)
        return "zstandard", lambda data: bytes(zstd.compress(data, asbytes=True))
    snappy = pa.Codec("snappy")
    return "snappy", lambda data: snappy.compress(data, asbytes=True) + zlib.crc32(data).to_bytes(4, "big")


# --- reading ----------------------------------------------------------------------------------------------------------


def avro_columns(storage: Storage, path: str) -> list[pa.Field]:
    """The columns of a file, with their field ids. CORRUPT when it is damaged."""
    with storage.open_input(path) as file:
        schema, _, _ = _header(file, path)
    return _read(path, lambda: arrow_fields(expanded(schema)))


def read_avro(storage: Storage, path: str, columns: Sequence[int]) -> Iterator[pa.RecordBatch]:
    """The rows of a file, of some of its columns: their positions, ascending. CORRUPT when it is damaged."""
    import fastavro

    with storage.open_input(path) as file:
        schema, decompress, sync = _header(file, path)
        schema = _read(path, lambda: numbered(schema))
        whole = _read(path, lambda: expanded(schema))
        fields = [_read(path, lambda: arrow_fields(whole))[i] for i in columns]
        plain = without_logical_types(whole)
        kept = {**plain, "fields": [plain["fields"][i] for i in columns]}
        some_only = len(columns) < len(plain["fields"])
        plain = named_once(plain)
        blocks: Any = _Blocks(file, plain, decompress, sync)
        try:
            rows: Any = fastavro.reader(blocks, reader_schema=named_once(kept) if some_only else None)
            while some := list(islice(rows, _BATCH_ROWS)):
                yield batch_of(some, whole, columns, fields)
        except GeneratorExit:
            raise
        except Exception as e:  # whatever garbage makes of a value
            raise corrupt(f"Data file {path}", reason(e)) from e


def _read(path: str, what: Callable[[], T]) -> T:
    try:
        return what()
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as e:
        raise corrupt(f"Data file {path}", reason(e)) from e


def _header(file: BinaryIO, path: str) -> tuple[Json, Callable[[bytes, int], bytes], bytes]:
    """The schema of a file, its codec, and its sync marker; the file is then at its first block."""

    def read() -> tuple[Json, Callable[[bytes, int], bytes], bytes]:
        if file.read(4) != MAGIC:
            raise ValueError("its first bytes are not Avro's")
        found: dict[str, bytes] = {}
        while count := _long(file):
            if count < 0:
                count = -count
                _long(file)
            for _ in range(count):
                key = _exactly(file, _long(file)).decode()
                found[key] = _exactly(file, _long(file))
        codec = block_codec(found.get("avro.codec", b"null").decode())
        schema = json.loads(found["avro.schema"])
        if not isinstance(schema, dict) or schema.get("type") != "record":
            raise ValueError("its rows are no records")
        return schema, codec, _exactly(file, _SYNC)

    return _read(path, read)


def _exactly(file: BinaryIO, size: int) -> bytes:
    if not 0 <= size <= _LONGEST_HEADER:
        raise ValueError("it is cut off")
    data = file.read(size)
    if len(data) < size:
        raise ValueError("it is cut off")
    return data


def _long(file: BinaryIO) -> int:
    value = shift = 0
    while True:
        byte = _exactly(file, 1)[0]
        value |= (byte & 127) << shift
        if byte < 128:
            return (value >> 1) ^ -(value & 1)
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")


class _Blocks:
    """A file as fastavro reads it: with another schema in its header, and its blocks uncompressed, one at a time."""

    def __init__(self, file: BinaryIO, schema: Json, decompress: Callable[[bytes, int], bytes], sync: bytes) -> None:
        self._file, self._decompress, self._sync = file, decompress, sync
        header = bytearray(MAGIC)
        write_long(header, 2)
        for key, value in (("avro.schema", json.dumps(schema)), ("avro.codec", "null")):
            write_bytes(header, key.encode())
            write_bytes(header, value.encode())
        self._open: Any = io.BytesIO(bytes(header) + b"\0" + sync)

    def read(self, size: int) -> bytes:
        data: bytes = self._open.read(size)
        if len(data) < size and self._next():
            data += self.read(size - len(data))
        return data

    def _next(self) -> bool:
        first = self._file.read(1)
        if not first:
            return False
        self._file.seek(-1, os.SEEK_CUR)
        count, size = _long(self._file), _long(self._file)
        payload = self._file.read(size) if size >= 0 else b""
        if len(payload) != size or count < 0 or self._file.read(_SYNC) != self._sync:
            raise ValueError("a block does not end where it should")
        payload = self._decompress(payload, MOST_BYTES)
        head = bytearray()
        write_long(head, count)
        write_long(head, len(payload))
        self._open = io.BytesIO(bytes(head) + payload + self._sync)
        return True
