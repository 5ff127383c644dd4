"""The types of an Avro writer schema, as far as manifests and their lists have them.

Each type knows how to step over a value, how to read it, and a regular expression that matches values like those it
has stepped over: that one steps over thousands of records at the speed of C. What an expression does not match is not
wrong, only slow.
"""

from __future__ import annotations

import re
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

from bergsql.catalog.metadata.exact import decimal_of
from bergsql.engine.table.avro import read_long, write_long
from bergsql.engine.table.datafile import NO_BOUNDS, NO_COUNTS
from bergsql.engine.table.raw_maps import INTEGER, RawBounds, RawCounts

_DEEPEST = 16
_MOST_NODES = 20_000
_MOST_SHAPES = 4
_MOST_LENGTHS = 512
_MARGIN = 8


class Node(ABC):
    """A type. ``least`` is the fewest bytes that a value takes."""

    least = 0

    @abstractmethod
    def walk(self, b: bytes, at: int) -> int:
        """Where the value at ``at`` ends; ValueError or IndexError where there is none."""

    @abstractmethod
    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        """The value at ``at`` and where it ends; it has been walked over before."""

    @abstractmethod
    def pattern(self) -> bytes:
        """A regular expression that matches single values like those walked over, each in one way only."""


class Null(Node):
    def walk(self, b: bytes, at: int) -> int:  # noqa: ARG002
        return at

    def read(self, b: bytes, at: int) -> tuple[Any, int]:  # noqa: ARG002
        return None, at

    def pattern(self) -> bytes:
        return b""


class Long(Node):
    least = 1

    def walk(self, b: bytes, at: int) -> int:
        return read_long(b, at)[1]

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        return read_long(b, at)

    def pattern(self) -> bytes:
        return INTEGER


class Fixed(Node):
    """``size`` bytes that ``decode`` makes a value of."""

    def __init__(self, size: int, decode: Callable[[bytes], Any]) -> None:
        if size < 0:
            raise ValueError("its schema has a type of a negative size")
        self.least = size
        self._decode = decode

    def walk(self, b: bytes, at: int) -> int:
        at += self.least
        if at > len(b):
            raise ValueError("it is cut off")
        return at

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        end = at + self.least
        return self._decode(b[at:end]), end

    def pattern(self) -> bytes:
        return b".{%d}" % self.least


class Text(Node):
    """Bytes after their number."""

    least = 1

    def __init__(self, decode: Callable[[bytes], Any], result: type = bytes) -> None:
        self.decode = decode
        self.result = result
        """The type of its values."""
        self._lengths = Lengths()

    def walk(self, b: bytes, at: int) -> int:
        length, at = read_long(b, at)
        if not 0 <= length <= len(b) - at:
            raise ValueError("it is cut off")
        self._lengths.add(length)
        return at + length

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        length, at = read_long(b, at)
        return self.decode(b[at : at + length]), at + length

    def pattern(self) -> bytes:
        return self._lengths.pattern()


class Lengths:
    """The lengths that a value had."""

    __slots__ = ("_least", "_most")

    def __init__(self) -> None:
        self._least, self._most = 1 << 63, -1

    def add(self, length: int) -> None:
        self._least = min(self._least, length)
        self._most = max(self._most, length)

    @property
    def only(self) -> int | None:
        """The one length, or None."""
        return self._most if self._least == self._most else None

    def pattern(self) -> bytes:
        if self._most < 0:
            return b"\x00"
        first, last = self._least, self._most
        if first != last:
            first, last = max(0, first - _MARGIN), last + _MARGIN
        lengths = range(first, min(last, first + _MOST_LENGTHS) + 1)
        return b"(?>" + b"|".join(encoded(n) + b".{%d}" % n for n in lengths) + b")"


class Union(Node):
    least = 1

    def __init__(self, branches: Sequence[Node]) -> None:
        self.branches = tuple(branches)

    def _branch(self, tag: int) -> Node:
        if tag & 129 or tag >> 1 >= len(self.branches):
            raise ValueError("a value has a type that its schema does not have")
        return self.branches[tag >> 1]

    def walk(self, b: bytes, at: int) -> int:
        return self._branch(b[at]).walk(b, at + 1)

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        return self._branch(b[at]).read(b, at + 1)

    def pattern(self) -> bytes:
        return b"(?>" + b"|".join(encoded(i) + n.pattern() for i, n in enumerate(self.branches[:64])) + b")"


