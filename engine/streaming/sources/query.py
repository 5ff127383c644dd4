"""A query that is read once: VALUES, a table that is not followed, what a stream is joined with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bergsql.engine.duck import set_variables
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import Kind
from bergsql.engine.streaming.changelog import OP, Batch, StreamColumn, column
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext, Source

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.query import QueryPlan


@dataclass(frozen=True, eq=False)
class QuerySource(Source):
    """The rows of a batch query, all at once. After a restart it is read again only if no checkpoint has its rows.

    ``plan`` makes the query's plan of the columns at the given positions, as its tables are now.
    """

    name: str
    columns: tuple[StreamColumn, ...]
    plan: Callable[[frozenset[int]], QueryPlan]
    used: frozenset[int] | None = None
    tables: Mapping[str, Json] = field(default_factory=dict)
    """What tells the tables that it reads from others of their names."""
    bounded: bool = True

    @property
    def signature(self) -> Mapping[str, Json]:
        return {"query": self.name, "tables": dict(self.tables)}

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        return _Reader(self, context, done=offset is not None)

    def explain(self) -> str:
        return f"{self.name}, read once"

    def fingerprint(self) -> Json:
        """The snapshots of the tables that it reads; unknown where it reads other things."""
        scans = self._plan().scans
        if not scans or any(scan.snapshot_id is None for scan in scans):
            return None
        return [[scan.table, scan.snapshot_id] for scan in scans]

    def reading(self, positions: frozenset[int]) -> Source:
        return QuerySource(self.name, self.columns, self.plan, positions, self.tables)

    def batch(self, context: ReaderContext) -> Batch:
        """All rows, as they are now."""
        plan = self._plan()
        set_variables(context.cursor, plan.variables)
        names = ", ".join(column(n) for n in range(len(plan.columns)))
        items = _items(self.columns, sorted(self._used))
        return Batch(f"(SELECT {', '.join([*items, f'0::TINYINT AS {OP}'])} FROM ({plan.sql}) AS q({names}))")

    @property
    def _used(self) -> frozenset[int]:
        return self.used if self.used is not None else frozenset(range(len(self.columns)))

    def _plan(self) -> QueryPlan:
        return self.plan(self._used)


def _items(columns: Sequence[StreamColumn], used: Sequence[int]) -> list[str]:
    """All columns, of which the query gives those that are used, in order."""
    at = {position: n for n, position in enumerate(used)}
    found = []
    for n, each in enumerate(columns):
        value = column(at[n]) if n in at else "NULL"
        type_ = "INTEGER" if each.type.kind is Kind.NULL else duckdb_name(each.type)
        found.append(f"CAST({value} AS {type_}) AS {column(n)}")
    return found


class _Reader(Reader):
    def __init__(self, source: QuerySource, context: ReaderContext, *, done: bool) -> None:
        self._source = source
        self._context = context
        self._done = done

    def poll(self) -> Batch | None:
        if self._done:
            return None
        self._done = True
        return self._source.batch(self._context)

    @property
    def offset(self) -> Json:
        return {"read": True} if self._done else None

    @property
    def finished(self) -> bool:
        return self._done
