"""The join of two streams within a span of event time: a row is kept until the watermark says that no partner can come.

A late row meets what is still there, as in Flink. A row without a partner comes out when none can come any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK, OP, Batch, RowKind, column
from bergsql.engine.streaming.nodes import IntervalJoinNode, JoinKind
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names, watermark_of, with_columns
from bergsql.engine.streaming.operators.join_keys import equal_columns, key_sql
from bergsql.engine.streaming.state.rows import (
    NUMBER_BYTES,
    Rows,
    decode_number,
    encode_number,
    encode_numbers,
    prefixes,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.nodes import Node

_ARRIVED = b"arrived"
_ALONE, _MATCHED = b"\x00", b"\x01"


class _Part(NamedTuple):
    """Some rows of one side: columns c0, …, t (their time, µs) and id; and their keys in the state."""

    rows: pa.Table
    keys: list[bytes]
    matched: list[bool]


class _Side:
    """One input: its rows by key and time, and by time for what is forgotten.

    ``ahead`` and ``behind`` are how far before and after a row's time its partners may be, in microseconds.
    """

    def __init__(
        self, context: OperatorContext, name: str, node: Node, keys: Sequence[str], time: int, ahead: int, behind: int
    ) -> None:
        self.rows = Rows(context, node.columns)
        self.ahead, self.behind = ahead, behind
        self._context = context
        self._state = context.state.part(name)
        self._times = context.state.part(name + " times")  # time and arrival → join key
        self._numbers = context.state.part(name + "#")
        self._keys = keys
        self._time = f"epoch_us({column(time)})"
        (value,) = self._numbers.get_many([_ARRIVED])
        self._arrived = decode_number(value) if value is not None else 0

    def take(self, batch: Batch | None) -> tuple[_Part, list[bytes], pa.Table] | None:
        """The rows of a batch that may have partners, their join keys, and the rows that never have."""
        import pyarrow.compute as pc

        if batch is None:
            return None
        batch = self._context.table(batch)
        keys = "".join(f", {sql} AS k{position}" for position, sql in enumerate(self._keys))
        null = " OR ".join(f"({sql}) IS NULL" for sql in (self._time, *self._keys))
        table = self._context.query(
            f"SELECT {names(len(self.rows.names))}, {self._time} AS t{keys}, {null} AS u"
            f" FROM {batch.sql} ORDER BY rowid"
        )
        alone = table.filter(table["u"]).select(self.rows.names)
        table = table.filter(pc.invert(table["u"]))
        first = prefixes(table, [f"k{position}" for position in range(len(self._keys))])
        places = encode_numbers(range(self._arrived + 1, self._arrived + 1 + len(first)))
        self._arrived += len(first)
        self._numbers.put_many([(_ARRIVED, encode_number(self._arrived))])
        times = encode_numbers(table["t"].to_pylist())
        state_keys = [a + b + c for a, b, c in zip(first, times, places, strict=True)]
        rows = with_columns(table.select([*self.rows.names, "t"]), id=range(len(first)))
        return _Part(rows, state_keys, [False] * len(first)), first, alone

    def meeting(self, other: _Part, prefixes: Sequence[bytes], other_side: _Side, begin: int) -> _Part | None:
        """The kept rows that may meet rows of the other side: by key, within the span of their times."""
        spans: dict[bytes, tuple[int, int]] = {}
        for prefix, time in zip(prefixes, other.rows["t"].to_pylist(), strict=True):
            low, high = spans.get(prefix, (time, time))
            spans[prefix] = min(low, time), max(high, time)
        entries: list[tuple[bytes, bytes]] = []
        for prefix, (low, high) in spans.items():
            start = prefix + encode_number(low - other_side.ahead)
            stop = prefix + encode_number(high + other_side.behind + 1)
            entries += self._state.scan(prefix, start, stop)
        if not entries:
            return None
        times = [decode_number(key[-2 * NUMBER_BYTES :]) for key, _ in entries]
        table = with_columns(
            self.rows.decode([value[1:] for _, value in entries]), t=times, id=range(begin, begin + len(entries))
        )
        return _Part(table, [key for key, _ in entries], [value[:1] == _MATCHED for _, value in entries])

    def keep(self, part: _Part, ids: frozenset[int], watermark: int) -> list[int]:
        """Store new rows, those of ``ids`` as matched. The positions of those that are not worth keeping any more."""
        puts, times, over = [], [], []
        values = self.rows.encode(part.rows)
        for position, (key, time, value) in enumerate(zip(part.keys, part.rows["t"].to_pylist(), values, strict=True)):
            if self._is_over(time, watermark):
                over.append(position)
                continue
            cut = len(key) - 2 * NUMBER_BYTES
            puts.append((key, (_MATCHED if position in ids else _ALONE) + value))
            times.append((key[cut:], key[:cut]))
        self._state.put_many(puts)
        self._times.put_many(times)
        return over

    def match(self, part: _Part, ids: frozenset[int], begin: int) -> None:
        """Note that kept rows have found a partner."""
        keys = [
            key
            for position, (key, matched) in enumerate(zip(part.keys, part.matched, strict=True), begin)
            if not matched and position in ids
        ]
        found = zip(keys, self._state.get_many(keys), strict=True)
        self._state.put_many([(key, _MATCHED + value[1:]) for key, value in found if value is not None])

    def forget(self, watermark: int) -> pa.Table | None:
        """Drop the rows that no partner can come for. Those that never had one."""
        if watermark == NO_WATERMARK:
            return None
        stop = None if watermark == END_OF_TIME else encode_number(watermark - self.behind + 1)
        over = list(self._times.scan(stop=stop))
        if not over:
            return None
        keys = [prefix + time for time, prefix in over]
        values = self._state.get_many(keys)
        self._state.delete_many(keys)
        self._times.delete_many([time for time, _ in over])
        alone = [value[1:] for value in values if value is not None and value[:1] == _ALONE]
        return self.rows.decode(alone) if alone else None

    def _is_over(self, time: int, watermark: int) -> bool:
        return watermark != NO_WATERMARK and time + self.behind <= watermark


class IntervalJoin(Operator):
    """See the module."""

    def __init__(self, node: IntervalJoinNode) -> None:
        self._node = node
        self._stays = (node.kind in (JoinKind.LEFT, JoinKind.FULL), node.kind in (JoinKind.RIGHT, JoinKind.FULL))
        self._delay = max(node.upper, -node.lower, 0)
        """How far behind the watermark the time of a row may be that comes out."""

    def open(self, context: OperatorContext) -> None:
        node = self._node
        self._context = context
        left, right = node.inputs
        left_keys, right_keys = key_sql(context, left, right, node.left_keys, node.right_keys)
        self._sides = (
            _Side(context, "l", left, left_keys, node.left_time, -node.lower, node.upper),
            _Side(context, "r", right, right_keys, node.right_time, node.upper, -node.lower),
        )
        within = f"r.t BETWEEN l.t + ({node.lower}) AND l.t + ({node.upper})"
        equal = equal_columns(node.left_keys, node.right_keys)
        self._on = " AND ".join([*equal, within, *([f"({node.condition})"] if node.condition else [])])

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        watermark = watermark_of(inputs)
        taken = [side.take(flow.batch) for side, flow in zip(self._sides, inputs, strict=True)]
        results = self._met(taken, watermark)
        for index, side in enumerate(self._sides):
            alone = [side.forget(watermark)]
            each = taken[index]
            if each is not None:
                alone.append(each[2])
            if self._stays[index]:
                results += [self._padded(index, rows) for rows in alone if rows is not None and rows.num_rows]
        batch = None
        if results:
            sql = " UNION ALL ".join(results)
            columns = names(len(self._node.columns))
            items = f"{columns}, {RowKind.INSERT.value}::TINYINT AS {OP}"
            batch = held(self._context, f"(SELECT {items} FROM ({sql}) ORDER BY a, b)")
        if watermark not in (NO_WATERMARK, END_OF_TIME):
            watermark = max(watermark - self._delay, NO_WATERMARK)
        return Flow(batch, watermark)

    def _met(self, taken: Sequence[tuple[_Part, list[bytes], pa.Table] | None], watermark: int) -> list[str]:
        """Queries of the rows that meet, and of new ones that come too late to find a partner; new rows are kept."""
        new = [each[0] if each else None for each in taken]
        old: list[_Part | None] = [None, None]
        for index, side in enumerate(self._sides):
            other = taken[1 - index]
            own = new[index]
            if other is not None:
                begin = own.rows.num_rows if own else 0
                old[index] = side.meeting(other[0], other[1], self._sides[1 - index], begin)
        pairs = self._pairs(new, old)
        results = []
        ids = (frozenset[int](), frozenset[int]())
        if pairs:
            if any(self._stays):
                pairs = self._context.table(Batch(f"({pairs})")).sql
                ids = self._ids(pairs, "lid"), self._ids(pairs, "rid")
                pairs = f"FROM {pairs}"
            results.append(f"SELECT {names(len(self._node.columns))}, lid AS a, rid AS b FROM ({pairs})")
        for index, side in enumerate(self._sides):
            own, kept = new[index], old[index]
            if own is not None:
                over = side.keep(own, ids[index], watermark)
                lost = [position for position in over if position not in ids[index]]
                if self._stays[index] and lost:
                    results.append(self._padded(index, own.rows.take(lost)))
            if kept is not None and self._stays[index]:
                side.match(kept, ids[index], own.rows.num_rows if own else 0)
        return results

    def _pairs(self, new: Sequence[_Part | None], old: Sequence[_Part | None]) -> str:
        width = len(self._sides[0].rows.names)
        columns = [f"l.{name} AS {name}" for name in self._sides[0].rows.names]
        columns += [f"r.{name} AS {column(width + at)}" for at, name in enumerate(self._sides[1].rows.names)]
        items = ", ".join([*columns, "l.id AS lid", "r.id AS rid"])
        left, right = (
            [side.rows.relation(part.rows) if part and part.rows.num_rows else "" for part in (new[index], old[index])]
            for index, side in enumerate(self._sides)
        )
        return " UNION ALL ".join(
            f"SELECT {items} FROM {a} AS l JOIN {b} AS r ON {self._on}"
            for a, b in ((left[0], right[0]), (left[0], right[1]), (left[1], right[0]))
            if a and b
        )

    def _ids(self, pairs: str, name: str) -> frozenset[int]:
        return frozenset(self._context.query(f"SELECT DISTINCT {name} FROM {pairs}")[name].to_pylist())

    def _padded(self, index: int, rows: pa.Table) -> str:
        """A query of rows of one side, with NULL for the other's columns, and their order, a and b."""
        own = list(self._sides[index].rows.names)
        nulls = self._sides[1 - index].rows.nulls()
        columns = [*nulls, *own] if index else [*own, *nulls]
        aliased = ", ".join(f"{sql} AS {column(position)}" for position, sql in enumerate(columns))
        rows = with_columns(rows.select(self._sides[index].rows.names), id=range(rows.num_rows))
        order = "NULL::BIGINT AS a, id AS b" if index else "id AS a, -1 AS b"
        return f"SELECT {aliased}, {order} FROM {self._sides[index].rows.relation(rows)}"
