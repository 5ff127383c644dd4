"""From upserts to a changelog: the last row of each key is kept, so that it can be taken back."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.engine.streaming.changelog import OP, RowKind, column
from bergsql.engine.streaming.nodes import NormalizeNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import names, placed, with_columns
from bergsql.engine.streaming.state.codec import encode_keys
from bergsql.engine.streaming.state.rows import Rows
from bergsql.engine.streaming.state.ttl import retention_of


class Normalize(Operator):
    """Deletes of keys that are not there, and rows that come as they are already, give nothing."""

    def __init__(self, node: NormalizeNode) -> None:
        self._node = node
        assert node.key is not None, "upserts have a key"
        self._key = [column(position) for position in node.key]

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._rows = Rows(context, self._node.columns)
        self._retention = retention_of(context.setting, context.state)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        import pyarrow as pa

        (flow,) = inputs
        if self._retention is not None:
            for expired in self._retention.expired(now):
                self._context.state.delete_many(expired)
        if flow.batch is None:
            return flow
        context, count = self._context, len(self._node.columns)
        batch = context.table(flow.batch)
        new = context.query(
            f"SELECT {names(count)}, {OP} <> {RowKind.DELETE.value} AS lives FROM {batch.sql}"
            f" WHERE {OP} <> {RowKind.UPDATE_BEFORE.value}"
            f" QUALIFY row_number() OVER (PARTITION BY {', '.join(self._key)} ORDER BY rowid DESC) = 1 ORDER BY rowid"
        )
        keys = encode_keys(new, self._key)
        lives = new["lives"].to_pylist()
        old = context.state.get_many(keys)
        values = self._rows.encode(new)
        gone = [place for place, value in enumerate(old) if value is not None and not lives[place]]
        come = [place for place, value in enumerate(old) if value is None and lives[place]]
        turned = [
            place for place, value in enumerate(old) if value is not None and lives[place] and value != values[place]
        ]
        context.state.put_many([(keys[place], values[place]) for place in come + turned])
        context.state.delete_many([keys[place] for place in gone])
        if self._retention is not None:
            self._retention.touch([key for key, alive in zip(keys, lives, strict=True) if alive], now)
            self._retention.forget([keys[place] for place in gone])
        before = self._rows.decode([value for place in gone + turned if (value := old[place]) is not None])
        before_kinds = [RowKind.DELETE.value] * len(gone) + [RowKind.UPDATE_BEFORE.value] * len(turned)
        after_kinds = [RowKind.INSERT.value] * len(come) + [RowKind.UPDATE_AFTER.value] * len(turned)
        now_there = new.select(self._rows.names).take(pa.array(come + turned, pa.int64()))
        tables = (
            with_columns(before, place=gone + turned, op=before_kinds),
            with_columns(now_there, place=come + turned, op=after_kinds),
        )
        return Flow(placed(context, self._rows, tables), flow.watermark)
