"""Thrift's compact protocol, as far as the footer of a Parquet file needs it: reading values one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bergsql.engine.table.avro import varint_tail

_STOP, _TRUE, _FALSE, _BYTE, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 11, 12


class CompactReader:
    """Reads values of Thrift's compact protocol one after the other; ``at`` is where the next one begins."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def varint(self) -> int:
        v = self.data[self.at]
        self.at += 1
        if v > 127:
            v, self.at = varint_tail(self.data, self.at, v)
        return v

    def value(self, kind: int) -> Any:
        """A value: a struct as a dict by field id, a list as a list; what the schema does not need as None."""
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            self.at += 1
        elif kind < _DOUBLE:
            v = self.varint()
            return (v >> 1) ^ -(v & 1)
        elif kind == _DOUBLE:
            self.at += 8
        elif kind == _BINARY:
            n = self.varint()
            self.at += n
            return self.data[self.at - n : self.at]
        elif kind in (_LIST, _SET):
            return self.list()
        elif kind == _STRUCT:
            return dict(self.fields())
        else:
            raise ValueError("an unexpected type")
        return None

    def fields(self, until: int = 1 << 15, after: int = 0) -> Iterator[tuple[int, Any]]:
        """The fields of a struct behind the field ``after`` as (id, value), as far as the field ``until``."""
        for number, _, _, value in self.placed_fields(after):
            yield number, value
            if number >= until:
                return

    def placed_fields(self, after: int = 0) -> Iterator[tuple[int, int, int, Any]]:
        """The fields of a struct behind the field ``after`` as (id, kind, where the value begins, value). The value
        ends at ``at``."""
        number = after
        while True:
            head = self.data[self.at]
            self.at += 1
            if head == _STOP:
                return
            if head >> 4:
                number += head >> 4
            else:
                v = self.varint()
                number = (v >> 1) ^ -(v & 1)
            start = self.at
            yield number, head & 15, start, self.value(head & 15)

    def list_head(self) -> tuple[int, int]:
        """The number of a list's elements and their kind."""
        head = self.data[self.at]
        self.at += 1
        size = head >> 4
        if size == 15:
            size = self.varint()
        if size > len(self.data) - self.at:
            raise ValueError("a list is too long")
        return size, head & 15

    def list(self) -> list[Any]:
        size, kind = self.list_head()
        if kind in (_TRUE, _FALSE):
            self.at += size
            return []
        return [self.value(kind) for _ in range(size)]
