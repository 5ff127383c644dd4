"""SET and RESET."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Statement


@dataclass(frozen=True, slots=True)
class Set(Statement):
    """``SET k = v``; value None: show that key; key None: show all."""

    key: str | None = None
    value: str | None = None
    span: Span | None = None
    key_span: Span | None = None


@dataclass(frozen=True, slots=True)
class Reset(Statement):
    """``RESET [k]``."""

    key: str | None = None
    span: Span | None = None
