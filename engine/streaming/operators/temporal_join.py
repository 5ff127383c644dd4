"""The join of rows with the version of another stream's row that was valid at their time.

Left rows wait until the watermark passes them. Of the right side each key keeps the versions that rows may still ask
for: those behind the watermark, and the last before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK, OP, Batch, RowKind, column
from bergsql.engine.streaming.nodes import JoinKind, TemporalJoinNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names, watermark_of, with_columns
from bergsql.engine.streaming.operators.join_keys import equal_columns, key_sql
from bergsql.engine.streaming.operators.waiting import Waiting
from bergsql.engine.streaming.state.rows import NUMBER_BYTES, Rows, decode_number, encode_number, prefixes

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.nodes import Node


class _Versions:
    """The right side: (key, time) → what the key's row is from that time on."""

    def __init__(self, context: OperatorContext, node: Node, keys: Sequence[str], time: int) -> None:
        self.rows = Rows(context, node.columns)
        self._context = context
        self._keys = keys
        self._time = f"epoch_us({column(time)})"
        self._state = context.state.part("r")
        self._times = context.state.part("r times")

    def take(self, batch: Batch | None) -> None:
        """Note the versions of a batch. A row that goes ends its own version; what an update replaces stays one."""
        if batch is None:
            return
        batch = self._context.table(batch)
        table = self._context.query(
            f"SELECT {names(len(self.rows.names))}, {OP}, {self._time} AS t, {_listed(self._keys)} FROM {batch.sql}"
            f" WHERE {OP} <> {RowKind.UPDATE_BEFORE.value} ORDER BY rowid"
        )
        first = prefixes(table, [f"k{position}" for position in range(len(self._keys))])
        values = self.rows.encode(table)
        latest: dict[bytes, bytes] = {}
        puts: dict[bytes, bytes] = {}
        for prefix, value, kind, time in zip(first, values, table[OP].to_pylist(), table["t"].to_pylist(), strict=True):
            if time is not None:
                key = prefix + encode_number(time)
            else:
                # A delete that says no more than the key ends the newest version; a version without a time never is.
                known = self._state.last(prefix) if prefix not in latest else None
                newest = latest.get(prefix) or (known[0] if known else None)
                if newest is None or kind != RowKind.DELETE:
                    continue
                key = newest
            latest[prefix] = max(latest.get(prefix, key), key)
            puts[key] = bytes((kind,)) + value
        self._state.put_many(list(puts.items()))
        self._times.put_many([(key[-NUMBER_BYTES:] + key[:-NUMBER_BYTES], b"") for key in puts])

    def of(self, numbers: dict[bytes, int], watermark: int) -> pa.Table | None:
        """The versions of some keys up to the watermark: columns c0, …, op, t, and p, the number of the key."""
        keys, values, places = [], [], []
        for prefix, number in numbers.items():
            for key, value in self._until(prefix, watermark):
                keys.append(key)
                values.append(value)
                places.append(number)
        if not keys:
            return None
        return with_columns(
            self.rows.decode([value[1:] for value in values]),
            op=[value[0] for value in values],
            t=[decode_number(key[-NUMBER_BYTES:]) for key in keys],
            p=places,
        )

    def forget(self, watermark: int) -> None:
        """Drop the versions that ended before the watermark."""
        if watermark == NO_WATERMARK:
            return
        stop = None if watermark == END_OF_TIME else encode_number(watermark + 1)
        passed = [key for key, _ in self._times.scan(stop=stop)]
        self._times.delete_many(passed)
        gone: list[bytes] = []
        for prefix in dict.fromkeys(key[NUMBER_BYTES:] for key in passed):
            versions = list(self._until(prefix, watermark))
            gone += [key for key, _ in versions[:-1]]
            gone += [key for key, value in versions[-1:] if value[0] == RowKind.DELETE]
        self._state.delete_many(gone)

    def _until(self, prefix: bytes, watermark: int) -> Iterable[tuple[bytes, bytes]]:
        return self._state.scan(
            prefix, stop=None if watermark == END_OF_TIME else prefix + encode_number(watermark + 1)
        )


