"""Statements on Iceberg's procedures."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.engine.sql.statements.base import LikePattern, Name, Statement


@dataclass(frozen=True, slots=True)
class ShowProcedures(Statement):
    """``SHOW PROCEDURES [{FROM | IN} catalog[.database]] [[NOT] {LIKE | ILIKE} 'pattern']``."""

    within: Name | None = None
    like: LikePattern | None = None
