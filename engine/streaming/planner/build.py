"""What the making of a plan carries along: streams with what is known of their columns, and the scopes over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.records import Record, replace
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.sql.functions.stream_times import PROCTIME_SQL
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import CalcNode
from bergsql.engine.streaming.planner.sql_columns import column_at, rewritten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.calls_taken import TakesCalls
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.streaming.nodes import Node, WindowKind
    from bergsql.engine.streaming.planner.ranks import Numbering


class Windowed(NamedTuple):
    """The windows that a stream's rows are in: positions of their bounds, and of the rowtime they were made by.

    ``gap``, ``partition`` are of SESSION, whose bounds are known when the window closes: ``start`` and ``end`` are
    then columns without a value.
    """

    kind: WindowKind
    start: int
    end: int
    window_time: int | None
    time: int
    gap: int | None = None
    partition: tuple[int, ...] | None = ()
    """Of SESSION: positions by which sessions are made; None for all other keys of the GROUP BY."""
    closed: bool = False
    """Whether the rows are those of closed windows: of a window aggregate, a Top-N or a join."""

    def moved(self, by: Mapping[int, int]) -> Windowed | None:
        """The same of a projection; None where it has lost the bounds."""
        partition = self.partition or ()
        needed = [self.start, self.end, *partition] + ([] if self.closed else [self.time])
        if any(n not in by for n in needed):
            return None
        window_time = by.get(self.window_time) if self.window_time is not None else None
        return self._replace(
            start=by[self.start],
            end=by[self.end],
            window_time=window_time,
            time=by.get(self.time, -1),
            partition=None if self.partition is None else tuple(by[n] for n in partition),
        )


class Stream(Record):
    """A node with what the planner knows of it beside.

    numbering
        Of a subquery with ROW_NUMBER() among its columns, which a condition around may make a Top-N: its node is not
        there before that is known.
    """

    __slots__ = ("node", "numbering", "window")

    def __init__(self, node: Node, window: Windowed | None = None, numbering: Numbering | None = None) -> None:
        self.node = node
        self.window = window
        self.numbering = numbering

    @property
    def columns(self) -> tuple[StreamColumn, ...]:
        return self.node.columns


class Stage:
    """The relations of a FROM clause as one stream; ``columns`` of the scope, by their positions in it.

    ``computed`` are columns of the scope that are made of those: USING of a FULL JOIN merges two.
    """

    def __init__(
        self, scope: Scope, stream: Stream, columns: list[SourceColumn], computed: Sequence[SourceColumn] = ()
    ) -> None:
        self.scope = scope
        self.stream = stream
        self.columns = columns
        self.computed = list(computed)

    def point(self, side: str = "i") -> None:
        """Let the columns of the scope be read from ``side``."""
        for place, column in enumerate(self.columns):
            column.sql = f"{side}.c{place}"
        for column in self.computed:
            column.sql = rewritten(column.sql, lambda _, n: f"{side}.c{n}")


class Cte(NamedTuple):
    """A query of WITH, planned when it is first read."""

    name: str
    plan: Callable[[], Stream]


class Shared:
    """What all parts of a plan share: sources that are read once."""

    def __init__(self) -> None:
        self.sources: dict[object, Stream] = {}
        self.once = False
        """Whether an Iceberg table is read once unless its own hint says otherwise."""


class Building:
    """One query, or the query of a view in it, being planned."""

    def __init__(self, relations: Relations, planner: Planner, shared: Shared) -> None:
        self.relations = relations
        self.planner = planner
        self.shared = shared

    def within(self, relations: Relations, planner: Planner) -> Building:
        return Building(relations, planner, self.shared)

    def context(
        self, scope: Scope, clause: str = "SELECT", *, aggregates: bool = True, windows: bool = True
    ) -> Context:
        return Context(self.planner, scope, clause, aggregates_allowed=aggregates, windows_allowed=windows)

    @contextmanager
    def taking(self, calls: TakesCalls) -> Iterator[None]:
        """While it lasts, aggregates, window functions and subqueries are given to ``calls``."""
        before = self.planner.calls
        self.planner.calls = calls
        try:
            yield
        finally:
            self.planner.calls = before

    @contextmanager
    def reading(self, *, once: bool) -> Iterator[None]:
        """While it lasts, tables are not followed, whatever the session says of all: they are looked up."""
        before, self.shared.once = self.shared.once, once
        try:
            yield
        finally:
            self.shared.once = before

    # --- nodes ---

    def calc(
        self,
        stream: Stream,
        items: Sequence[tuple[str, StreamColumn]],
        conjuncts: Sequence[str] = (),
        joined: str = "",
    ) -> Stream:
        """A projection and a filter; what is a column unchanged stays what it was: a rowtime, a part of the key."""
        if stream.node.mode is not ChangelogMode.INSERT_ONLY:
            from bergsql.engine.streaming.planner.drawn import is_drawn, redrawn, refuse_drawn

            refuse_drawn(conjuncts)
            if any(is_drawn(sql) for sql, _ in items) or is_drawn(joined):
                return redrawn(self, stream, items, joined)
        return self.plain_calc(stream, items, conjuncts, joined)

    def plain_calc(
        self,
        stream: Stream,
        items: Sequence[tuple[str, StreamColumn]],
        conjuncts: Sequence[str] = (),
        joined: str = "",
    ) -> Stream:
        """As :meth:`calc`, whatever the items are."""
        node = stream.node
        at: dict[int, int] = {}
        columns: list[StreamColumn] = []
        for place, (sql, column) in enumerate(items):
            was = column_at(sql)
            if was is None:
                columns.append(column._replace(proctime=sql == PROCTIME_SQL))
                continue
            at.setdefault(was, place)
            source = node.columns[was]
            columns.append(column._replace(rowtime=source.rowtime, proctime=source.proctime))
        key = None
        if node.key is not None and not joined and all(k in at for k in node.key):
            key = tuple(at[k] for k in node.key)
        made = CalcNode(
            uid="",
            inputs=(node,),
            columns=tuple(columns),
            mode=node.mode,
            key=key,
            items=tuple(sql for sql, _ in items),
            joined=joined,
            condition=" AND ".join(conjuncts) if conjuncts else None,
        )
        return Stream(made, stream.window.moved(at) if stream.window is not None else None)

    def filtered(self, stream: Stream, conjuncts: Sequence[str]) -> Stream:
        """All columns of the rows that fulfil ``conjuncts``."""
        if not conjuncts:
            return stream
        return self.calc(stream, [(f"i.c{n}", c) for n, c in enumerate(stream.columns)], conjuncts)

    def with_columns(self, stream: Stream, wanted: Sequence[tuple[str, StreamColumn]]) -> tuple[Stream, list[int]]:
        """The stream with columns of SQL behind its own, and where each is: one that it has already is not made."""
        places: list[int] = []
        added: list[tuple[str, StreamColumn]] = []
        made: dict[str, int] = {}
        for sql, column in wanted:
            there = column_at(sql)
            if there is None and sql not in made:
                made[sql] = len(stream.columns) + len(added)
                added.append((sql, column))
            places.append(made[sql] if there is None else there)
        if not added:
            return stream, places
        own = [(f"i.c{n}", c) for n, c in enumerate(stream.columns)]
        return self.calc(stream, [*own, *added]), places

    def cut(self, stream: Stream, count: int) -> Stream:
        """The first columns only."""
        if len(stream.columns) == count:
            return stream
        return self.calc(stream, [(f"i.c{n}", c) for n, c in enumerate(stream.columns[:count])])

    def named(self, stream: Stream, names: Sequence[str]) -> Stream:
        """The stream with other names for its columns."""
        if [c.name for c in stream.columns] == list(names):
            return stream
        from dataclasses import replace as with_fields

        columns = tuple(c._replace(name=n) for c, n in zip(stream.columns, names, strict=True))
        if isinstance(stream.node, CalcNode):
            return replace(stream, node=with_fields(stream.node, columns=columns))
        items = [(f"i.c{n}", c) for n, c in enumerate(columns)]
        made_stream = self.calc(replace(stream, numbering=None), items)
        return replace(made_stream, numbering=stream.numbering, window=stream.window)


def column_of_bound(name: str, bound: Bound) -> StreamColumn:
    return StreamColumn(name, bound.type, bound.nullable)


def stage_of(stream: Stream, names: tuple[str, ...], scope: Scope) -> Stage:
    """A stream as the one relation that ``scope`` gets."""
    columns = [SourceColumn(c.name, f"i.c{n}", c.type, c.nullable) for n, c in enumerate(stream.columns)]
    scope.add(Source(names, columns))
    return Stage(scope, stream, columns)


def settled_mode(*inputs: Node) -> ChangelogMode:
    """Insert-only if all are."""
    only = all(node.mode is ChangelogMode.INSERT_ONLY for node in inputs)
    return ChangelogMode.INSERT_ONLY if only else ChangelogMode.RETRACT
