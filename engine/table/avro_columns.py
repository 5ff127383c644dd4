"""The records of an Avro file as columns: cut apart without being decoded, and decoded where somebody looks.

A record is its fields' encoded values one after the other. Each field that is looked at on its own makes a column of
encoded values, those between them share one. A column whose values are all the same keeps one of them. So the columns
hold exactly what the file held, in little space, and what no plan asks for is never decoded.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any, NamedTuple

from bergsql.engine.table.avro_nodes import Array, BoundsMap, Builder, CountsMap, Node, Null, Record, Shape, Text, Union
from bergsql.engine.table.datafile import NO_BOUNDS, NO_COUNTS
from bergsql.engine.table.raw_maps import RawBounds, RawCounts

_MISSES = 64
"""So many records are stepped over one by one before an expression is compiled for them, which takes milliseconds."""
_AT_A_TIME = 4096
_LARGEST_PATTERN = 1 << 20


class Layout(NamedTuple):
    """How records are cut, by Iceberg field id (or, where a writer left the ids out, by name)."""

    alone: frozenset[int]
    """Ids of fields that have a column of their own."""
    inside: frozenset[int] = frozenset()
    """Ids of records whose fields count as the outer record's."""
    counts: frozenset[int] = frozenset()
    bounds: frozenset[int] = frozenset()
    """Ids of maps that are kept as bytes."""
    names: tuple[tuple[str, int], ...] = ()
    """Ids of fields by name, for files without ids."""


class Column(NamedTuple):
    """Encoded values, one after the other in ``raw``; ``same``: there is one, which all records have."""

    data: bytes
    """What ``raw`` is a part of, from ``begin`` on."""
    begin: int
    length: int
    count: int  # type: ignore[assignment]
    same: bool
    width: int = 0
    """The length of every value, when that is one length; 0: see ``ends``."""
    ends: Sequence[int] = ()
    shape: Shape | None = None
    """Of bounds: what is known of their keys and of the lengths of their values."""

    @property
    def raw(self) -> bytes:
        return self.data[self.begin : self.begin + self.length]

    def starts(self) -> Sequence[int]:
        """Where each value begins (not of a column of one value)."""
        return range(0, self.length, self.width) if self.width else [0, *self.ends[:-1]]

    def values(self) -> list[bytes]:
        """The encoded value of each record."""
        raw = self.raw
        if self.same:
            return [raw] * self.count
        if self.width:
            return [raw[i : i + self.width] for i in range(0, len(raw), self.width)]
        ends = self.ends
        return [raw[i:j] for i, j in zip([0, *ends[:-1]], ends, strict=True)]

    def take(self, rows: Iterable[int]) -> list[bytes]:
        """The encoded values of some records."""
        raw, width, ends = self.raw, self.width, self.ends
        if self.same:
            return [raw for _ in rows]
        if width:
            return [raw[i * width : i * width + width] for i in rows]
        return [raw[ends[i - 1] if i else 0 : ends[i]] for i in rows]


@dataclass(frozen=True, slots=True)
class Columns:
    """All records of a file. ``schema`` is the writer's (JSON); ``weight`` is about what they take in bytes."""

    schema: bytes
    count: int
    columns: tuple[Column, ...]

    @property
    def weight(self) -> int:
        return sum(c.length + 4 * len(c.ends) + 150 for c in self.columns)


