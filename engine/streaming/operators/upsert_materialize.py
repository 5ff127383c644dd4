"""In front of a sink with a key that does not tell the stream's rows apart: the last row of each key is what it has.

The rows of a key are kept in the order in which they came. What goes is the first of its equals, as in Flink's
``SinkUpsertMaterializer``; what it never knew, or has forgotten (table.exec.state.ttl), is passed over. Two maps: by
key and arrival, the latest first, the rows; by key, row and arrival, the earliest first, where to find one that goes.
So a change costs the same however many rows its key has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.streaming.changelog import Batch, RowKind, column
from bergsql.engine.streaming.nodes import UpsertMaterializeNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import IS_ADDED, names, placed, with_columns
from bergsql.engine.streaming.state.rows import NUMBER_BYTES, Rows, decode_number, encode_number, prefixes
from bergsql.engine.streaming.state.ttl import retention_of

if TYPE_CHECKING:
    import pyarrow as pa

_ARRIVED = b"arrived"


class _Line(NamedTuple):
    """The equal rows of one key that a batch is about: what happens, in order; the numbers of those that are there."""

    key: bytes
    arrivals: list[int | None]
    """Of each change the number with which a row comes, or None for one that goes."""
    row: bytes


class UpsertMaterialize(Operator):
    """See the module."""

    def __init__(self, node: UpsertMaterializeNode) -> None:
        self._node = node
        assert node.key, "it stands before sinks with a key"
        self._key = [column(position) for position in node.key]

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._rows = Rows(context, self._node.columns)
        self._kept = context.state.part("rows")  # key and arrival, the latest first → row
        self._places = context.state.part("places")  # key, row and arrival → nothing
        self._counters = context.state.part("counters")
        self._retention = retention_of(context.setting, context.state)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        self._expire(now)
        if flow.batch is None:
            return flow
        batch = self._context.table(flow.batch)
        changed = self._context.query(
            f"SELECT {names(len(self._rows.names))}, {IS_ADDED} AS comes FROM {batch.sql} ORDER BY rowid"
        )
        if not changed.num_rows:
            return Flow(None, flow.watermark)
        keys = prefixes(changed, self._key)
        touched = list(dict.fromkeys(keys))
        before = self._last(touched)
        self._apply(self._lines(changed, keys))
        after = self._last(touched)
        if self._retention is not None:
            self._retention.touch([key for key in touched if key in after], now)
            self._retention.forget([key for key in touched if key not in after])
        return Flow(self._batch(touched, before, after), flow.watermark)

    def _expire(self, now: int) -> None:
        if self._retention is None:
            return
        for keys in self._retention.expired(now):
            for state in (self._kept, self._places):
                state.delete_many([found for _, found, _ in state.scan_many(keys)])

    def _last(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The row of each key that came last, of those that have one."""
        return {key: row for key, _, row in self._kept.scan_many(keys, 1)}

    def _lines(self, changed: pa.Table, keys: Sequence[bytes]) -> dict[bytes, _Line]:
        """What happens, by key and row."""
        values = self._rows.encode(changed)
        identities = self._rows.identities(changed)
        (known,) = self._counters.get_many([_ARRIVED])
        arrived = decode_number(known) if known is not None else 0
        lines: dict[bytes, _Line] = {}
        for key, identity, value, comes in zip(keys, identities, values, changed["comes"].to_pylist(), strict=True):
            line = lines.setdefault(key + identity, _Line(key, [], value))
            if comes:
                arrived += 1
            line.arrivals.append(arrived if comes else None)
        self._counters.put_many([(_ARRIVED, encode_number(arrived))])
        return lines

    def _apply(self, lines: Mapping[bytes, _Line]) -> None:
        """Bring the state up to date."""
        there = self._earliest({name: line.arrivals.count(None) for name, line in lines.items()})
        put: list[tuple[bytes, int, _Line]] = []
        gone: list[tuple[bytes, int, _Line]] = []
        for name, line in lines.items():
            old = there.get(name, [])
            waiting = list(old)
            taken = 0
            for arrival in line.arrivals:
                if arrival is not None:
                    waiting.append(arrival)
                elif taken < len(waiting):
                    taken += 1
            gone += [(name, arrival, line) for arrival in old[:taken]]
            put += [(name, arrival, line) for arrival in waiting[max(taken, len(old)) :]]
        self._kept.delete_many([line.key + encode_number(-arrival) for _, arrival, line in gone])
        self._places.delete_many([name + encode_number(arrival) for name, arrival, _ in gone])
        self._kept.put_many([(line.key + encode_number(-arrival), line.row) for _, arrival, line in put])
        self._places.put_many([(name + encode_number(arrival), b"") for name, arrival, _ in put])

    def _earliest(self, counts: Mapping[bytes, int]) -> dict[bytes, list[int]]:
        """The arrivals of the first so many of equal rows."""
        by_count: dict[int, list[bytes]] = {}
        for name, count in counts.items():
            if count:
                by_count.setdefault(count, []).append(name)
        found: dict[bytes, list[int]] = {}
        for count, asked in by_count.items():
            for name, place, _ in self._places.scan_many(asked, count):
                found.setdefault(name, []).append(decode_number(place[-NUMBER_BYTES:]))
        return found

    def _batch(
        self, keys: Sequence[bytes], before: Mapping[bytes, bytes], after: Mapping[bytes, bytes]
    ) -> Batch | None:
        olds: list[tuple[bytes, int, int]] = []
        news: list[tuple[bytes, int, int]] = []
        for place, key in enumerate(keys):
            old, new = before.get(key), after.get(key)
            if old == new:
                continue
            if old is not None:
                olds.append((old, place, RowKind.DELETE if new is None else RowKind.UPDATE_BEFORE))
            if new is not None:
                news.append((new, place, RowKind.INSERT if old is None else RowKind.UPDATE_AFTER))
        tables = []
        for side in (olds, news):
            if side:
                rows, places, kinds = zip(*side, strict=True)
                tables.append(with_columns(self._rows.decode(rows), place=places, op=kinds))
        return placed(self._context, self._rows, tables) if tables else None
