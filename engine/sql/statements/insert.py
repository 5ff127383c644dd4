"""INSERT."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Expression, Name, Option, Query, Statement


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """``column = expression`` of PARTITION (…); value None: the column is left to the query."""

    column: str
    value: Expression | None
    span: Span


@dataclass(frozen=True, slots=True)
class Insert(Statement):
    target: Name
    query: Query
    overwrite: bool = False
    columns: tuple[str, ...] | None = None
    column_spans: tuple[Span, ...] = ()
    partition: tuple[PartitionValue, ...] = ()
    hints: tuple[Option, ...] = ()
    """Options of a hint behind the target."""
    by_name: bool = False
    """BY NAME: the query's columns go to the columns of their names."""
    defaults: bool = False
    """DEFAULT VALUES: one row, of the columns' defaults; ``query`` has no values of its own."""


@dataclass(frozen=True, slots=True)
class StatementSet(Statement):
    """INSERTs that are checked together before the first of them runs."""

    inserts: tuple[Insert, ...]
