"""Statements on catalogs."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import LikePattern, Option, Statement


@dataclass(frozen=True, slots=True)
class CreateCatalog(Statement):
    name: str
    span: Span
    options: tuple[Option, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True)
class AlterCatalog(Statement):
    """``SET (…)``, ``RESET (…)`` or ``COMMENT '…'``: one of them."""

    name: str
    span: Span
    changed: tuple[Option, ...] = ()
    removed: tuple[str, ...] = ()
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class DropCatalog(Statement):
    name: str
    span: Span
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class UseCatalog(Statement):
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class DescribeCatalog(Statement):
    name: str
    span: Span
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowCatalogs(Statement):
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentCatalog(Statement):
    pass


@dataclass(frozen=True, slots=True)
class ShowCreateCatalog(Statement):
    name: str
    span: Span
