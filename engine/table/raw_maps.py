"""The statistics of manifests' files: maps from field id, kept as the bytes they are and decoded when looked into.

A file of a wide table has hundreds of statistics, of which a plan needs two or three.
"""

from __future__ import annotations

import re
from collections.abc import Callable, ItemsView, Iterator, Mapping, Sequence, ValuesView
from functools import lru_cache
from typing import Any, ClassVar

from bergsql.engine.table.avro import read_bytes, read_long, write_long

# Regular expressions step over encoded values at the speed of C: any integer is bytes above 127 and one below.
INTEGER = rb"[\x80-\xff]*+[\x00-\x7f]"
_SHORT_BYTES = b"|".join(re.escape(bytes([2 * n])) + b".{%d}" % n for n in range(64))


class RawMap(Mapping[int, Any]):
    """A map from field id, encoded as Avro's array of key and value (not empty), and decoded whenever looked into.

    Nothing decoded is kept: a cache holds very many of these.
    """

    __slots__ = ("raw",)
    _value: ClassVar[bytes]
    _read: ClassVar[Callable[[bytes, int], tuple[Any, int]]]

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def decoded(self) -> dict[int, Any]:
        return dict(_pairs(self.raw, type(self)._read))

    def get(self, key: int, default: Any = None) -> Any:
        raw = self.raw
        if not raw[0] & 129:  # one block, its count in one byte, nearly always
            match = _finder(key, raw[0] >> 1, self._value)(raw, 1)
            if match is not None:
                return type(self)._read(raw, match.end())[0]
        return self.decoded().get(key, default)

    def __getitem__(self, key: int) -> Any:
        return self.decoded()[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self.decoded())

    def __len__(self) -> int:
        return len(self.decoded())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return repr(self.decoded())

    def __reduce__(self) -> tuple[type[RawMap], tuple[bytes]]:
        return type(self), (self.raw,)

    def items(self) -> ItemsView[int, Any]:
        return self.decoded().items()

    def values(self) -> ValuesView[Any]:
        return self.decoded().values()


class RawCounts(RawMap):
    """Field id → int."""

    __slots__ = ()
    _value = INTEGER
    _read = read_long


class RawBounds(RawMap):
    """Field id → bytes."""

    __slots__ = ()
    _value = b"(?:" + _SHORT_BYTES + b")"
    _read = read_bytes


def bounds_of(raws: Sequence[bytes], tag: int, key: int) -> list[bytes | None]:
    """What encoded maps of bounds, after ``tag`` other bytes each, say of a key; a null or empty one nothing."""
    found: list[bytes | None] = []
    finders: dict[int, Callable[[bytes, int], re.Match[bytes] | None]] = {}
    for raw in raws:
        if len(raw) < tag + 3:
            found.append(None)
            continue
        count = raw[tag]
        find = finders.get(count)
        if find is None:
            find = finders[count] = _finder(key, count >> 1, RawBounds._value)
        match = None if count & 129 else find(raw, tag + 1)
        if match is None:
            found.append(RawBounds(raw[tag:]).decoded().get(key) if _may_hold(raw, key) else None)
            continue
        at = match.end()
        length = raw[at]
        found.append(raw[at + 1 : at + 1 + (length >> 1)] if length < 128 else read_bytes(raw, at)[0])
    return found


def _may_hold(raw: bytes, key: int) -> bool:
    """Whether the key's encoded form is anywhere in the map."""
    encoded = bytearray()
    write_long(encoded, key)
    return encoded in raw


def _pairs(raw: bytes, read: Callable[[bytes, int], tuple[Any, int]]) -> Iterator[tuple[int, Any]]:
    at = 0
    while True:
        count, at = read_long(raw, at)
        if count == 0:
            return
        if count < 0:
            count, (_, at) = -count, read_long(raw, at)
        for _ in range(count):
            key, at = read_long(raw, at)
            value, at = read(raw, at)
            yield key, value


@lru_cache(maxsize=1024)
def _finder(key: int, count: int, value: bytes) -> Callable[[bytes, int], re.Match[bytes] | None]:
    """Matches up to the value of ``key`` among ``count`` pairs."""
    encoded = bytearray()
    write_long(encoded, key)
    before = b"(?:%b%b){0,%d}?" % (INTEGER, value, max(0, count - 1))
    return re.compile(before + re.escape(bytes(encoded)), re.DOTALL).match
