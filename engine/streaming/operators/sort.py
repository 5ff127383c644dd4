"""ORDER BY time: rows wait until the watermark says that none before them can come."""

from __future__ import annotations

from collections.abc import Sequence

from bergsql.engine.streaming.changelog import OP, Batch, column
from bergsql.engine.streaming.nodes import SortNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names, ordering
from bergsql.engine.streaming.operators.waiting import Waiting


class Sort(Operator):
    """Late rows, which would come out behind others, are dropped, as Flink drops them."""

    def __init__(self, node: SortNode) -> None:
        self._node = node
        self._proctime = node.columns[node.time].proctime

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._waiting = Waiting(context, "rows", self._node.columns, self._node.time)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        (flow,) = inputs
        if self._proctime:
            # All rows of a round are processed at one time.
            batch = self._context.table(flow.batch) if flow.batch else None
            return Flow(self._sorted(f"(SELECT *, rowid AS place FROM {batch.sql})") if batch else None, flow.watermark)
        self._waiting.take(flow.batch, drop_late=True)
        passed = self._waiting.release(flow.watermark)
        if passed is None:
            return Flow(None, flow.watermark)
        return Flow(self._sorted(self._waiting.rows.relation(passed)), flow.watermark)

    def _sorted(self, relation: str) -> Batch | None:
        order = ", ".join([column(self._node.time), *ordering(self._node.order), "place"])
        return held(
            self._context,
            f"(SELECT {names(len(self._node.columns))}, {OP}::TINYINT AS {OP} FROM {relation} ORDER BY {order})",
        )

    def figures(self) -> dict[str, int]:
        return {"late rows dropped": self._waiting.late}
