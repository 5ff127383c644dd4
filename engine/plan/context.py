"""What planning carries along: one :class:`Planner` a query, one :class:`Context` a clause."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Bound, Origin
from bergsql.engine.plan.records import Record, replace
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import span_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from sqlglot import exp

    from bergsql.engine.plan.calls_taken import TakesCalls
    from bergsql.engine.plan.images import Image
    from bergsql.engine.plan.metadata_answers import Answered
    from bergsql.engine.plan.relations import IcebergRelation, ReadableSource, Relations
    from bergsql.engine.sql.parser.query import Place
    from bergsql.engine.sql.statements import TableHint
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.table.predicate import Predicate


class Slot(Record):
    """A scan of an Iceberg table, or with ``source`` of a connector's: where it stands in the SQL, and what is known of
    what it must read.

    ``mark`` stands for its SQL until the whole query is planned. ``padded`` is True behind an outer join that adds rows
    of NULLs for it: only what such rows cannot fulfil may be pushed then. ``sampled`` is True below TABLESAMPLE: a
    filter in front of it would draw from other rows; so it is where a read option lets only ``limit`` rows pass.
    ``answered`` where manifests say all that the query asks of it. ``others`` is what holds of all rows that a DELETE
    leaves: files that hold none of them are not read.
    """

    __slots__ = (
        "_relation",
        "answered",
        "columns",
        "limit",
        "mark",
        "others",
        "padded",
        "predicates",
        "sampled",
        "source",
    )

    def __init__(self, relation: IcebergRelation | None, mark: str) -> None:
        self._relation = relation
        self.source: ReadableSource | None = None
        self.mark = mark
        self.columns: set[str] = set()
        self.predicates: list[Predicate] = []
        self.padded = False
        self.sampled = False
        self.answered: Answered | None = None
        self.limit: int | None = None
        self.others: Predicate | None = None

    @property
    def relation(self) -> IcebergRelation:
        """The table, where it is an Iceberg one."""
        assert self._relation is not None
        return self._relation

    @property
    def gives_deleted(self) -> bool:
        """Whether rows that are deleted come too: ``_deleted`` is read, and no column of the table has that name."""
        if "_deleted" not in self.columns:
            return False
        return all(field.name != "_deleted" for field in self.relation.schema.fields)


class OutputColumn(Record):
    """A column of a bound query.

    ``origin`` is the column of a scan that it is (of a table in FROM); of a query, ``images`` are the columns of scans
    that it hands on, when filtering it after is as good as before.
    """

    __slots__ = ("images", "name", "nullable", "origin", "type")

    def __init__(
        self,
        name: str,
        type: DataType,
        nullable: bool = True,
        origin: Origin | None = None,
        images: tuple[Image, ...] = (),
    ) -> None:
        self.name = name
        self.type = type
        self.nullable = nullable
        self.origin = origin
        self.images = images


class BoundQuery(Record):
    """A query as DuckDB SQL. Its columns have no names to rely on: read it as ``(sql) AS q("a", "b", …)``.

    ``outer`` are the columns of the queries around that it reads, by name.
    """

    __slots__ = ("columns", "outer", "sql")

    def __init__(self, sql: str, columns: list[OutputColumn], outer: list[str] | None = None) -> None:
        self.sql = sql
        self.columns = columns
        self.outer = outer or []


class Cte(NamedTuple):
    """A named query of WITH. It becomes a CTE of DuckDB under a name of its own."""

    name: str
    sql_name: str
    columns: list[OutputColumn]


class Planner:
    """What all parts of one query share."""

    def __init__(self, relations: Relations, hints: tuple[TableHint, ...] = ()) -> None:
        self.relations = relations
        self.flavour = relations.flavour
        self._hints = dict.fromkeys(hints, False)
        self.slots: list[Slot] = []
        self._aliases: dict[str, int] = {}
        self.equal: list[tuple[Origin, Origin]] = []
        """Pairs of columns: what is known of the first holds for the second too, in every row that matters."""
        self.reads = False
        """True where the query will run, so that manifests may be looked at."""
        self.prunes = True
        self.known: dict[str, object] = {}
        """Values of constant expressions, by SQL."""
        self._now: datetime | None = None
        self.unreadable: list[BergError] = []
        """Why the query cannot run, though its columns are known: it reads connector tables."""
        self.variables: dict[str, object] = {}
        """What the SQL of connector tables needs set, when it is known."""
        self.calls: TakesCalls | None = None
        """Who computes aggregates and window functions, where that is not the SQL itself."""
        self.streams = False
        """Whether the query runs as a stream: then what only streams have is known."""
        self.whole: dict[str, int] = {}
        """SQL of relations that give all rows of a scan, each once, and nothing else: the scan's number."""

    def within(self, relations: Relations, hints: tuple[TableHint, ...]) -> Planner:
        """A planner of a view's query, which becomes a part of this one."""
        inner = Planner(relations, hints)
        inner.slots, inner._aliases, inner.unreadable = self.slots, self._aliases, self.unreadable
        inner.equal, inner._now, inner.reads = self.equal, self.now, self.reads
        inner.whole = self.whole
        inner.variables = self.variables
        inner.calls, inner.streams = self.calls, self.streams
        return inner

    @property
    def now(self) -> datetime:
        """When the query began, in UTC: the same wherever it asks for the time."""
        from datetime import UTC, datetime

        if self._now is None:
            self._now = datetime.now(UTC).replace(tzinfo=None)
        return self._now

    @property
    def spark(self) -> bool:
        return self.flavour is Flavour.SPARK

    def alias(self, wanted: str) -> str:
        """A relation name for DuckDB that nothing else in this query has, even without case."""
        wanted = wanted or "_"  # DuckDB has no empty names
        name, key = wanted, wanted.casefold()
        while name.casefold() in self._aliases:
            self._aliases[key] = self._aliases.get(key, 1) + 1
            name = f"{wanted}_{self._aliases[key]}"
        self._aliases.setdefault(name.casefold(), 1)
        return name

    def take_hints(self, table: Span | None) -> list[TableHint]:
        """The hints behind the table whose name stands there."""
        taken = [hint for hint in self._hints if table is not None and hint.after == table.end]
        self._hints.update(dict.fromkeys(taken, True))
        return taken

    def check_hints(self) -> None:
        """Refuse a hint that no table took."""
        for hint, taken in self._hints.items():
            if not taken:
                raise BergError(ErrorCode.OPTION, "No table reads this hint.", span=hint.span)

    def note_read(self, bound: Bound) -> None:
        """Remember that the query reads the column of a scan that ``bound`` is."""
        if bound.origin is not None:
            self.slots[bound.origin.slot].columns.add(bound.origin.column)

    def slot(self, relation: IcebergRelation) -> int:
        number = len(self.slots)
        # A character that no name can hold: text of the query can never be taken for the mark.
        self.slots.append(Slot(relation, f"\x00{number}\x00"))
        self.whole[self.slots[number].mark] = number
        return number

    def source_slot(self) -> int:
        """The number of a scan of a connector's table, whose source is put there."""
        self.slots.append(Slot(None, f"\x00{len(self.slots)}\x00"))
        return len(self.slots) - 1


