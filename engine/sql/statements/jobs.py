"""Statements on jobs."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Statement


@dataclass(frozen=True, slots=True)
class ShowJobs(Statement):
    """``SHOW JOBS``."""


@dataclass(frozen=True, slots=True)
class DescribeJob(Statement):
    """``DESCRIBE JOB 'id'``: an id, or the beginning of one."""

    id: str
    span: Span


@dataclass(frozen=True, slots=True)
class StopJob(Statement):
    """``STOP JOB 'id' [WITH SAVEPOINT] [WITH DRAIN]``."""

    id: str
    span: Span
    savepoint: bool = False
    drain: bool = False
