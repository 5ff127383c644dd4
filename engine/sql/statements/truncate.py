"""TRUNCATE TABLE."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.engine.sql.statements.base import Name, Statement


@dataclass(frozen=True, slots=True)
class Truncate(Statement):
    """``TRUNCATE TABLE t``."""

    target: Name
