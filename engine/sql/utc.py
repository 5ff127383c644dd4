"""Instants (TIMESTAMPTZ) to and from what a clock in UTC shows (TIMESTAMP), as DuckDB's SQL.

Both count microseconds since 1970, so nothing is computed: DuckDB's own ``timezone('UTC', …)`` asks its calendars for
each row, which takes thirty times as long.
"""

from __future__ import annotations


def clock(at: str) -> str:
    """What a clock in UTC shows at the instant ``at``."""
    return f"make_timestamp(epoch_us({at}))"


def instant(local: str) -> str:
    """The instant at which a clock in UTC shows ``local``."""
    return f"make_timestamptz(epoch_us({local}))"
