"""Spark's statements on what an engine keeps of a table: statistics and copies in memory."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Name, Statement


@dataclass(frozen=True, slots=True)
class AnalyzeTable(Statement):
    """``ANALYZE TABLE t COMPUTE STATISTICS``, of the table as a whole."""

    name: Name


@dataclass(frozen=True, slots=True)
class AnalyzeTables(Statement):
    """``ANALYZE TABLES [{FROM | IN} database] COMPUTE STATISTICS``."""

    database: Name | None = None


@dataclass(frozen=True, slots=True)
class RefreshTable(Statement):
    """``REFRESH [TABLE] t``."""

    name: Name


@dataclass(frozen=True, slots=True)
class RepairTable(Statement):
    """``[MSCK] REPAIR TABLE t``."""

    name: Name
    span: Span


@dataclass(frozen=True, slots=True)
class CacheTable(Statement):
    """``CACHE [LAZY] TABLE t`` and ``UNCACHE TABLE [IF EXISTS] t``."""

    name: Name
    verb: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class ClearCache(Statement):
    """``CLEAR CACHE``."""