class TemporalJoin(Operator):
    """See the module."""

    def __init__(self, node: TemporalJoinNode) -> None:
        self._node = node

    def open(self, context: OperatorContext) -> None:
        node = self._node
        self._context = context
        left, right = node.inputs
        pairs = list(range(len(node.left_keys)))
        if right.key is not None and set(right.key) <= set(node.right_keys):
            # Versions follow each other by the key of the right side; other equalities are conditions.
            pairs = [pair for pair in pairs if node.right_keys[pair] in right.key]
        left_keys, right_keys = key_sql(context, left, right, node.left_keys, node.right_keys)
        self._keys = [left_keys[pair] for pair in pairs]
        self._waiting = Waiting(context, "l", left.columns, node.left_time)
        self._versions = _Versions(context, right, [right_keys[pair] for pair in pairs], node.right_time)
        more = [pair for pair in range(len(node.left_keys)) if pair not in pairs]
        met = equal_columns([node.left_keys[pair] for pair in more], [node.right_keys[pair] for pair in more])
        met += [f"({node.condition})"] if node.condition else []
        self._met = " AND ".join([f"r.p IS NOT NULL AND r.{OP} <> {RowKind.DELETE.value}", *met])

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        watermark = watermark_of(inputs)
        self._waiting.take(inputs[0].batch, drop_late=False)
        self._versions.take(inputs[1].batch)
        left = self._waiting.release(watermark)
        batch = self._joined(left, watermark) if left is not None else None
        self._versions.forget(watermark)
        return Flow(batch, watermark)

    def _joined(self, left: pa.Table, watermark: int) -> Batch | None:
        rows = self._waiting.rows
        relation = rows.relation(left)
        null = " OR ".join(f"({sql}) IS NULL" for sql in self._keys)
        keys = self._context.query(f"SELECT {_listed(self._keys)}, {null} AS u FROM {relation} ORDER BY place")
        first = prefixes(keys, [f"k{position}" for position in range(len(self._keys))])
        numbers: dict[bytes, int] = {}
        # A NULL in the key is equal to nothing.
        of_rows = [
            -1 if unknown else numbers.setdefault(prefix, len(numbers))
            for prefix, unknown in zip(first, keys["u"].to_pylist(), strict=True)
        ]
        left = with_columns(left, p=of_rows)
        time = f"epoch_us({column(self._node.left_time)})"
        left_sql = f"(SELECT *, {time} AS t FROM {rows.relation(left)})"
        width = len(rows.names)
        own = ", ".join(f"l.{name}" for name in rows.names)
        versions = self._versions.of(numbers, watermark)
        if versions is None:
            if self._node.kind is JoinKind.INNER:
                return None
            nulls = ", ".join(
                f"{null} AS {column(width + position)}" for position, null in enumerate(self._versions.rows.nulls())
            )
            return held(
                self._context, f"(SELECT {own}, {nulls}, l.{OP}::TINYINT AS {OP} FROM {left_sql} AS l ORDER BY place)"
            )
        inner = self._node.kind is JoinKind.INNER
        theirs = ", ".join(
            (f"r.{name}" if inner else f"CASE WHEN {self._met} THEN r.{name} END") + f" AS {column(width + position)}"
            for position, name in enumerate(self._versions.rows.names)
        )
        where = f" WHERE {self._met}" if inner else ""
        return held(
            self._context,
            f"(SELECT {own}, {theirs}, l.{OP}::TINYINT AS {OP} FROM {left_sql} AS l"
            f" ASOF LEFT JOIN {self._versions.rows.relation(versions)} AS r ON l.p = r.p AND l.t >= r.t{where}"
            " ORDER BY l.place)",
        )


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(f"{sql} AS k{position}" for position, sql in enumerate(keys))
