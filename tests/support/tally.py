"""An operator for tests of the runtime: how often each number came, kept in its state, given as updates."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import Node
from bergsql.engine.streaming.operators import OPERATORS
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from tests.support.stream_ends import columns, table_of


@dataclass(frozen=True, eq=False, kw_only=True)
class TallyNode(Node):
    """The columns are the number and its count. ``step`` is what each counts for."""

    step: int = 1


class Tally(Operator):
    """Made known under its node's name when this module is imported."""

    def __init__(self, node: TallyNode) -> None:
        self._step = node.step

    def open(self, context: OperatorContext) -> None:
        self._context = context

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        batch, watermark = inputs[0]
        if batch is None:
            return Flow(None, watermark)
        more = Counter(self._context.query(f"SELECT c0 FROM {batch.sql}").column(0).to_pylist())
        keys = [str(number).encode() for number in more]
        rows: list[tuple[object, ...]] = []
        for (number, count), kept in zip(more.items(), self._context.state.get_many(keys), strict=True):
            before, after = int(kept or 0), int(kept or 0) + count * self._step
            rows += [("-U", number, before), ("+U", number, after)] if before else [("+I", number, after)]
            self._context.state.put_many([(str(number).encode(), str(after).encode())])
        return Flow(self._context.batch_of(table_of(rows, 2)), watermark)


def tally(input: Node, uid: str = "tally-1", step: int = 1) -> TallyNode:
    return TallyNode(uid=uid, inputs=(input,), columns=columns(2), mode=ChangelogMode.RETRACT, key=(0,), step=step)


OPERATORS["TallyNode"] = "tally.Tally"
sys.modules["bergsql.engine.streaming.operators.tally"] = sys.modules[__name__]
