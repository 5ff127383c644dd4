"""Row by row: SELECT … WHERE … over the changes of a round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.functions.stream_times import WATERMARK_SQL
from bergsql.engine.streaming.changelog import END_OF_TIME, NO_WATERMARK, OP, Batch, column
from bergsql.engine.streaming.operators.base import Flow, Operator

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import CalcNode
    from bergsql.engine.streaming.operators.base import OperatorContext


class Calc(Operator):
    """Items, what joins laterally, and a condition: one query over the batch. It keeps no state.

    CURRENT_WATERMARK is the watermark before the batch.

    What a change of one row does to the result is the same change of the rows made of it: an update may become an
    insert or a delete where the condition holds for one side alone, which −U and +U each on its own say rightly.
    """

    def __init__(self, node: CalcNode) -> None:
        items = ", ".join(f"{sql} AS {column(n)}" for n, sql in enumerate(node.items))
        self._head = f"SELECT {items}{', ' if items else ''}i.{OP} AS {OP} FROM "
        self._tail = f" AS i{node.joined}"
        if node.condition is not None:
            self._tail += f" WHERE {node.condition}"
        self._asks = WATERMARK_SQL in self._head + self._tail
        self._watermark = NO_WATERMARK

    def open(self, context: OperatorContext) -> None:
        pass

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        batch, watermark = inputs[0]
        before, self._watermark = self._watermark, watermark
        if batch is None:
            return Flow(None, watermark)
        sql = f"({self._head}{batch.sql}{self._tail})"
        if self._asks:
            known = "NULL" if before in (NO_WATERMARK, END_OF_TIME) else str(before)
            sql = sql.replace(WATERMARK_SQL, f"CAST({known} AS BIGINT)")
        return Flow(Batch(sql), watermark)