class Found:
    """What binding the expressions of one SELECT came across.

    ``loose`` are columns read outside of aggregates and of group keys: wrong in a grouped query. ``partitions`` are the
    SQL of what each window function is partitioned by; ``calls`` the aggregates with nothing but arguments, by SQL.
    """

    __slots__ = ("aggregate", "calls", "loose", "partitions")

    def __init__(self) -> None:
        self.aggregate = False
        self.calls: dict[str, tuple[str, tuple[Bound, ...]]] = {}
        self.partitions: list[frozenset[str]] = []
        self.loose: list[tuple[str, Span | None]] = []


class Context(Record):
    """Where an expression stands: what names mean there, and what it may hold.

    aggregate_filter
        A condition on the rows that every aggregate takes (PIVOT's), as SQL.
    found
        What was found so far; copies of a context share it.
    group_keys
        What the query groups by, by SQL; ``repeats_sets`` where two grouping sets may be the same.
    aliases
        Names of earlier SELECT items, by folded name; ``aliases_first`` where one hides a column (ORDER BY).
    variables
        Variables of the lambdas around, by folded name.
    windows
        Named windows.
    """

    __slots__ = (
        "aggregate_filter",
        "aggregates_allowed",
        "aliases",
        "aliases_first",
        "clause",
        "ctes",
        "found",
        "group_keys",
        "inside_aggregate",
        "planner",
        "repeats_sets",
        "scope",
        "variables",
        "windows",
        "windows_allowed",
    )

    def __init__(
        self,
        planner: Planner,
        scope: Scope,
        clause: str = "SELECT",
        ctes: Mapping[str, Cte] | None = None,
        *,
        aggregates_allowed: bool = True,
        windows_allowed: bool = True,
    ) -> None:
        self.planner = planner
        self.scope = scope
        self.clause = clause
        self.ctes: Mapping[str, Cte] = ctes or {}
        self.aggregates_allowed = aggregates_allowed
        self.windows_allowed = windows_allowed
        self.inside_aggregate = False
        self.aggregate_filter: str | None = None
        self.found = Found()
        self.group_keys: dict[str, Bound] = {}
        self.repeats_sets = False
        self.aliases: dict[str, Bound] = {}
        self.aliases_first = False
        self.variables: dict[str, Bound] = {}
        self.windows: dict[str, exp.Expr] = {}

    @property
    def flavour(self) -> Flavour:
        return self.planner.flavour

    @property
    def spark(self) -> bool:
        return self.planner.flavour is Flavour.SPARK

    def common_type(self, a: DataType, b: DataType) -> DataType | None:
        """The type that both turn into in this flavour."""
        from bergsql.engine.plan.coercion import common_type

        return common_type(a, b, self.flavour)

    def grouped(self, bound: Bound) -> Bound:
        """What a group key is read as, where a node of a stream's plan has grouped; else the key itself."""
        if self.planner.calls is None or self.inside_aggregate or bound.sql not in self.group_keys:
            return bound
        made = replace(bound, sql=self.group_keys[bound.sql].sql, origin=None)
        made.images, made.truth, made.ring = (), None, None
        return made

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


def refuse_opaque(type_: DataType, place: Place, what: str) -> None:
    """Refuse variants and geometries, of which no two can be told apart."""
    opaque = type_.opaque_part
    if opaque is not None:
        raise type_error(f"{what} cannot take a {opaque}.", place, "CAST(… AS STRING) gives its text.")


def refuse_unordered(type_: DataType, context: Context, place: Place, what: str) -> None:
    """Refuse what has no order: variants and geometries; in Spark also maps, which it does not even compare."""
    refuse_opaque(type_, place, what)
    if context.spark and type_.holds_map:
        raise type_error(
            f"{what} cannot take a MAP.", place, "map_entries(m) makes an array of it, which can be compared."
        )


def type_error(message: str, place: Place, hint: str | None = None) -> BergError:
    return BergError(ErrorCode.TYPE, message, span=span_of(place), hint=hint)
