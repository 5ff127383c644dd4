"""Integers in the footer of a Parquet file, as Iceberg's own writers leave them.

DuckDB annotates a 32-bit and a 64-bit integer as such, which says nothing that the physical type does not. Iceberg's
vectorised reader (1.10) fails on an annotated ``int`` column once it was promoted to ``long``, so the annotation is
taken out again. Source: Apache Parquet's ``parquet.thrift`` (FileMetaData, SchemaElement), Thrift's compact protocol.
"""

from __future__ import annotations

from pathlib import Path

from bergsql.engine.table.parquet_schema import MAGIC, CompactReader

_SCHEMA = 2  # of FileMetaData
_TYPE, _CONVERTED, _LOGICAL = 1, 6, 10  # of SchemaElement
_INT32, _INT64 = 1, 2
_SIGNED = {_INT32: 17, _INT64: 18}  # the converted types INT_32 and INT_64


def drop_integer_annotations(path: str, size: int) -> int:
    """Rewrite the footer of the local Parquet file ``path`` of ``size`` bytes, if it needs it; its new size."""
    with Path(path).open("r+b", buffering=0) as file:
        file.seek(size - 8)
        length = int.from_bytes(file.read(8)[:4], "little")
        start = size - 8 - length
        file.seek(start)
        footer = file.read(length)
        plain = without_integer_annotations(footer)
        if len(plain) == length:
            return size
        file.seek(start)
        file.write(plain + len(plain).to_bytes(4, "little") + MAGIC)
        return file.truncate()


def without_integer_annotations(footer: bytes) -> bytes:
    """The FileMetaData ``footer`` with plain 32-bit and 64-bit integers in its schema."""
    start = next(start for number, _, start, _ in CompactReader(footer).placed_fields() if number == _SCHEMA)
    reader = CompactReader(footer, start)
    size, _ = reader.list_head()
    out = [footer[: reader.at], *[_element(reader) for _ in range(size)]]
    return b"".join([*out, footer[reader.at :]])


def _element(reader: CompactReader) -> bytes:
    """The next SchemaElement, written again without what its physical type says."""
    begin = reader.at
    fields = []
    values = {}
    for number, kind, start, value in reader.placed_fields():
        fields.append((number, kind, reader.data[start : reader.at]))
        values[number] = value
    if _CONVERTED not in values or values[_CONVERTED] != _SIGNED.get(values.get(_TYPE, -1)):
        return reader.data[begin : reader.at]
    out = bytearray()
    last = 0
    for number, kind, data in fields:
        if number not in (_CONVERTED, _LOGICAL):
            out += bytes(((number - last) << 4 | kind,)) + data  # ids of a SchemaElement are below 16
            last = number
    return bytes(out) + b"\0"
