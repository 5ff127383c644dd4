"""Statements on jobs."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.engine.sql.statements.base import Statement


@dataclass(frozen=True, slots=True)
class ShowJobs(Statement):
    """``SHOW JOBS``."""
