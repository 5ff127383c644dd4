"""Statements on databases, which spark calls namespaces."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import LikePattern, Name, Option, Statement


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    name: Name
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: tuple[Option, ...] = ()
    location_span: Span | None = None


@dataclass(frozen=True, slots=True)
class AlterDatabase(Statement):
    """``ALTER DATABASE``, and ``COMMENT ON DATABASE``: what is set, and the keys that are taken away."""

    name: Name
    changed: tuple[Option, ...] = ()
    removed: tuple[str, ...] = ()
    if_exists: bool = False
    needs_keys: bool = False
    """Whether the keys of ``removed`` must be there."""


@dataclass(frozen=True, slots=True)
class DropDatabase(Statement):
    name: Name
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True)
class UseDatabase(Statement):
    """``USE x`` (bare: in spark it may name a catalog) and ``USE DATABASE|NAMESPACE|SCHEMA x``."""

    name: Name
    bare: bool = True


@dataclass(frozen=True, slots=True)
class DescribeDatabase(Statement):
    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowDatabases(Statement):
    catalog: Name | None = None
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentDatabase(Statement):
    """``SHOW CURRENT DATABASE`` (flink) and ``SHOW CURRENT NAMESPACE`` (spark: catalog and namespace)."""

    namespace_form: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreateDatabase(Statement):
    name: Name
