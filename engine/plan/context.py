"""What planning carries along: one :class:`Planner` a query, one :class:`Context` a clause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Bound, Origin
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.flavour import Flavour

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.relations import IcebergRelation, Relations
    from bergsql.engine.sql.statements import TableHint
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.table.predicate import Predicate


@dataclass(slots=True)
class Slot:
    """A scan of an Iceberg table: where it stands in the SQL, and what is known of what it must read."""

    relation: IcebergRelation
    mark: str
    """What stands for its SQL until the whole query is planned."""
    columns: set[str] = field(default_factory=set)
    predicates: list[Predicate] = field(default_factory=list)
    padded: bool = False
    """True behind an outer join that adds rows of NULLs for it: only what such rows cannot fulfil may be pushed."""


@dataclass(slots=True)
class OutputColumn:
    """A column of a bound query."""

    name: str
    type: DataType
    nullable: bool = True
    origin: Origin | None = None
    """The column of a scan that it hands on unchanged, when filtering it after is as good as before."""


@dataclass(slots=True)
class BoundQuery:
    """A query as DuckDB SQL. Its columns have no names to rely on: read it as ``(sql) AS q("a", "b", …)``."""

    sql: str
    columns: list[OutputColumn]
    outer: list[str] = field(default_factory=list)
    """Columns of the queries around that it reads, by name."""


@dataclass(slots=True)
class Cte:
    """A named query of WITH. It becomes a CTE of DuckDB under a name of its own."""

    name: str
    sql_name: str
    columns: list[OutputColumn]


@dataclass(slots=True)
class Planner:
    """What all parts of one query share."""

    relations: Relations
    flavour: Flavour
    hints: tuple[TableHint, ...] = ()
    slots: list[Slot] = field(default_factory=list)
    used_hints: set[int] = field(default_factory=set)
    _aliases: set[str] = field(default_factory=set)

    @property
    def spark(self) -> bool:
        return self.flavour is Flavour.SPARK

    def alias(self, wanted: str) -> str:
        """A relation name for DuckDB that nothing else in this query has, even without case."""
        name, n = wanted, 1
        while name.casefold() in self._aliases:
            n += 1
            name = f"{wanted}_{n}"
        self._aliases.add(name.casefold())
        return name

    def note_read(self, bound: Bound) -> None:
        """Remember that the query reads the column of a scan that ``bound`` is."""
        if bound.origin is not None:
            self.slots[bound.origin.slot].columns.add(bound.origin.column.partition(".")[0])

    def slot(self, relation: IcebergRelation) -> int:
        number = len(self.slots)
        # A character that no name can hold: text of the query can never be taken for the mark.
        self.slots.append(Slot(relation, f"\x00{number}\x00"))
        return number


@dataclass(slots=True)
class Found:
    """What binding the expressions of one SELECT came across."""

    aggregate: bool = False
    loose: list[tuple[str, Span | None]] = field(default_factory=list)
    """Columns read outside of aggregates and of group keys: wrong in a grouped query."""


@dataclass(slots=True)
class Context:
    """Where an expression stands: what names mean there, and what it may hold."""

    planner: Planner
    scope: Scope
    clause: str = "SELECT"
    ctes: dict[str, Cte] = field(default_factory=dict)
    aggregates_allowed: bool = True
    windows_allowed: bool = True
    inside_aggregate: bool = False
    found: Found = field(default_factory=lambda: Found())
    """What was found so far; copies of a context share it."""
    group_keys: dict[str, Bound] = field(default_factory=dict)
    """What the query groups by, by SQL."""
    aliases: dict[str, Bound] = field(default_factory=dict)
    """Names of earlier SELECT items, by folded name."""
    aliases_first: bool = False
    """True where an alias hides a column of that name (ORDER BY)."""
    variables: dict[str, Bound] = field(default_factory=dict)
    """Variables of the lambdas around, by folded name."""
    windows: dict[str, exp.Expr] = field(default_factory=dict)
    """Named windows."""

    @property
    def flavour(self) -> Flavour:
        return self.planner.flavour

    @property
    def spark(self) -> bool:
        return self.planner.flavour is Flavour.SPARK

    def check_grouped(self) -> None:
        """Refuse a column that is neither grouped nor aggregated, where the query groups."""
        if not self.found.loose:
            return
        name, span = self.found.loose[0]
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{name}' is neither in GROUP BY nor inside an aggregate function.",
            span=span,
            hint=f"Add {name} to GROUP BY, or take any_value({name})."
            if self.spark
            else f"Add {name} to GROUP BY, or aggregate it, as in MAX({name}).",
        )


def type_error(message: str, span: Span | None, hint: str | None = None) -> BergError:
    return BergError(ErrorCode.TYPE, message, span=span, hint=hint)
