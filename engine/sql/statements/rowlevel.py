"""DELETE and UPDATE, and the assignments that UPDATE and MERGE make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Expression, Name, Option, Query, Statement


class Assignment(NamedTuple):
    """``column = value`` or ``column.field = value``; value None: DEFAULT.

    ``parts`` is the dotted name as written, which may begin with the target's own name; ``spans`` are their places.
    """

    parts: tuple[str, ...]
    spans: tuple[Span, ...]
    value: Expression | None
    value_span: Span

    @property
    def span(self) -> Span:
        """The place of the name."""
        return Span(self.spans[0].start, self.spans[-1].end)

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Delete(Statement):
    """``[WITH …] DELETE FROM t [hint] [AS alias] [WHERE condition]``."""

    target: Name
    alias: str | None = None
    where: Expression | None = None
    hints: tuple[Option, ...] = ()
    queries: Query | None = None
    """What has the WITH that stands before the statement."""


@dataclass(frozen=True, slots=True)
class Update(Statement):
    """``[WITH …] UPDATE t [hint] [AS alias] SET column = value, … [WHERE condition]``."""

    target: Name
    assignments: tuple[Assignment, ...]
    alias: str | None = None
    where: Expression | None = None
    hints: tuple[Option, ...] = ()
    queries: Query | None = None
    """What has the WITH that stands before the statement."""
