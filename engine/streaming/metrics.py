"""What is counted of a job while it runs: for DESCRIBE JOB and for Prometheus."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.streaming.changelog import NO_WATERMARK, Batch

if TYPE_CHECKING:
    from bergsql.engine.streaming.operators.base import Operator
    from bergsql.engine.streaming.sources.base import Reader
    from bergsql.engine.streaming.state.store import Store
    from bergsql.engine.streaming.watermark import Watermarks

_MEMORY: Final = 60.0
"""Seconds over which the busy ratio is taken, about."""


class Metrics:
    """Counters since the runner was made."""

    def __init__(self, uids: Sequence[str]) -> None:
        self._rows = dict.fromkeys(uids, 0)
        self._uncounted: set[str] = set()
        """Nodes of which some changes were only counted further on: nobody knows how many rows they gave."""
        self._written = 0
        self._checkpoints = 0
        self._checkpoint_ms: int | None = None
        self._busy = 0.0
        self._since = time.monotonic()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Time in which the job computes; the rest it waits."""
        begun = time.monotonic()
        try:
            yield
        finally:
            now = time.monotonic()
            self._busy += now - begun
            if now - self._since > _MEMORY:  # forget half of what is older
                self._busy /= 2
                self._since += (now - self._since) / 2

    def passed(self, uid: str, batch: Batch | None) -> None:
        """Changes came out of a node: counted where they are, as most are not computed before they are written."""
        if batch is None:
            return
        if batch.rows is None:
            self._uncounted.add(uid)
        else:
            self._rows[uid] += batch.rows

    def wrote(self, uid: str, count: int) -> None:
        """Changes went to an end of the plan."""
        self._rows[uid] += count
        self._written += count

    def checkpointed(self, seconds: float) -> None:
        """A checkpoint was made."""
        self._checkpoints += 1
        self._checkpoint_ms = round(seconds * 1000)

    def figures(
        self,
        readers: Mapping[str, Reader],
        operators: Mapping[str, Operator],
        watermarks: Watermarks,
        store: Store,
        number: int,
    ) -> dict[str, Any]:
        """The figures, by name.

        rows_in, rows_out
            Rows from sources, and changes to sinks or to the person, since the runner was made.
        rows_skipped
            Rows that sources could not read and were told to leave out.
        checkpoints, checkpoint, last_checkpoint_ms
            How many were made, the number of the last one, how long it took.
        lag_ms
            How far the slowest source is behind, if any knows.
        watermark
            The least of the plan's ends, in microseconds since 1970; NO_WATERMARK without one.
        idle_sources
            Uids of sources that are idle (``table.exec.source.idle-timeout``).
        busy_ratio
            Which part of the last minute or so was spent computing: near 1, the job keeps its sources waiting.
        state_bytes
            What the state takes on disk.
        operators
            For each node its ``rows``, where they are known, and the figures that it has itself.
        """
        lags = [lag for reader in readers.values() if (lag := reader.lag) is not None]
        each = {uid: {"rows": rows} if uid not in self._uncounted else {} for uid, rows in self._rows.items()}
        for uid, operator in operators.items():
            each[uid].update(operator.figures())
        return {
            "rows_in": sum(self._rows[uid] for uid in readers),
            "rows_out": self._written,
            "rows_skipped": sum(reader.skipped for reader in readers.values()),
            "checkpoints": self._checkpoints,
            "checkpoint": number,
            "last_checkpoint_ms": self._checkpoint_ms,
            "lag_ms": max(lags, default=None),
            "watermark": min((watermarks.at(uid) for uid in self._rows), default=NO_WATERMARK),
            "idle_sources": watermarks.idle_sources(),
            "busy_ratio": round(min(1.0, self._busy / max(time.monotonic() - self._since, 1e-9)), 3),
            "state_bytes": store.size(),
            "operators": each,
        }
