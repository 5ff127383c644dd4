"""The time that is written into tables."""

from __future__ import annotations

from time import time_ns


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time_ns() // 1_000_000
