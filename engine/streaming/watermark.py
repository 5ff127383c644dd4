"""How far event time has come at each node: the least of its inputs, of those that are not idle.

"Event Time and Watermarks", "Dealing With Idle Sources" in Flink's documentation (``table.exec.source.idle-timeout``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.changelog import NO_WATERMARK
from bergsql.engine.streaming.operators.base import Flow

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import Node

IDLE_KEY: Final = "table.exec.source.idle-timeout"


def idle_timeout(setting: Callable[[str], str | None]) -> int | None:
    """Milliseconds after which a source that gives nothing is idle; None for never (0)."""
    from bergsql.catalog.options import parse_duration

    return parse_duration(setting(IDLE_KEY) or "0", IDLE_KEY) or None


class Watermarks:
    """The watermarks behind the nodes of a plan. None of them ever falls, not even over a restart."""

    def __init__(self, nodes: Iterable[Node], kept: Mapping[str, int], timeout: int | None) -> None:
        """
        :param kept: by uid, those of the checkpoint from which the job goes on.
        :param timeout: see :func:`idle_timeout`.
        """
        self._nodes = tuple(nodes)
        self._behind = {node.uid: kept.get(node.uid, NO_WATERMARK) for node in self._nodes}
        # Of nodes with several inputs: what each input was said to have, which an idle one's lags behind.
        self._shown: dict[tuple[str, int], int] = {}
        self._timeout = timeout
        self._active: dict[str, int] = {}  # by uid of a source: when it last gave something
        self._idle: set[str] = set()

    def at(self, uid: str) -> int:
        """The watermark behind a node."""
        return self._behind[uid]

    def note_sources(self, gave: Mapping[str, bool], now: int) -> None:
        """Which sources gave something in this round, at ``now`` in milliseconds."""
        for uid, something in gave.items():
            if something or uid not in self._active:
                self._active[uid] = now
        self._idle = set()
        if self._timeout is None:
            return
        for node in self._nodes:  # each behind its inputs
            if not node.inputs:
                idle = now - self._active.get(node.uid, now) >= self._timeout
            else:
                idle = all(each.uid in self._idle for each in node.inputs)
            if idle:
                self._idle.add(node.uid)

    def idle_sources(self) -> list[str]:
        """The uids of sources that are idle."""
        return [node.uid for node in self._nodes if not node.inputs and node.uid in self._idle]

    def inputs(self, node: Node, flows: Mapping[str, Flow]) -> list[Flow]:
        """What comes to a node, where an idle input does not hold the others up: it has the least of theirs."""
        found = [flows[each.uid] for each in node.inputs]
        if len(found) < 2:
            return found
        awake = [f.watermark for f, each in zip(found, node.inputs, strict=True) if each.uid not in self._idle]
        for i, each in enumerate(node.inputs):
            shown = max(found[i].watermark, self._shown.get((node.uid, i), NO_WATERMARK))
            if each.uid in self._idle and awake:
                shown = max(shown, min(awake))
            self._shown[node.uid, i] = shown
            found[i] = Flow(found[i].batch, shown)
        return found

    def advance(self, node: Node, flow: Flow) -> Flow:
        """What a node gave, with a watermark that does not fall."""
        watermark = self._behind[node.uid] = max(self._behind[node.uid], flow.watermark)
        return Flow(flow.batch, watermark)

    def kept(self) -> dict[str, int]:
        """What a checkpoint keeps."""
        return {uid: watermark for uid, watermark in self._behind.items() if watermark != NO_WATERMARK}
