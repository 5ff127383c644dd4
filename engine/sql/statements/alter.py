"""ALTER TABLE and its actions."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Name, Option, Statement
from bergsql.engine.sql.statements.tables import ColumnDef, Transform


@dataclass(frozen=True, slots=True)
class AlterAction:
    """One change of an ALTER TABLE."""


@dataclass(frozen=True, slots=True)
class SetProperties(AlterAction):
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class UnsetProperties(AlterAction):
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameTable(AlterAction):
    to: Name


@dataclass(frozen=True, slots=True)
class AddColumn(AlterAction):
    """``path`` is the parent of a nested column, empty at top level; ``after`` "" means FIRST."""

    column: ColumnDef
    path: tuple[str, ...] = ()
    after: str | None = None
    after_span: Span | None = None


@dataclass(frozen=True, slots=True)
class DropColumn(AlterAction):
    path: tuple[str, ...]
    span: Span
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class RenameColumn(AlterAction):
    path: tuple[str, ...]
    to: str
    span: Span


@dataclass(frozen=True, slots=True)
class AddPartitionField(AlterAction):
    transform: Transform


@dataclass(frozen=True, slots=True)
class DropPartitionField(AlterAction):
    """By the field's name (``transform`` None) or by its transform."""

    name: str
    span: Span
    transform: Transform | None = None


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    name: Name
    actions: tuple[AlterAction, ...]
    if_exists: bool = False
