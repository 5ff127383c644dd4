"""An aggregation in SQL: what is computed of a batch, what is kept of a group, what comes out.

A batch is reduced to *deltas*, a row a key, by one GROUP BY for each source of rows: the batch itself, and for DISTINCT
the values that are new or gone. *State columns* are kept of a group; each is made of its old value (alias ``o``, all
NULL where the group is new) and of deltas. Results are made of state columns. All three are SQL, so keys are never
gone through one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from bergsql.engine.sql.types import DataType
from bergsql.engine.streaming.changelog import StreamColumn, column
from bergsql.engine.streaming.nodes import AggregateCall

PLUS: Final = "i.op % 2 = 0"
"""+I and +U; the other two have odd numbers."""
MINUS: Final = "i.op % 2 = 1"

State = Callable[[str], str]
"""SQL of a state column by its name: of the old or of the new state."""
Result = Callable[[State], str]


@dataclass
class Stage:
    """A source of changed rows, which have the input's columns, ``op`` and ``rowid``, and the deltas computed of it."""

    alias: str
    deltas: dict[str, str] = field(default_factory=dict)  # SQL → name

    def delta(self, sql: str) -> str:
        """A delta by its SQL over ``i``; how it is named where states are brought up to date."""
        name = self.deltas.setdefault(sql, f"x{len(self.deltas)}")
        return f"{self.alias}.{name}"


@dataclass(frozen=True)
class DistinctValues:
    """What DISTINCT is of: these arguments, of the rows where ``filter`` holds."""

    arguments: tuple[int, ...]
    filter: int | None


class Kept(NamedTuple):
    """Values of groups that are kept one by one beside their states, as rows may be taken back.

    kind
        ``least`` and ``greatest``: ordered values with how often each is there; ``first``, ``last`` and ``all``: values
        in the order in which they came.
    source
        The alias of the stage that the rows come from; ``condition`` is on them.
    alias
        Of what is told of the groups that changed: ``x``, the value, and ``told``, which is TRUE.
    """

    kind: str
    argument: int
    condition: str
    source: str
    alias: str


class Layout:
    """The deltas, state columns and kept values of some calls over one input."""

    def __init__(self, columns: tuple[StreamColumn, ...], *, retracts: bool, merges: bool = False) -> None:
        """``retracts``: rows may be taken back. ``merges``: groups may become one: states hold all of them."""
        self.merges = merges
        self.columns = columns
        self.retracts = retracts
        self.rows = Stage("d")
        self.distinct: dict[DistinctValues, Stage] = {}
        self.states: dict[str, tuple[str, str]] = {}  # name → type, SQL
        self.partial: dict[str, str] = {}  # state column → the delta of the same form
        self.kept: list[Kept] = []
        self._shared: dict[tuple[str, ...], tuple[str, str]] = {}

    def state(self, type_: str, sql: str, like: str = "") -> str:
        """A state column of a DuckDB type, made by ``sql`` of ``o`` and of deltas.

        ``OLD`` in ``sql`` stands for its old value. ``like`` is the delta that has the form of a whole state, where
        there is one.
        """
        for name, known in self.states.items():
            if known == (type_, sql.replace("OLD", f"o.{name}")):
                return name
        name = f"s{len(self.states)}"
        self.states[name] = (type_, sql.replace("OLD", f"o.{name}"))
        if like:
            self.partial[name] = like
        return name

    def values(self, kind: str, argument: int, stage: Stage, condition: str) -> Kept:
        """Values that are kept one by one."""
        for known in self.kept:
            if known[:4] == (kind, argument, condition, stage.alias):
                return known
        self.kept.append(Kept(kind, argument, condition, stage.alias, f"v{len(self.kept)}"))
        return self.kept[-1]

    def once(self, key: tuple[str, ...], make: Callable[[], tuple[str, str]]) -> tuple[str, str]:
        """What ``make`` gives, made for the first call that needs it and shared by all of them."""
        if key not in self._shared:
            self._shared[key] = make()
        return self._shared[key]


class Term:
    """One call while it is laid out: SQL of its arguments and deltas."""

    def __init__(self, layout: Layout, call: AggregateCall) -> None:
        self.layout = layout
        self.call = call
        self.retracts = layout.retracts
        self.condition = ""
        if call.distinct and not layout.merges:
            values = DistinctValues(call.arguments, call.filter)
            self.stage = layout.distinct.setdefault(values, Stage(f"e{len(layout.distinct)}"))
        else:
            self.stage = layout.rows
            if call.filter is not None:
                self.condition = f"i.{column(call.filter)}"

    @property
    def x(self) -> str:
        return f"i.{column(self.call.arguments[0])}"

    @property
    def type(self) -> DataType:
        """Of the first argument."""
        return self.layout.columns[self.call.arguments[0]].type

    def where(self, *conditions: str) -> str:
        return " AND ".join(c for c in (self.condition, *conditions) if c)

    def over(self, sql: str, *conditions: str) -> str:
        """An aggregate of the stage's rows where the call's filter and these conditions hold."""
        where = self.where(*conditions)
        return f"{sql} FILTER (WHERE {where})" if where else sql

    def delta(self, sql: str, *conditions: str) -> str:
        return self.stage.delta(self.over(sql, *conditions))

    def difference(self, sql: str, type_: str, *conditions: str) -> str:
        """The delta of an aggregate that adds up: of what comes, less that of what goes. 0 for nothing."""
        if not self.retracts:
            return self.stage.delta(f"CAST(coalesce({self.over(sql, *conditions)}, 0) AS {type_})")
        come, go = self.over(sql, PLUS, *conditions), self.over(sql, MINUS, *conditions)
        return self.stage.delta(f"CAST(coalesce({come}, 0) - coalesce({go}, 0) AS {type_})")

    def total(self, sql: str, type_: str, *conditions: str) -> str:
        """A state column that adds up, 0 at first."""
        delta = self.difference(sql, type_, *conditions)
        return self.layout.state(type_, f"CAST(coalesce(OLD, 0) + coalesce({delta}, 0) AS {type_})", delta)

    def merged(self, type_: str, delta: str, body: str) -> str:
        """A state column that is NULL until there is a value: ``body`` of the old one and the delta, both there."""
        sql = f"CASE WHEN {delta} IS NULL THEN OLD WHEN OLD IS NULL THEN {delta} ELSE {body} END"
        return self.layout.state(type_, sql, delta)
