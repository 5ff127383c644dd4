"""Changes what the footer of a Parquet file says of its columns, to make files as other writers do.

Thrift's compact protocol, read into and written from ``{field: (type, value)}`` without knowing what the fields mean.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Struct = dict[int, tuple[int, Any]]
TRUE, FALSE, BYTE, I32, DOUBLE, BINARY, LIST, MAP, STRUCT = 1, 2, 3, 5, 7, 8, 9, 11, 12
REPETITION, NAME, NUM_CHILDREN, CONVERTED, FIELD_ID, LOGICAL = 3, 4, 5, 6, 9, 10
VARIANT: Struct = {16: (STRUCT, {1: (BYTE, 1)})}
"""The annotation of a group that is a variant."""


def geometry(system: str | None = None, *, globe: bool = False) -> Struct:
    """The annotation of bytes that are a geometry or (``globe``) a geography."""
    return {18 if globe else 17: (STRUCT, {} if system is None else {1: (BINARY, system.encode())})}


def edit(path: Path, change: Callable[[list[Struct]], list[Struct]]) -> None:
    """Replace the schema elements of a file, the root first, with what ``change`` makes of them."""
    data = path.read_bytes()
    length = int.from_bytes(data[-8:-4], "little")
    footer, _ = _read_struct(data[-8 - length : -8], 0)
    kind, (item_kind, elements) = footer[2]
    footer[2] = (kind, (item_kind, change(elements)))
    encoded = _struct(footer)
    path.write_bytes(data[: -8 - length] + encoded + len(encoded).to_bytes(4, "little") + b"PAR1")


def annotate(path: Path, name: str, logical: Struct) -> None:
    """Say of each column or part called ``name`` what it is."""

    def change(elements: list[Struct]) -> list[Struct]:
        for element in elements:
            if element[NAME][1] == name.encode():
                element[LOGICAL] = (STRUCT, logical)
        return elements

    edit(path, change)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _read(kind: int, data: bytes, at: int, *, inside: bool = False) -> tuple[Any, int]:
    if kind in (TRUE, FALSE):
        return (data[at] == TRUE, at + 1) if inside else (kind == TRUE, at)
    if kind == BYTE:
        return data[at], at + 1
    if kind < DOUBLE:
        return _zigzag(data, at)
    if kind == DOUBLE:
        return data[at : at + 8], at + 8
    if kind == BINARY:
        size, at = _varint(data, at)
        return data[at : at + size], at + size
    if kind == LIST:
        size, item = data[at] >> 4, data[at] & 15
        at += 1
        if size == 15:
            size, at = _varint(data, at)
        items = []
        for _ in range(size):
            value, at = _read(item, data, at, inside=True)
            items.append(value)
        return (item, items), at
    assert kind == STRUCT
    return _read_struct(data, at)


def _read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    found: Struct = {}
    number = 0
    while data[at]:
        step, kind = data[at] >> 4, data[at] & 15
        at += 1
        if step:
            number += step
        else:
            number, at = _zigzag(data, at)
        value, at = _read(kind, data, at)
        found[number] = (kind, value)
    return found, at + 1


def _write_varint(value: int) -> bytes:
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def _write_zigzag(value: int) -> bytes:
    return _write_varint(value << 1 if value >= 0 else (-value << 1) - 1)


def _write(kind: int, value: Any, *, inside: bool = False) -> bytes:
    if kind in (TRUE, FALSE):
        return bytes([TRUE if value else FALSE]) if inside else b""
    if kind == BYTE:
        return bytes([int(value)])
    if kind < DOUBLE:
        return _write_zigzag(value)
    if kind == DOUBLE:
        return bytes(value)
    if kind == BINARY:
        return _write_varint(len(value)) + bytes(value)
    if kind == LIST:
        item, items = value
        head = bytes([len(items) << 4 | item]) if len(items) < 15 else bytes([0xF0 | item]) + _write_varint(len(items))
        return head + b"".join(_write(item, i, inside=True) for i in items)
    return _struct(value)


def _struct(fields: Struct) -> bytes:
    made = bytearray()
    before = 0
    for number, (kind, value) in sorted(fields.items()):
        step = number - before
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        made += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _write_zigzag(number)
        made += _write(kind, value)
        before = number
    return bytes(made) + b"\0"