class Record(Node):
    """Fields with their ids, None where one has none. Its value is a tuple."""

    def __init__(self, fields: Sequence[tuple[int | None, Node]]) -> None:
        self.fields = tuple(fields)
        self.least = sum(n.least for _, n in fields)

    def walk(self, b: bytes, at: int) -> int:
        for _, node in self.fields:
            at = node.walk(b, at)
        return at

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        values = []
        for _, node in self.fields:
            value, at = node.read(b, at)
            values.append(value)
        return tuple(values), at

    def pattern(self) -> bytes:
        return b"".join(n.pattern() for _, n in self.fields)


class Array(Node):
    least = 1

    def __init__(self, items: Node) -> None:
        self.items = items
        self._counts: dict[int, None] = {}

    def walk(self, b: bytes, at: int) -> int:
        start = at
        while True:
            count, at = _block(b, at, self.items.least)
            if count == 0:
                break
            if len(self._counts) < 64:
                self._counts[count] = None
            at = self._walk_items(b, at, count)
        self._learn(b, start)
        return at

    def _walk_items(self, b: bytes, at: int, count: int) -> int:
        for _ in range(count):
            at = self.items.walk(b, at)
        return at

    def _learn(self, b: bytes, start: int) -> None:
        pass

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        values: list[Any] = []
        while True:
            count, at = _block(b, at, self.items.least)
            if count == 0:
                return tuple(values), at
            for _ in range(count):
                value, at = self.items.read(b, at)
                values.append(value)

    def pattern(self) -> bytes:
        item = self.items.pattern()
        blocks = (encoded(n) + b"(?:" + item + b"){%d}+\x00" % n for n in sorted(self._counts))
        return b"(?>" + b"|".join((b"\x00", *blocks)) + b")"


class CountsMap(Array):
    """A map from field id to int, kept as bytes."""

    def __init__(self) -> None:
        super().__init__(Record(((None, Long()), (None, Long()))))

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        end = self.walk(b, at)
        return (RawCounts(b[at:end]), end) if end > at + 1 else (NO_COUNTS, end)


Shape = tuple[tuple[int, int | None], ...]
"""The keys of a map of bounds in order, each with the length of its values where they have but one."""


class BoundsMap(Array):
    """A map from field id to bytes, kept as bytes; it learns which keys there are and how long their values."""

    def __init__(self) -> None:
        super().__init__(Record(((None, Long()), (None, Text(bytes)))))
        self._shapes: dict[tuple[int, ...], list[Lengths]] = {}
        self._irregular = False

    def _learn(self, b: bytes, start: int) -> None:
        if b[start] & 1:
            return
        count, at = read_long(b, start)
        keys, lengths = [], []
        for _ in range(count):
            key, at = read_long(b, at)
            length, at = read_long(b, at)
            at += length
            keys.append(key)
            lengths.append(length)
        known = self._shapes.get(tuple(keys))
        if known is None:
            if len(self._shapes) == _MOST_SHAPES:
                return
            known = self._shapes[tuple(keys)] = [Lengths() for _ in keys]
        for have, length in zip(known, lengths, strict=True):
            have.add(length)

    def shape(self) -> Shape | None:
        """What all values have that :meth:`pattern` matches now, if it is one shape."""
        shapes = list(self._shapes.items())
        if len(shapes) != 1:
            return None
        ((keys, lengths),) = shapes
        return tuple((k, have.only) for k, have in zip(keys, lengths, strict=True))

    def read(self, b: bytes, at: int) -> tuple[Any, int]:
        end = self.walk(b, at)
        return (RawBounds(b[at:end]), end) if end > at + 1 else (NO_BOUNDS, end)

    def pattern(self) -> bytes:
        found = []
        for keys, lengths in list(self._shapes.items()):
            if keys:
                pairs = (encoded(k) + have.pattern() for k, have in zip(keys, lengths, strict=True))
                found.append(encoded(len(keys)) + b"".join(pairs) + b"\x00")
        return b"(?>" + b"|".join((b"\x00", *found)) + b")"


