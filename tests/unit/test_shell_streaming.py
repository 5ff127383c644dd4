"""However many rows a result has, drawing it takes the memory of some."""

from __future__ import annotations

import io
import tracemalloc
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, cast

import pytest

from bergsql.engine.result import Column, Result, ResultKind, Row
from bergsql.engine.sql.types import DataType, Kind
from bergsql.shell.render import tableau
from bergsql.shell.render.formats import FORMATS, layout
from bergsql.shell.render.layout import View

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

CHUNK = 1000


class Sink:
    """Counts what is written and keeps nothing."""

    written = 0

    def write(self, text: str) -> None:
        self.written += len(text)

    def flush(self) -> None:
        pass

    def binary(self) -> BinaryIO:
        return cast(BinaryIO, Bytes(self))


class Bytes(io.RawIOBase):
    """The same for bytes."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        self._sink.written += memoryview(data).nbytes
        return memoryview(data).nbytes


def chunks(rows: int) -> Iterator[list[Row]]:
    for first in range(0, rows, CHUNK):
        yield [(i, f"name {i}", i * 0.5) for i in range(first, first + CHUNK)]


def peak(name: str, rows: int) -> int:
    """The most memory that was in use while so many rows were drawn, in bytes."""
    columns = tuple(Column(n, DataType(k)) for n, k in (("a", Kind.BIGINT), ("b", Kind.STRING), ("c", Kind.DOUBLE)))
    sink = Sink()
    draw = layout(name)
    tracemalloc.start()
    try:
        draw(Result(ResultKind.ROWS, columns, chunks(rows)), sink, View(max_width=30))
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        assert sink.written > 5 * rows


@pytest.mark.parametrize("name", FORMATS)
def test_memory_is_flat(name: str) -> None:
    some = 4 * tableau.LOOK_AHEAD
    assert peak(name, 4 * some) < peak(name, some) + 500_000