class _Builder:
    """Collects a column."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._lengths = array("I")
        self._first: bytes | None = None
        self._count = 0

    def add(self, values: Sequence[bytes]) -> None:
        if self._first is None:
            self._first = values[0]
        if not self._pieces:
            if values.count(self._first) == len(values):
                self._count += len(values)
                return
            self._pieces.append(self._first * self._count)
            self._lengths.extend([len(self._first)] * self._count)
        self._count += len(values)
        self._pieces.append(b"".join(values))
        self._lengths.extend(map(len, values))

    def column(self, shape: Shape | None) -> Column:
        if not self._pieces:
            first = self._first or b""
            return Column(first, 0, len(first), self._count, True, len(first))
        raw, lengths = b"".join(self._pieces), self._lengths
        width = lengths[0] if lengths.count(lengths[0]) == self._count else 0
        ends = () if width else array("I", accumulate(lengths))
        return Column(raw, 0, len(raw), self._count, False, width, ends, shape)


class Segment(NamedTuple):
    """The fields of one column in order, with their ids."""

    fields: tuple[tuple[int | None, Node], ...]


class Cutter:
    """Cuts and reads the records of one writer schema. It learns from what it cuts: see :func:`cutter_for`."""

    def __init__(self, schema: bytes, layout: Layout) -> None:
        builder = Builder(dict(layout.names), layout.counts, layout.bounds)
        root = builder.node(json.loads(schema))
        if not isinstance(root, Record):
            raise ValueError("its values are not records")
        self.schema = schema
        self.segments = tuple(_segments(_flat(root, layout.inside), layout.alone))
        self.place = {i: (at, k) for at, s in enumerate(self.segments) for k, (i, _) in enumerate(s.fields)}
        """Where the field of an id is: in which column, and in which place there."""
        self._least = root.least
        self._expression: Any = None
        self._shapes: tuple[Shape | None, ...] = (None,) * len(self.segments)
        self._misses = 0
        self._patience = _MISSES

    def cut(self, blocks: Iterable[tuple[int, bytes]], most: int = 1 << 31) -> Columns:
        """The records of blocks (how many, their bytes) as columns: ``most`` of them.

        ValueError or IndexError where they are damaged, or are more.
        """
        builders = [_Builder() for _ in self.segments]
        total, by_expression = 0, True
        for count, block in blocks:
            if count * max(1, self._least) > len(block):
                raise ValueError("it is cut off")
            if count > most - total:
                raise ValueError(f"it has more than {most} records")
            at = left = 0
            left = count
            while left:
                rows, at = self._match(block, at, min(left, _AT_A_TIME))
                if not rows:
                    by_expression = False
                    row, at = self._step(block, at)
                    rows = [row]
                for builder, values in zip(builders, zip(*rows, strict=True), strict=True):
                    builder.add(values)
                left -= len(rows)
            if at != len(block):
                raise ValueError("a block does not hold what its header says")
            total += count
        shapes = self._shapes if by_expression else (None,) * len(self.segments)
        return Columns(self.schema, total, tuple(b.column(s) for b, s in zip(builders, shapes, strict=True)))

    def _match(self, block: bytes, at: int, most: int) -> tuple[list[tuple[bytes, ...]], int]:
        """Up to so many records that the expression knows, and where they end."""
        if self._expression is None:
            return [], at
        match = None
        rows = []
        for match in islice(iter(self._expression.scanner(block, at).match, None), most):
            rows.append(match.groups())
        return rows, at if match is None else match.end()

    def _step(self, block: bytes, at: int) -> tuple[tuple[bytes, ...], int]:
        """One record, and where it ends."""
        row = []
        for segment in self.segments:
            start = at
            for _, node in segment.fields:
                at = node.walk(block, at)
            if at > len(block):
                raise ValueError("it is cut off")
            row.append(block[start:at])
        self._misses += 1
        if self._misses >= self._patience:
            self._compile()
        return tuple(row), at

    def _compile(self) -> None:
        """Make an expression for the records met so far."""
        self._misses, self._patience = 0, self._patience * 2
        pattern = b"".join(b"(%b)" % b"".join(n.pattern() for _, n in s.fields) for s in self.segments)
        if len(pattern) > _LARGEST_PATTERN or not self._least:
            return
        self._expression = re.compile(pattern, re.DOTALL)
        self._shapes = tuple(_shape(s) for s in self.segments)

    def read(self, column: int, raw: bytes) -> tuple[Any, ...]:
        """The values of the column's fields in an encoded value of it."""
        at = 0
        values = []
        for _, node in self.segments[column].fields:
            value, at = node.read(raw, at)
            values.append(value)
        return tuple(values)

    def decoded(self, number: int, raws: list[bytes]) -> list[Any]:
        """Values of a field that has a column of its own, from its encoded values."""
        at, _ = self.place[number]
        ((_, node),) = self.segments[at].fields
        return _decoded(node, raws)

    def tag(self, number: int) -> int | None:
        """How many bytes stand before each map of bounds that has a column of its own; None: that is not so simple."""
        at, k = self.place[number]
        node = self.segments[at].fields[k][1]
        inner = _optional(node)
        return None if not isinstance(inner, BoundsMap) else 0 if inner is node else 1

    def parts(self, number: int, ids: Sequence[int]) -> list[int | None]:
        """Where the parts of a record (or of an array's records) of these ids are in its tuple; None: they are not."""
        at, k = self.place[number]
        node = _optional(self.segments[at].fields[k][1])
        if isinstance(node, Array):
            node = _optional(node.items)
        known = {i: at for at, (i, _) in enumerate(node.fields)} if isinstance(node, Record) else {}
        return [known.get(i) for i in ids]

    def check(self, expected: Cutter) -> None:
        """Raise ValueError where a field has another type than in ``expected``: its values would be of none that is
        known. A field may be missing, and one that is may be nothing but null."""
        for number, (at, k) in expected.place.items():
            place = None if number is None else self.place.get(number)
            if place is not None and not _alike(
                self.segments[place[0]].fields[place[1]][1], expected.segments[at].fields[k][1]
            ):
                raise ValueError(f"its field {number} has another type than it should")

    def fields(
        self, columns: Columns, numbers: Sequence[int], rows: Sequence[int] | None = None
    ) -> list[list[Any] | None]:
        """The values of some fields in some records (None: in all); None for a field that the file lacks."""
        count = columns.count if rows is None else len(rows)
        decoded: dict[int, list[list[Any]]] = {}
        found: list[list[Any] | None] = []
        for number in numbers:
            place = self.place.get(number)
            if place is None:
                found.append(None)
                continue
            at, k = place
            if at not in decoded:
                decoded[at] = self._values(at, columns.columns[at], rows, count)
            found.append(decoded[at][k])
        return found

    def _values(self, at: int, column: Column, rows: Sequence[int] | None, count: int) -> list[list[Any]]:
        """The values of each field of a column."""
        fields = self.segments[at].fields
        if not count:
            return [[] for _ in fields]
        if column.same:
            return [[value] * count for value in self.read(at, column.raw)]
        raws = column.values() if rows is None else column.take(rows)
        if len(fields) == 1 and not isinstance(fields[0][1], Record):
            return [_decoded(fields[0][1], raws)]
        known = {raw: self.read(at, raw) for raw in set(raws)}
        return [list(values) for values in zip(*(known[raw] for raw in raws), strict=True)]


