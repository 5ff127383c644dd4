"""GROUP BY of windows: what is in a window comes out once, when the watermark says that no more will come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.nodes import WindowAggregateNode, WindowKind
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.window_times import WindowTimes

if TYPE_CHECKING:
    from bergsql.engine.streaming.operators.assigned_windows import AssignedWindows
    from bergsql.engine.streaming.operators.session_windows import SessionWindows


class WindowAggregate(Operator):
    """See :class:`WindowAggregateNode`.

    Rows of windows that are over are dropped and counted. With ``table.exec.emit.allow-lateness`` a window lives on so
    long behind its end, and each batch of rows that are late by less changes its result: -U and +U.
    """

    def __init__(self, node: WindowAggregateNode) -> None:
        self._node = node
        self._late = 0
        self._windows: AssignedWindows | SessionWindows
        if node.kind is WindowKind.ASSIGNED:
            from bergsql.engine.streaming.operators.assigned_windows import AssignedWindows

            self._windows = AssignedWindows(node)
        else:
            from bergsql.engine.streaming.operators.session_windows import SessionWindows

            self._windows = SessionWindows(node)

    def open(self, context: OperatorContext) -> None:
        self._context = context
        (source,) = self._node.inputs
        self._times = WindowTimes(context, source.columns[self._node.time].type)
        self._windows.open(context, self._times)

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002 - windows close by their rows' time
        (flow,) = inputs
        watermark = max(flow.watermark, self._times.watermark)
        told: list[str] = []
        if flow.batch is not None:
            table = self._context.table(flow.batch)
            if table.rows:
                late, changes = self._windows.change(table.sql)
                self._late += late
                told += changes
        if watermark > self._times.watermark:
            told += self._windows.close(watermark)
            self._times.pass_to(watermark)
        if not told:
            return Flow(None, flow.watermark)
        batch = self._context.table(Batch(f"({' UNION ALL '.join(told)})"))
        return Flow(batch if batch.rows else None, flow.watermark)

    def figures(self) -> dict[str, int]:
        return {"late rows dropped": self._late}
