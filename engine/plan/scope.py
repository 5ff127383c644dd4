"""Which columns a name can mean at a place in a query.

A scope holds the relations of one FROM clause; its parent is the scope of the query around it (a correlated subquery
sees both). A column's name is compared as the flavour compares identifiers: exactly in flink, without case in spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.plan.bound import Origin
from bergsql.engine.plan.records import Record
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import distinct_names, identifier
from bergsql.engine.sql.types import DataType

if TYPE_CHECKING:
    from bergsql.engine.plan.context import OutputColumn
    from bergsql.engine.plan.images import Image


class SourceColumn(Record):
    """A column of a relation in FROM. ``sql`` reads it anywhere in that query."""

    __slots__ = ("images", "name", "nullable", "origin", "sql", "type")

    def __init__(
        self,
        name: str,
        sql: str,
        type: DataType,
        nullable: bool = True,
        origin: Origin | None = None,
        images: tuple[Image, ...] = (),
    ) -> None:
        self.name = name
        self.sql = sql
        self.type = type
        self.nullable = nullable
        self.origin = origin
        self.images = images


class Source(NamedTuple):
    """A relation in FROM. ``names`` is the dotted name it answers to: its alias, or the parts of its full name.

    ``hidden`` gives columns that only their names reach: ``*`` does not hold them, and a column goes before.
    """

    names: tuple[str, ...]
    columns: list[SourceColumn]
    hidden: Callable[[], Sequence[SourceColumn]] | None = None
    of_metadata: bool = False
    """Whether it is a metadata table."""


class Scope:
    """The relations of a FROM clause, and the scope around.

    star
        What ``*`` stands for, when a USING or NATURAL join merges columns; None: all columns of all sources.
    merged
        Columns merged by USING, by folded name: what the bare name means.
    outer
        Names that were found further out.
    slots
        The scans below this FROM: a condition here may be pushed to these, and to no others.
    """

    __slots__ = ("_columns", "_named", "flavour", "merged", "outer", "parent", "slots", "sources", "star")

    def __init__(self, flavour: Flavour, parent: Scope | None = None) -> None:
        self.flavour = flavour
        self.parent = parent
        self.sources: list[Source] = []
        self._columns: dict[str, list[tuple[Source, SourceColumn]]] = {}
        self._named: dict[str, list[Source]] = {}
        self.star: list[SourceColumn] | None = None
        self.merged: dict[str, SourceColumn] = {}
        self.outer: list[str] = []
        self.slots: set[int] = set()

    def same(self, a: str, b: str) -> bool:
        return a == b if self.flavour is Flavour.FLINK else a.casefold() == b.casefold()

    def fold(self, name: str) -> str:
        return name if self.flavour is Flavour.FLINK else name.casefold()

    def all_columns(self) -> list[SourceColumn]:
        if self.star is not None:
            return self.star
        return [column for source in self.sources for column in source.columns]

    def add(self, source: Source) -> None:
        """One more relation of this FROM."""
        self.sources.append(source)
        for column in source.columns:
            self._columns.setdefault(self.fold(column.name), []).append((source, column))
        if source.names:
            self._named.setdefault(self.fold(source.names[-1]), []).append(source)

    def cut(self, count: int) -> None:
        """Forget all relations but the first ``count``."""
        while len(self.sources) > count:
            source = self.sources.pop()
            for column in source.columns:
                self._columns[self.fold(column.name)].pop()
            if source.names:
                self._named[self.fold(source.names[-1])].pop()

    def adopt(self, inner: Scope) -> None:
        """Take in the relations of a join in parentheses."""
        if self.star is not None or inner.star is not None:
            self.star = [*self.all_columns(), *inner.all_columns()]
        for source in inner.sources:
            self.add(source)
        self.merged.update(inner.merged)
        self.slots |= inner.slots

    def emptied(self) -> Scope:
        """What this scope holds, in a scope of its own; this one is empty then."""
        inner = Scope(self.flavour, self.parent)
        inner.adopt(self)
        self.cut(0)
        self.star, self.merged, self.slots = None, {}, set()
        return inner

    def source(self, parts: Sequence[str]) -> list[Source]:
        """The relations that a dotted name such as ``t`` or ``db.t`` names."""
        return [s for s in self._named.get(self.fold(parts[-1]), ()) if self._names(s, parts)]

    def columns(self, name: str, sources: Sequence[Source] | None = None) -> list[SourceColumn]:
        """The columns of that name, of all relations or only of ``sources``."""
        key = self.fold(name)
        found = self._columns.get(key, ())
        if sources is None:
            return [c for _, c in found]
        if sum(len(s.columns) for s in sources) < len(found):
            return [c for s in sources for c in s.columns if self.fold(c.name) == key]
        return [c for s, c in found if any(s is x for x in sources)]

    def hidden(self, name: str, sources: Sequence[Source] | None = None) -> list[SourceColumn]:
        """The hidden columns of that name, of all relations or only of ``sources``."""
        if name[:1] != "_":  # as all of them begin
            return []
        found = self.sources if sources is None else sources
        return [c for s in found if s.hidden is not None for c in s.hidden() if self.same(c.name, name)]

    def _names(self, source: Source, parts: Sequence[str]) -> bool:
        if not source.names or len(parts) > len(source.names):
            return False
        return all(self.same(a, b) for a, b in zip(reversed(source.names), reversed(parts), strict=False))


def derived_columns(columns: Sequence[OutputColumn], alias: str) -> tuple[list[SourceColumn], list[str]]:
    """The columns of a derived relation, and names for them in DuckDB that differ even without case."""
    found: list[SourceColumn] = []
    inner: list[str] = []
    for column, unique in zip(columns, distinct_names(c.name for c in columns), strict=True):
        inner.append(identifier(unique))
        sql = f"{identifier(alias)}.{identifier(unique)}"
        found.append(SourceColumn(column.name, sql, column.type, column.nullable, column.origin, column.images))
    return found, inner
