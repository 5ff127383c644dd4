"""LIMIT without ORDER BY: the rows that came first."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import LimitNode, RankNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names
from bergsql.engine.streaming.operators.rank import Rank
from bergsql.engine.streaming.state.rows import decode_number, encode_number

_SEEN = b"seen"


class Limit(Operator):
    """Of rows that are never taken back only how many have come is kept; else it is a Top-N by arrival."""

    def __init__(self, node: LimitNode) -> None:
        self._node = node
        (input_,) = node.inputs
        self._rank: Rank | None = None
        if input_.mode is not ChangelogMode.INSERT_ONLY:
            first, last = node.offset + 1, node.offset + node.count
            self._rank = Rank(
                RankNode(
                    uid=node.uid,
                    inputs=node.inputs,
                    columns=node.columns,
                    mode=node.mode,
                    partition=(),
                    order=(),
                    first=first,
                    last=last,
                    numbered=False,
                )
            )

    def open(self, context: OperatorContext) -> None:
        self._context = context
        if self._rank is not None:
            self._rank.open(context)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        if flow.batch is None or self._node.count == 0:
            return Flow(None, flow.watermark)
        if self._rank is not None:
            return self._rank.process(inputs, now)
        node, state = self._node, self._context.state
        (value,) = state.get_many([_SEEN])
        seen = decode_number(value) if value is not None else 0
        if seen >= node.offset + node.count:
            return Flow(None, flow.watermark)
        batch = self._context.table(flow.batch)
        assert batch.rows is not None
        state.put_many([(_SEEN, encode_number(seen + batch.rows))])
        skipped = max(node.offset - seen, 0)
        taken = node.offset + node.count - max(seen, node.offset)
        columns = names(len(node.columns))
        sql = f"(SELECT {columns}, op FROM {batch.sql} ORDER BY rowid LIMIT {taken} OFFSET {skipped})"
        return Flow(held(self._context, sql), flow.watermark)
