"""EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Statement


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """``mode`` is the text between EXPLAIN and the statement: "", "PLAN FOR", "EXTENDED", "FORMATTED" …"""

    statement: Statement
    mode: str = ""
    span: Span | None = None
    """That of the statement."""
