"""The two sides of a MERGE: as they are joined, and as the rows of the join have them.

A name means the same in ON, in the condition of a clause and in its values, but is read from other SQL: conditions look
at the join, which says which clause a row belongs to; values look at what the join gave, so that all that is computed
is computed once a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.statements.merge import Match

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.plan.row_changes import Target

SOURCE, MERGED = identifier("\ue000source"), identifier("\ue000merged")
"""What the source is called in the join, and the rows of the join in what is made of them: as no relation can be."""
THERE, NEVER = f"{SOURCE}.there", f"{SOURCE}.never"
"""TRUE in every row of the source; NULL, as a BIGINT that equals nothing."""


class Sides:
    """``source`` is the relation that ``source_sql`` gives, ``source_slots`` the scans below it; ``target`` stands in
    the join as it is."""

    def __init__(self, target: Target, source: Source, source_sql: str, slots: set[int], planner: Planner) -> None:
        self.target = target
        self.source_slots = slots
        self._planner = planner
        self._source_sql = source_sql
        self._source = _Renamed(source, SOURCE, "s")
        self._merged_source = _Renamed(self._source.given, MERGED, "s")
        self._merged_target = _Renamed(target.source, MERGED, "t")

    def scope(self, match: Match | None, *, merged: bool) -> Scope:
        """What names mean in a clause, or (None) in ON. ``merged``: in the rows that the join gave."""
        scope = Scope(self._planner.flavour)
        if match is not Match.NOT_MATCHED:
            scope.add(self._merged_target.given if merged else self.target.source)
            scope.slots.add(self.target.slot)
        if match is not Match.BY_SOURCE:
            scope.add(self._merged_source.given if merged else self._source.given)
            scope.slots |= self.source_slots
        return scope

    @property
    def source_columns(self) -> list[SourceColumn]:
        """The source's columns in the rows that the join gave."""
        return self._merged_source.given.columns

    @property
    def merged_target(self) -> Target:
        """The target as the rows of the join have it."""
        from bergsql.engine.plan.row_changes import Target

        target = self.target
        return Target(target.relation, target.slot, self._merged_target.given, target.sql, self._planner)

    # --- SQL, when all names have been bound -------------------------------------------------------------------------

    def source_sql(self) -> str:
        """The source as it stands in the join."""
        items = [*self._source.items(self._planner), "TRUE AS there", "CAST(NULL AS BIGINT) AS never"]
        return f"(SELECT {', '.join(items)} FROM {self._source_sql}) AS {SOURCE}"

    def items(self, *, target: bool, source: bool) -> list[str]:
        """What the join hands on of its two sides."""
        found = self._merged_target.items(self._planner) if target else []
        return found + (self._merged_source.items(self._planner) if source else [])


class _Renamed:
    """A relation whose columns have names of their own, below another alias.

    ``given`` is what it is then. Metadata columns, which only names reach, come along.
    """

    def __init__(self, source: Source, alias: str, letter: str) -> None:
        self._source = source
        self._named = [f"{letter}{i}" for i in range(len(source.columns))]
        self._letter, self._alias = letter, alias
        columns = [replace(c, sql=f"{alias}.{name}") for c, name in zip(source.columns, self._named, strict=True)]
        hidden = None if source.hidden is None else self._hidden(source.hidden)
        self.given = source._replace(columns=columns, hidden=hidden)

    def _hidden(self, of: Callable[[], Sequence[SourceColumn]]) -> Callable[[], Sequence[SourceColumn]]:
        def columns() -> Sequence[SourceColumn]:
            return [replace(c, sql=f"{self._alias}.{self._letter}{c.name}") for c in of()]

        return columns

    def items(self, planner: Planner) -> list[str]:
        """The columns as items of a SELECT over the relation: of a scan only those that are read."""
        pairs = list(zip(self._source.columns, self._named, strict=True))
        if self._source.hidden is not None:
            pairs += [(c, f"{self._letter}{c.name}") for c in self._source.hidden()]
        return [f"{c.sql} AS {name}" for c, name in pairs if _is_read(c, planner)]


def _is_read(column: SourceColumn, planner: Planner) -> bool:
    return column.origin is None or column.origin.column in planner.slots[column.origin.slot].columns
