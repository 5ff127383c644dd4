"""MERGE INTO."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Expression, Name, Option, Query, Statement
from bergsql.engine.sql.statements.rowlevel import Assignment


class Match(StrEnum):
    """Which rows a clause of MERGE is for. Its text is what stands behind WHEN."""

    MATCHED = "MATCHED"
    """Rows of the target with the source's row that matches them."""
    NOT_MATCHED = "NOT MATCHED"
    """Rows of the source that match no row of the target."""
    BY_SOURCE = "NOT MATCHED BY SOURCE"
    """Rows of the target that no row of the source matches."""


class MergeAction(StrEnum):
    """What a clause of MERGE does with its rows."""

    UPDATE = "update"
    DELETE = "delete"
    INSERT = "insert"


@dataclass(frozen=True, slots=True)
class MergeClause:
    """``WHEN match [AND condition] THEN action``."""

    match: Match
    condition: Expression | None
    action: MergeAction
    assignments: tuple[Assignment, ...]
    """Of SET, and of INSERT (columns) VALUES (…); without the columns they have no names."""
    span: Span
    """The place of ``WHEN match``."""
    star: Span | None = None
    """The place of ``*``: the source's columns go to the columns of their names."""

    @property
    def is_positional(self) -> bool:
        """Whether it is INSERT VALUES (…): a value for each column of the target, in order."""
        return self.action is MergeAction.INSERT and bool(self.assignments) and not self.assignments[0].parts


@dataclass(frozen=True, slots=True)
class Merge(Statement):
    """``source`` is ``SELECT * FROM`` what stands behind USING, with the queries of a WITH before MERGE."""

    target: Name
    alias: str | None
    source: Query
    on: Expression
    clauses: tuple[MergeClause, ...]
    hints: tuple[Option, ...] = ()
    """Options of a hint behind the target."""
    evolves: bool = False
    """WITH SCHEMA EVOLUTION: the target takes in the source's new columns and wider types."""