@lru_cache(maxsize=64)
def cutter_for(schema: bytes, layout: Layout) -> Cutter:
    """The cutter of a writer schema (JSON), which knows what it learned before. ValueError where it has no sense."""
    return Cutter(schema, layout)


def _flat(record: Record, inside: frozenset[int]) -> Iterable[tuple[int | None, Node]]:
    for number, node in record.fields:
        if number in inside and isinstance(node, Record):
            yield from _flat(node, inside)
        else:
            yield number, node


def _segments(fields: Iterable[tuple[int | None, Node]], alone: frozenset[int]) -> Iterable[Segment]:
    between: list[tuple[int | None, Node]] = []
    for number, node in fields:
        if number in alone:
            if between:
                yield Segment(tuple(between))
                between = []
            yield Segment(((number, node),))
        else:
            between.append((number, node))
    if between:
        yield Segment(tuple(between))


def _shape(segment: Segment) -> Shape | None:
    """The shape of a column of bounds, as they are encoded: after the tag of a union, when there is one."""
    ((_, node), *more) = segment.fields
    inner = _optional(node)
    return inner.shape() if not more and isinstance(inner, BoundsMap) else None


def _optional(node: Node) -> Node:
    """What ``["null", X]`` is when it is not null."""
    if isinstance(node, Union) and len(node.branches) == 2 and isinstance(node.branches[0], Null):
        return node.branches[1]
    return node


def _alike(node: Node, other: Node) -> bool:
    """Whether the values of two types are of one Python type; those of records are not looked at."""
    if isinstance(node, Union):
        return all(_alike(branch, other) for branch in node.branches)
    other = _optional(other)
    if isinstance(node, Null):
        return True
    if isinstance(node, Text) and isinstance(other, Text):
        return node.result is other.result
    if isinstance(node, Array) and isinstance(other, Array):
        return _alike(node.items, other.items)
    return type(node) is type(other)


def _decoded(node: Node, raws: list[bytes]) -> list[Any]:
    inner = _optional(node)
    tag = 0 if inner is node else 1
    if isinstance(inner, CountsMap | BoundsMap):
        make: Callable[[bytes], Mapping[int, Any]] = RawCounts if isinstance(inner, CountsMap) else RawBounds
        none = NO_COUNTS if isinstance(inner, CountsMap) else NO_BOUNDS
        if tag:
            return [make(r[1:]) if len(r) > 2 else none if len(r) == 2 else None for r in raws]
        return [make(r) if len(r) > 1 else none for r in raws]
    if isinstance(node, Text) and all(65 < len(r) < 8194 for r in raws):  # a length of two bytes
        decode = node.decode
        return [decode(r[2:]) for r in raws]
    read = node.read
    return [read(r, 0)[0] for r in raws]
