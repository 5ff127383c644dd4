"""Groups that are not used for long are forgotten: ``table.exec.state.ttl`` over state in blocks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.operators.group_state import numbers
from bergsql.engine.streaming.state.ttl import Retention, ends_at, kept_for

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.operators.group_state import GroupState
    from bergsql.engine.streaming.state.base import StateScope
    from bergsql.engine.streaming.state.keyed import Places

ENDS: Final = "ends"
"""The state column that says when a group is forgotten: a BIGINT, milliseconds since 1970."""


class IdleGroups:
    """When groups end. Not each of them is noted down, but the blocks that were written, once for each end."""

    def __init__(self, scope: StateScope, kept: int) -> None:
        self._kept = kept
        self._retention = Retention(scope, kept)

    @classmethod
    def of(cls, context: OperatorContext) -> IdleGroups | None:
        """As the settings want it; None for keeping all for ever."""
        kept = kept_for(context.setting)
        return cls(context.state.part("idle"), kept) if kept > 0 else None

    def end(self, now: int) -> int:
        """When a group that is used now ends."""
        return ends_at(now, self._kept)

    def touch(self, state: GroupState, blocks: Places, now: int) -> None:
        """Note that groups of these blocks are used now. A block, which may be cut, is named by its places."""
        end = self.end(now).to_bytes(8, "big")
        spans = state.rows.spans(blocks)
        self._retention.touch([a.to_bytes(8, "big") + b.to_bytes(8, "big") + end for a, b in spans], now)

    def expired(self, state: GroupState, now: int) -> Iterator[pa.Table]:
        """Forget the groups whose time is over; some of their rows at a time."""
        import numpy as np
        import pyarrow.compute as pc

        for keys in self._retention.expired(now):
            spans = sorted({(int.from_bytes(key[:8], "big"), int.from_bytes(key[8:16], "big")) for key in keys})
            low, high = _joined(spans)
            fetched = state.rows.fetch(np.array(low, np.uint64), np.array(high, np.uint64))
            rows = fetched.rows.filter(pc.less_equal(fetched.rows.column(ENDS), now))
            if rows.num_rows:
                state.remove(fetched, numbers(rows, "row"))
                yield rows


def _joined(spans: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Spans in order, those that overlap made one."""
    low: list[int] = []
    high: list[int] = []
    for a, b in spans:
        if high and a <= high[-1]:
            high[-1] = max(high[-1], b)
        else:
            low.append(a)
            high.append(b)
    return low, high
