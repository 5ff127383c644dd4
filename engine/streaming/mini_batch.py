"""``table.exec.mini-batch.*``: fewer and bigger rounds.

Rounds are small batches anyhow. With these settings the sources are not asked again until ``allow-latency`` has passed
since the last round that took rows, unless that round took ``size`` rows or more: then there is a backlog. What is held
back is still in the sources, so a checkpoint needs to know nothing of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from bergsql.catalog.errors import BergError, ErrorCode

ENABLED: Final = "table.exec.mini-batch.enabled"
LATENCY: Final = "table.exec.mini-batch.allow-latency"
SIZE: Final = "table.exec.mini-batch.size"


class MiniBatch:
    """When the sources are to be asked next."""

    def __init__(self, setting: Callable[[str], str | None]) -> None:
        """
        :raises BergError: OPTION where it is enabled without a latency and a size above 0, as Flink wants them.
        """
        from bergsql.catalog.options import parse_duration

        self._latency = 0.0
        self._size = 0
        self._next = 0.0
        if (setting(ENABLED) or "false").lower() != "true":
            return
        self._latency = parse_duration(setting(LATENCY) or "0", LATENCY) / 1000
        self._size = int(setting(SIZE) or "-1")
        for key, value in ((LATENCY, self._latency), (SIZE, self._size)):
            if value <= 0:
                raise BergError(ErrorCode.OPTION, f"'{ENABLED}' needs '{key}' above 0.", hint=f"SET '{key}' = '…';")

    def took(self, rows: int) -> None:
        """Note what a round took."""
        self._next = time.monotonic() + self._latency if 0 < rows < self._size else 0.0

    @property
    def seconds(self) -> float:
        """How long the sources are not to be asked yet."""
        return max(0.0, self._next - time.monotonic()) if self._next else 0.0