def _block(b: bytes, at: int, least: int) -> tuple[int, int]:
    """How many items an array's next block has, and where they begin."""
    count, at = read_long(b, at)
    if count < 0:
        count, (_, at) = -count, read_long(b, at)
    if count * max(1, least) > len(b) - at:
        raise ValueError("it is cut off")
    return count, at


def encoded(number: int) -> bytes:
    """An integer as a regular expression matches it."""
    out = bytearray()
    write_long(out, number)
    return re.escape(bytes(out))


# -- from a schema -----------------------------------------------------------------------------------------------------


class Builder:
    """Makes nodes of a schema. ``ids`` are field ids by name, for files without; maps are those whose id is given."""

    def __init__(self, ids: Mapping[str, int], counts: frozenset[int], bounds: frozenset[int]) -> None:
        self._ids = ids
        self._counts = counts
        self._bounds = bounds
        self._named: dict[str, Any] = {}
        self._made = 0

    def node(self, schema: Any, number: int | None = None, depth: int = 0) -> Node:
        """The node of a schema (parsed JSON), that of the field ``number``. ValueError where it has no sense."""
        self._made += 1
        if depth > _DEEPEST or self._made > _MOST_NODES:
            raise ValueError("its schema is too deep or too large")
        schema = self._resolved(schema)
        if isinstance(schema, list):
            return Union([self.node(branch, number, depth + 1) for branch in schema])
        more = schema if isinstance(schema, dict) else {}
        kind = more.get("type", schema)
        if isinstance(kind, dict | list):
            return self.node(kind, number, depth + 1)
        if kind in ("record", "error"):
            return Record([(i := self.id_of(f), self.node(f["type"], i, depth + 1)) for f in more["fields"]])
        if kind == "array":
            return self._array(self.node(more["items"], None, depth + 1), number)
        if kind == "map":
            return Array(Record([(None, _text()), (None, self.node(more["values"], None, depth + 1))]))
        return _primitive(kind, more)

    def _array(self, items: Node, number: int | None) -> Array:
        if number not in self._counts and number not in self._bounds:
            return Array(items)
        fields = [type(node) for _, node in items.fields] if isinstance(items, Record) else []
        if fields != ([Long, Long] if number in self._counts else [Long, Text]):
            raise ValueError("its statistics are not maps of field ids")
        return CountsMap() if number in self._counts else BoundsMap()

    def id_of(self, part: Mapping[str, Any]) -> int | None:
        """The id of a record's field."""
        given = part.get("field-id", self._ids.get(part["name"]))
        return None if given is None else int(given)

    def _resolved(self, schema: Any) -> Any:
        """A schema with its name looked up; named ones are remembered."""
        if isinstance(schema, str):
            return self._named.get(schema, schema)
        if isinstance(schema, dict) and schema.get("type") in ("record", "fixed", "enum", "error"):
            self._named[schema["name"]] = schema
        elif isinstance(schema, dict) and isinstance(schema.get("type"), str):
            return self._named.get(schema["type"], schema)
        return schema


def _text() -> Text:
    return Text(lambda b: str(b, "utf-8"), str)


def _primitive(kind: Any, more: Mapping[str, Any]) -> Node:
    logical = more.get("logicalType")
    match kind:
        case "int" | "long" | "enum":
            return Long()
        case "boolean":
            return Fixed(1, lambda b: b == b"\x01")
        case "float" | "double":
            number = struct.Struct("<f" if kind == "float" else "<d")
            return Fixed(number.size, lambda b: number.unpack(b)[0])
        case "null":
            return Null()
        case "fixed" | "bytes" if logical == "decimal":
            decode = _decimals(int(more.get("scale", 0)))
            return Fixed(int(more["size"]), decode) if kind == "fixed" else Text(decode, Decimal)
        case "fixed":
            return Fixed(int(more["size"]), (lambda b: UUID(bytes=b)) if logical == "uuid" else bytes)
        case "string":
            return Text(lambda b: UUID(str(b, "utf-8")), UUID) if logical == "uuid" else _text()
        case "bytes":
            return Text(bytes)
    raise ValueError(f"its schema has an unknown type {kind}")


def _decimals(scale: int) -> Callable[[bytes], Decimal]:
    return lambda b: decimal_of(int.from_bytes(b, "big", signed=True), scale)
