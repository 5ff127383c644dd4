"""Integers in the footer of a Parquet file, as Iceberg's own writers leave them.

DuckDB annotates a 32-bit and a 64-bit integer as such, which says nothing that the physical type does not. Iceberg's
vectorised reader (1.10) fails on an annotated ``int`` column once it was promoted to ``long``, so the annotation is
taken out again. Source: Apache Parquet's ``parquet.thrift`` (FileMetaData, SchemaElement), Thrift's compact protocol.
"""

from __future__ import annotations

import os

from bergsql.catalog.storage.base import system_error
from bergsql.engine.table.parquet_schema import CONVERTED, INT32, INT64, LOGICAL, MAGIC, SCHEMA, TYPE
from bergsql.engine.table.thrift import CompactReader

_SIGNED = {INT32: 17, INT64: 18}  # the converted types INT_32 and INT_64


class PlainIntegers:
    """Takes the annotations out of files' footers; quick for files that are all of one schema."""

    def __init__(self) -> None:
        # What a footer begins with: the schema's end can be told from the bytes before it alone.
        self._annotated = self._plain = b""

    def restore(self, path: str, size: int) -> int:
        """Rewrite the footer of the local Parquet file ``path`` of ``size`` bytes, if it needs it; its new size.

        :raises BergError: IO.
        """
        try:
            return self._restore(path, size)
        except OSError as e:
            raise system_error("write", path, e.errno, os.strerror(e.errno) if e.errno else str(e)) from e

    def _restore(self, path: str, size: int) -> int:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        try:
            length = int.from_bytes(os.pread(fd, 4, size - 8), "little")
            start = size - 8 - length
            footer = os.pread(fd, length, start)
            plain = self.footer(footer)
            if len(plain) == length:
                return size
            tail = plain + len(plain).to_bytes(4, "little") + MAGIC
            end = start
            while end < start + len(tail):
                end += os.pwrite(fd, tail[end - start :], end)
            os.ftruncate(fd, end)
            return end
        finally:
            os.close(fd)

    def footer(self, footer: bytes) -> bytes:
        """The FileMetaData ``footer`` with plain 32-bit and 64-bit integers in its schema."""
        if not self._annotated or not footer.startswith(self._annotated):
            reader = CompactReader(footer)
            start = next(start for number, _, start, _ in reader.placed_fields() if number == SCHEMA)
            reader = CompactReader(footer, start)
            size, _ = reader.list_head()
            self._plain = b"".join([footer[: reader.at], *[_element(reader) for _ in range(size)]])
            self._annotated = footer[: reader.at]
        return self._plain + footer[len(self._annotated) :]


def _element(reader: CompactReader) -> bytes:
    """The next SchemaElement, written again without what its physical type says."""
    begin = reader.at
    fields = []
    values = {}
    for number, kind, start, value in reader.placed_fields():
        fields.append((number, kind, reader.data[start : reader.at]))
        values[number] = value
    if CONVERTED not in values or values[CONVERTED] != _SIGNED.get(values.get(TYPE, -1)):
        return reader.data[begin : reader.at]
    out = bytearray()
    last = 0
    for number, kind, data in fields:
        if number not in (CONVERTED, LOGICAL):
            out += bytes(((number - last) << 4 | kind,)) + data  # ids of a SchemaElement are below 16
            last = number
    return bytes(out) + b"\0"
