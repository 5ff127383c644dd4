"""Taking one field's bounds out of a column of encoded maps of bounds, at the speed of C where all maps are alike."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from bergsql.engine.table.avro import read_bytes, write_long
from bergsql.engine.table.avro_columns import Column
from bergsql.engine.table.avro_nodes import Shape


class _Place(NamedTuple):
    """Where a value is in every map: after its first bytes, or (less than 0) before its end. None: it is in none."""

    offset: int
    length: int | None
    """The value's length; None: it stands before the value, and ``offset`` is where that length is."""


def alike(column: Column) -> Shape | None:
    """The shape of all maps of the column; None where some may be without."""
    if column.same or column.shape is None or not column.shape:
        return None
    shortest = column.width or min(b - a for a, b in zip((0, *column.ends[:-1]), column.ends, strict=True))
    return column.shape if shortest > 2 else None  # neither null nor empty


def encoded_bounds(column: Column, shape: Shape, tag: int, number: int) -> Sequence[bytes | None] | None:
    """The bound of the field ``number`` in each map; None when they cannot be had by their places.

    ``tag`` is how many bytes stand before each map.
    """
    place = _find(shape, tag, number)
    if place is None:
        return [None] * column.count if all(key != number for key, _ in shape) else None
    raw, offset, length = column.raw, place.offset, place.length
    starts = column.starts() if offset >= 0 else _ends(column)
    if length is None:
        return [read_bytes(raw, start + offset)[0] for start in starts]
    return [raw[start + offset : start + offset + length] for start in starts]


def numeric_bounds(
    column: Column, shape: Shape, tag: int, number: int, code_of: Callable[[int], str | None]
) -> list[Any] | None:
    """The same as numbers, where ``code_of`` knows how numbers of that length are laid out; else None."""
    place = _find(shape, tag, number)
    if place is None or place.length is None:
        return None
    offset, length = place.offset, place.length
    code = code_of(length)
    if code is None:
        return None
    if column.width:
        before = offset if offset >= 0 else column.width + offset
        rows = struct.Struct(f"<{before}x{code}{column.width - before - length}x")
        return [value for (value,) in rows.iter_unpack(column.raw)]
    unpack, raw = struct.Struct("<" + code).unpack_from, column.raw
    starts = column.starts() if offset >= 0 else _ends(column)
    return [unpack(raw, start + offset)[0] for start in starts]


def _ends(column: Column) -> Sequence[int]:
    return range(column.width, column.length + 1, column.width) if column.width else column.ends


@lru_cache(maxsize=1024)
def _find(shape: Shape, tag: int, number: int) -> _Place | None:
    """Where the value of a key is: all before it, or all behind it, must have one length."""
    keys = [key for key, _ in shape]
    if keys.count(number) != 1:
        return None
    at = keys.index(number)
    length = shape[at][1]
    own = _size(number) + (0 if length is None else _size(length))
    before = _total(shape[:at])
    if before is not None:
        return _Place(tag + _size(len(shape)) + before + own, length)
    behind = _total(shape[at + 1 :])
    if behind is not None and length is not None:
        return _Place(-(length + behind + 1), length)
    return None


def _total(pairs: Shape) -> int | None:
    """The bytes that some pairs take; None when that differs."""
    total = 0
    for key, length in pairs:
        if length is None:
            return None
        total += _size(key) + _size(length) + length
    return total


def _size(number: int) -> int:
    """The bytes that an integer takes."""
    out = bytearray()
    write_long(out, number)
    return len(out)
