"""Top-N, deduplication and ORDER BY … LIMIT: the rows of each partition, kept in their order.

The state's keys are the partition, the ORDER BY columns in bytes that are ordered as the values are, and the arrival.
Beside them stands the last key of each full Top-N (its edge): a change behind it costs one look. Of rows that are never
taken back only those within the edge are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.streaming.changelog import Batch, ChangelogMode, RowKind, column
from bergsql.engine.streaming.nodes import RankNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import folded, names, ordering, placed, with_columns
from bergsql.engine.streaming.state.base import MAX_KEY
from bergsql.engine.streaming.state.codec import encode_ordered
from bergsql.engine.streaming.state.rows import NUMBER_BYTES, Rows, decode_number, encode_number, prefixes
from bergsql.engine.streaming.state.ttl import retention_of

if TYPE_CHECKING:
    import pyarrow as pa

_PARTITION_BYTES = 40
_ARRIVED = b"arrived"

Entry = tuple[bytes, bytes]
"""A key of the state and a row."""


class _Change(NamedTuple):
    """What becomes of one place of the result: a row as it was, or None, and as it is."""

    old: bytes | None
    new: bytes | None
    number: int


class Rank(Operator):
    """See the module."""

    def __init__(self, node: RankNode) -> None:
        self._node = node
        (input_,) = node.inputs
        self._retracts = input_.mode is not ChangelogMode.INSERT_ONLY
        self._partition = [column(position) for position in node.partition]
        first = input_.columns[node.order[0].position] if node.order else None
        # The last row by time: of several with the same time the one that came last, as in Flink's deduplication.
        self._newest = first is not None and (first.rowtime or first.proctime) and node.order[0].descending

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._rows = Rows(context, self._node.inputs[0].columns)
        self._sorted = context.state.part("rows")
        self._edges = context.state.part("edges")
        self._places = context.state.part("places")  # partition, row and arrival → key
        self._counters = context.state.part("counters")
        self._retention = retention_of(context.setting, context.state)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        self._expire(now)
        if flow.batch is None:
            return flow
        table = self._context.query(self._changed(self._context.table(flow.batch)))
        if not table.num_rows:
            return Flow(None, flow.watermark)
        partitions = prefixes(table, self._partition)
        if self._retention is not None:
            self._retention.touch(partitions, now)
        puts, deletes = self._entries(table, partitions)
        touched = self._touched(partitions, puts, deletes)
        before = self._first(touched)
        after = self._apply(puts, deletes, touched, before)
        changes = [change for partition in touched for change in self._compared(before[partition], after[partition])]
        self._mark(after)
        return Flow(self._batch(changes), flow.watermark)

    def _expire(self, now: int) -> None:
        """Forget the partitions that did not change for as long as table.exec.state.ttl says."""
        if self._retention is None:
            return
        for partitions in self._retention.expired(now):
            for state in (self._sorted, self._places):
                state.delete_many([key for partition in partitions for key, _ in state.scan(partition)])
            self._edges.delete_many(partitions)

    def _changed(self, batch: Batch) -> str:
        """A query of the changed rows with their weight ``w``, in the order in which they came."""
        columns = names(len(self._rows.names))
        if self._retracts:
            return f"{folded(batch, len(self._rows.names))} ORDER BY place"
        over = f"PARTITION BY {', '.join(self._partition)} " if self._partition else ""
        over += f"ORDER BY {', '.join([*ordering(self._node.order), 'rowid DESC' if self._newest else 'rowid'])}"
        return (
            f"SELECT {columns}, 1::BIGINT AS w FROM {batch.sql}"
            f" QUALIFY row_number() OVER ({over}) <= {self._node.last} ORDER BY rowid"
        )

    def _entries(
        self, table: pa.Table, partitions: Sequence[bytes]
    ) -> tuple[dict[bytes, list[Entry]], dict[bytes, list[bytes]]]:
        """What is put and deleted, by partition."""
        node = self._node
        values = self._rows.encode(table)
        heads = list(partitions)
        limit = (MAX_KEY - _PARTITION_BYTES - NUMBER_BYTES) // max(len(node.order), 1)
        for by in node.order:
            encoded = encode_ordered(
                table, column(by.position), descending=by.descending, nulls_first=by.nulls_first, limit=limit
            )
            heads = [head + one for head, one in zip(heads, encoded, strict=True)]
        identities = self._rows.identities(table) if self._retracts else []
        arrived = self._arrived()
        puts: dict[bytes, list[Entry]] = {}
        deletes: dict[bytes, list[bytes]] = {}
        places: list[Entry] = []
        gone: list[bytes] = []
        for index, weight in enumerate(table["w"].to_pylist()):
            partition = partitions[index]
            for _ in range(weight):
                arrived += 1
                key = heads[index] + encode_number(-arrived if self._newest else arrived)
                puts.setdefault(partition, []).append((key, values[index]))
                if self._retracts:
                    places.append((partition + identities[index] + encode_number(arrived), key))
            if weight < 0:
                # What was never there has been forgotten (table.exec.state.ttl).
                known = list(self._places.scan(partition + identities[index]))[weight:]
                gone += [place for place, _ in known]
                deletes.setdefault(partition, []).extend(key for _, key in known)
        self._counters.put_many([(_ARRIVED, encode_number(arrived))])
        self._places.delete_many(gone)
        self._places.put_many(places)
        return puts, deletes

    def _arrived(self) -> int:
        (value,) = self._counters.get_many([_ARRIVED])
        return decode_number(value) if value is not None else 0

    def _touched(
        self, partitions: Sequence[bytes], puts: dict[bytes, list[Entry]], deletes: dict[bytes, list[bytes]]
    ) -> list[bytes]:
        """The partitions whose result may change; what lies behind an edge is stored, or of no use."""
        touched = []
        distinct = list(dict.fromkeys(partitions))
        for partition, edge in zip(distinct, self._edges.get_many(distinct), strict=True):
            keys = [*(key for key, _ in puts.get(partition, ())), *deletes.get(partition, ())]
            if not keys:
                continue
            if edge is None or min(keys) <= edge:
                touched.append(partition)
            elif not self._retracts:
                del puts[partition]
        return touched

    def _apply(
        self,
        puts: dict[bytes, list[Entry]],
        deletes: dict[bytes, list[bytes]],
        touched: Sequence[bytes],
        before: dict[bytes, list[Entry]],
    ) -> dict[bytes, list[Entry]]:
        """Bring the state up to date: the first rows of each touched partition."""
        last = self._node.last
        if self._retracts:
            self._sorted.delete_many([key for keys in deletes.values() for key in keys])
            self._sorted.put_many([entry for entries in puts.values() for entry in entries])
            return self._first(touched)
        after = {}
        come: list[Entry] = []
        gone: list[bytes] = []
        for partition in touched:
            old = before[partition]
            # By key: arrivals make keys different, and both parts are nearly in order.
            entries = sorted([*old, *puts[partition]])
            after[partition] = entries[:last]
            dropped = {key for key, _ in entries[last:]}
            gone += [key for key, _ in old if key in dropped]
            come += [entry for entry in puts[partition] if entry[0] not in dropped]
        self._sorted.delete_many(gone)
        self._sorted.put_many(come)
        return after

    def _first(self, partitions: Sequence[bytes]) -> dict[bytes, list[Entry]]:
        """The first rows of partitions, as they are in the state."""
        found: dict[bytes, list[Entry]] = {partition: [] for partition in partitions}
        for partition, key, value in self._sorted.scan_many(partitions, self._node.last):
            found[partition].append((key, value))
        return found

    def _mark(self, after: dict[bytes, list[Entry]]) -> None:
        last = self._node.last
        full = [(partition, entries[-1][0]) for partition, entries in after.items() if len(entries) == last]
        self._edges.put_many(full)
        self._edges.delete_many([partition for partition, entries in after.items() if len(entries) < last])

    def _compared(self, before: Sequence[Entry], after: Sequence[Entry]) -> list[_Change]:
        skipped = self._node.first - 1
        if not self._node.numbered and self._node.first != self._node.last:
            return _exchanged(before[skipped:], after[skipped:])
        old = [row for _, row in before[skipped:]]
        new = [row for _, row in after[skipped:]]
        longest = max(len(old), len(new))
        pairs = zip([*old, *[None] * (longest - len(old))], [*new, *[None] * (longest - len(new))], strict=True)
        return [_Change(a, b, number) for number, (a, b) in enumerate(pairs, self._node.first) if a != b]

    def _batch(self, changes: Sequence[_Change]) -> Batch | None:
        olds: list[tuple[bytes, int, int, int]] = []
        news: list[tuple[bytes, int, int, int]] = []
        for place, change in enumerate(changes):
            if change.old is not None:
                kind = RowKind.DELETE if change.new is None else RowKind.UPDATE_BEFORE
                olds.append((change.old, place, kind.value, change.number))
            if change.new is not None:
                kind = RowKind.INSERT if change.old is None else RowKind.UPDATE_AFTER
                news.append((change.new, place, kind.value, change.number))
        tables = []
        for side in (olds, news):
            if side:
                rows, places, kinds, numbers = zip(*side, strict=True)
                tables.append(with_columns(self._rows.decode(rows), place=places, op=kinds, number=numbers))
        more = [f"number AS {column(len(self._rows.names))}"] if self._node.numbered else []
        return placed(self._context, self._rows, tables, more)


def _exchanged(before: Sequence[Entry], after: Sequence[Entry]) -> list[_Change]:
    """What goes and comes among rows that have no numbers."""
    was, is_ = dict(before), dict(after)
    gone = [row for key, row in before if key not in is_]
    come = [row for key, row in after if key not in was]
    if not set(gone).isdisjoint(come):  # one of several equal rows in another's place
        left, new = Counter(gone), Counter(come)
        gone, come = list((left - new).elements()), list((new - left).elements())
    return [*(_Change(row, None, 0) for row in gone), *(_Change(None, row, 0) for row in come)]
