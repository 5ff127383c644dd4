"""Files as lines: a stream of the text of each line and the file that it is of.

Lines end with a line feed, with a carriage return before it or not. A line that is no UTF-8 comes as NULL.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.storage.base import storage_for
from bergsql.engine.table.arrow_stream import ArrowStream

if TYPE_CHECKING:
    import pyarrow as pa

_PIECE = 8 << 20
"""Bytes of a file that are looked at at once."""
_MARK = b"\xef\xbb\xbf"
"""The byte order mark with which a file may begin: it is no part of its first line."""


@dataclass(frozen=True)
class LineStream(ArrowStream):
    """The lines of files, in order, with the columns ``line`` and ``file``; it may be read many times."""

    paths: tuple[str, ...]

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([pa.field("line", pa.large_string()), pa.field("file", pa.string())])

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        schema = self.schema()
        for path in self.paths:
            for lines in _lines(path):
                file = pa.repeat(pa.scalar(path, pa.string()), len(lines))
                yield pa.RecordBatch.from_arrays([lines, file], schema=schema)


def _lines(path: str) -> Iterator[pa.Array]:
    """The lines of a file, some at a time."""
    with storage_for(path).open_input(path) as file:
        rest = b""
        piece = file.read(_PIECE).removeprefix(_MARK)
        while piece:
            end = piece.rfind(b"\n")
            if end < 0:
                rest += piece
            else:
                yield _split(rest + piece[: end + 1])
                rest = piece[end + 1 :]
            piece = file.read(_PIECE)
        if rest:
            yield _split(rest + b"\n")


def _split(text: bytes) -> pa.Array:
    """The lines of a text that ends with a line feed."""
    import numpy as np
    import pyarrow as pa

    octets = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(octets == 0x0A)
    offsets = np.concatenate(([0], ends + 1)).astype(np.int64)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    lines = pa.Array.from_buffers(pa.large_string(), len(ends), buffers)
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        found = [_text(line) for line in text[:-1].split(b"\n")]
        return pa.array(found, pa.large_string())
    return lines


def _text(line: bytes) -> str | None:
    try:
        return line.decode()
    except UnicodeDecodeError:
        return None


TRIMMED = "regexp_replace(line, '\\r?\\n$', '')"
"""SQL of a line without its end."""
