"""Predicates on a table's columns, as planning understands them: what a WHERE clause says of one table.

A predicate has SQL's three-valued meaning, and NaN stands above all numbers. It only ever prunes: DuckDB still filters
the rows. So a part that cannot be expressed may be left out of an And, or be ``AlwaysTrue``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from bergsql.engine.sql.quoting import flink_text

Column = str | int
"""A column: its name (dotted for a field of a struct) or its field id."""


class Op(StrEnum):
    """Comparisons."""

    EQ = "="
    NE = "<>"
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
"""The comparison that is true exactly where the other is false."""


@dataclass(frozen=True, slots=True)
class AlwaysTrue:
    def __str__(self) -> str:
        return "TRUE"


@dataclass(frozen=True, slots=True)
class AlwaysFalse:
    def __str__(self) -> str:
        return "FALSE"


@dataclass(frozen=True, slots=True)
class And:
    """All of them. Build it with :func:`all_of`, which flattens."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " AND ".join(f"({c})" if isinstance(c, Or) else str(c) for c in self.children)


@dataclass(frozen=True, slots=True)
class Or:
    """Any of them. Build it with :func:`any_of`, which flattens."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return " OR ".join(map(str, self.children))


@dataclass(frozen=True, slots=True)
class Not:
    child: Predicate

    def __str__(self) -> str:
        return f"NOT ({self.child})"


@dataclass(frozen=True, slots=True)
class IsNull:
    column: Column

    def __str__(self) -> str:
        return f"{self.column} IS NULL"


@dataclass(frozen=True, slots=True)
class NotNull:
    column: Column

    def __str__(self) -> str:
        return f"{self.column} IS NOT NULL"


@dataclass(frozen=True, slots=True)
class IsNan:
    column: Column

    def __str__(self) -> str:
        return f"isnan({self.column})"


@dataclass(frozen=True, slots=True)
class Compare:
    """``column op value``. Values are Python values as :data:`bergsql.engine.result.Row` has them (never None).

    An int for a date, time or timestamp column counts the column's own unit since its origin: days, microseconds, or
    nanoseconds of an ns type. A datetime for a TIMESTAMP_LTZ column is in UTC (or aware).
    """

    column: Column
    op: Op
    value: object

    def __str__(self) -> str:
        return f"{self.column} {self.op} {_literal(self.value)}"


@dataclass(frozen=True, slots=True)
class In:
    """``column IN (values)``; values as in :class:`Compare`."""

    column: Column
    values: tuple[object, ...]

    def __str__(self) -> str:
        return f"{self.column} IN ({', '.join(map(_literal, self.values))})"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """``column LIKE 'prefix%'`` with a plain prefix: str for a string column, bytes for a binary one."""

    column: Column
    prefix: str | bytes

    def __str__(self) -> str:
        if isinstance(self.prefix, str):
            return f"{self.column} LIKE {_literal(self.prefix + '%')}"
        return f"starts_with({self.column}, {_literal(self.prefix)})"


Predicate = AlwaysTrue | AlwaysFalse | And | Or | Not | IsNull | NotNull | IsNan | Compare | In | StartsWith


def all_of(*predicates: Predicate) -> Predicate:
    """The conjunction; of none: AlwaysTrue."""
    kept: list[Predicate] = []
    for p in predicates:
        if isinstance(p, AlwaysFalse):
            return p
        if not isinstance(p, AlwaysTrue):
            kept.extend(p.children if isinstance(p, And) else (p,))
    return And(tuple(kept)) if len(kept) > 1 else kept[0] if kept else AlwaysTrue()


def any_of(*predicates: Predicate) -> Predicate:
    """The disjunction; of none: AlwaysFalse."""
    kept: list[Predicate] = []
    for p in predicates:
        if isinstance(p, AlwaysTrue):
            return p
        if not isinstance(p, AlwaysFalse):
            kept.extend(p.children if isinstance(p, Or) else (p,))
    return Or(tuple(kept)) if len(kept) > 1 else kept[0] if kept else AlwaysFalse()


def columns_of(predicate: Predicate) -> frozenset[Column]:
    """The columns that a predicate names."""
    match predicate:
        case And(children) | Or(children):
            return frozenset().union(*map(columns_of, children))
        case Not(child):
            return columns_of(child)
        case AlwaysTrue() | AlwaysFalse():
            return frozenset()
    return frozenset((predicate.column,))


def map_columns(predicate: Predicate, rename: Callable[[Column], Column]) -> Predicate:
    """The same predicate on other columns."""
    match predicate:
        case And(children):
            return And(tuple(map_columns(c, rename) for c in children))
        case Or(children):
            return Or(tuple(map_columns(c, rename) for c in children))
        case Not(child):
            return Not(map_columns(child, rename))
        case IsNull(column):
            return IsNull(rename(column))
        case NotNull(column):
            return NotNull(rename(column))
        case IsNan(column):
            return IsNan(rename(column))
        case Compare(column, op, value):
            return Compare(rename(column), op, value)
        case In(column, values):
            return In(rename(column), values)
        case StartsWith(column, prefix):
            return StartsWith(rename(column), prefix)
    return predicate


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, bytes):
        return f"X'{value.hex()}'"
    if isinstance(value, int | float | Decimal):
        return str(value)
    return flink_text(str(value))
