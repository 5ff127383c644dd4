"""UNION ALL of the changes of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import OP, Batch, column
from bergsql.engine.streaming.operators.base import Flow, Operator

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import UnionNode
    from bergsql.engine.streaming.operators.base import OperatorContext


class Union(Operator):
    """The changes of all inputs, the first input's first. The watermark is the least of theirs. It keeps no state."""

    def __init__(self, node: UnionNode) -> None:
        names = ", ".join(column(n) for n in range(len(node.columns)))
        self._head = f"SELECT {names}{', ' if names else ''}{OP} FROM "

    def open(self, context: OperatorContext) -> None:
        pass

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        batches = [flow.batch for flow in inputs if flow.batch is not None]
        watermark = min(flow.watermark for flow in inputs)
        if len(batches) < 2:
            return Flow(batches[0] if batches else None, watermark)
        return Flow(Batch(f"({' UNION ALL '.join(self._head + b.sql for b in batches)})"), watermark)
