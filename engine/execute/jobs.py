"""Jobs. Every statement runs in the session: none outlives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.result import Result, listing

if TYPE_CHECKING:
    from bergsql.engine.session import Session
    from bergsql.engine.sql import statements as st


def show(_session: Session, _statement: st.ShowJobs) -> Result:
    """``SHOW JOBS``, with Flink's columns."""
    return listing(("job id", "job name", "status", "start time"), [])
