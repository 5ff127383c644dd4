"""Statements that are known and refused."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Statement


@dataclass(frozen=True, slots=True)
class Unsupported(Statement):
    """A form that is recognised and refused by name when it is executed."""

    form: str
    span: Span
    hint: str | None = None
