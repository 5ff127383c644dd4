"""Statements that define, change, drop and list views."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.alter import AlterAction
from bergsql.engine.sql.statements.base import LikePattern, Name, Option, Query, Statement


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A name that a view gives a column of its query."""

    name: str
    span: Span
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class CreateView(Statement):
    name: Name
    query: Query
    columns: tuple[ViewColumn, ...] = ()
    """Empty: the query's own names."""
    comment: str | None = None
    properties: tuple[Option, ...] = ()
    replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    shared: bool = False
    """GLOBAL TEMPORARY: the view's name begins with ``global_temp``."""


@dataclass(frozen=True, slots=True)
class SetQuery(AlterAction):
    """``ALTER VIEW … AS query``."""

    query: Query


@dataclass(frozen=True, slots=True)
class AlterView(Statement):
    """``action`` is one of RenameTable, SetQuery, SetProperties, UnsetProperties."""

    name: Name
    action: AlterAction
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class DropView(Statement):
    name: Name
    if_exists: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class ShowViews(Statement):
    database: Name | None = None
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class ShowCreateView(Statement):
    name: Name
