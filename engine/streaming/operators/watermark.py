"""WATERMARK FOR a column: how far event time has come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK
from bergsql.engine.streaming.operators.base import Flow, Operator

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import WatermarkNode
    from bergsql.engine.streaming.operators.base import OperatorContext


class Watermark(Operator):
    """Rows pass; behind them comes the greatest value of the expression so far, as in Flink.

    It does not fall after a restart: the last one is kept.
    """

    def __init__(self, node: WatermarkNode) -> None:
        self._sql = node.sql
        self._last = NO_WATERMARK
        self._context: OperatorContext

    def open(self, context: OperatorContext) -> None:
        self._context = context
        kept = context.state.get_many([b"watermark"])[0]
        if kept is not None:
            self._last = int(kept)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        batch, watermark = inputs[0]
        if batch is not None:
            batch = self._context.table(batch)
            found = self._context.query(f"SELECT max(epoch_us({self._sql})) AS w FROM {batch.sql} AS i")
            value = found.column(0)[0].as_py()
            if value is not None and value > self._last:
                self._last = value
                self._context.state.put_many([(b"watermark", str(self._last).encode())])
        return Flow(batch, END_OF_TIME if watermark == END_OF_TIME else self._last)
