"""ALTER TABLE and its actions."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.statements.base import Expression, Name, Option, Statement
from bergsql.engine.sql.statements.tables import ColumnDef, PrimaryKey, Transform, Watermark
from bergsql.engine.sql.types import DataType


@dataclass(frozen=True, slots=True)
class AlterAction:
    """One change of an ALTER TABLE."""


# --- the table -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetProperties(AlterAction):
    options: tuple[Option, ...]


@dataclass(frozen=True, slots=True)
class UnsetProperties(AlterAction):
    keys: tuple[str, ...]
    if_exists: bool = False
    """Whether to say nothing of keys that are not there."""


@dataclass(frozen=True, slots=True)
class SetLocation(AlterAction):
    location: str
    span: Span


@dataclass(frozen=True, slots=True)
class RenameTable(AlterAction):
    to: Name


@dataclass(frozen=True, slots=True)
class Inapplicable(AlterAction):
    """A form that Hive's or another table format's tables have, and an Iceberg table has no place for."""

    form: str
    span: Span


# --- columns ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddColumn(AlterAction):
    """``path`` is the parent of a nested column, empty at top level; ``after`` "" means FIRST."""

    column: ColumnDef
    path: tuple[str, ...] = ()
    after: str | None = None
    after_span: Span | None = None
    if_not_exists: bool = False


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
class ChangeColumn(AlterAction):
    """Spark's ALTER COLUMN and Hive's CHANGE COLUMN: what is None stays as it is."""

    path: tuple[str, ...]
    span: Span
    to: str | None = None
    """The new name, which only CHANGE COLUMN gives."""
    type: DataType | None = None
    type_span: Span | None = None
    nullable: bool | None = None
    comment: str | None = None
    default: Expression | None = None
    drop_default: bool = False
    after: str | None = None
    after_span: Span | None = None


@dataclass(frozen=True, slots=True)
class ModifyColumn(AlterAction):
    """Flink's MODIFY: the column is declared anew; a comment and a place that are not given stay."""

    column: ColumnDef
    path: tuple[str, ...] = ()
    after: str | None = None
    after_span: Span | None = None


@dataclass(frozen=True, slots=True)
class ReplaceColumns(AlterAction):
    """``REPLACE COLUMNS (…)``: the table has these columns and no others."""

    columns: tuple[ColumnDef, ...]
    span: Span


# --- keys and watermarks ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SetKey(AlterAction):
    """ADD or, with ``modify``, MODIFY PRIMARY KEY."""

    key: PrimaryKey
    modify: bool = False


@dataclass(frozen=True, slots=True)
class DropKey(AlterAction):
    """``DROP PRIMARY KEY``, or ``DROP CONSTRAINT name``."""

    span: Span
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class SetIdentifierFields(AlterAction):
    fields: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class DropIdentifierFields(AlterAction):
    fields: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class SetWatermark(AlterAction):
    """ADD or, with ``modify``, MODIFY WATERMARK."""

    watermark: Watermark
    modify: bool = False


@dataclass(frozen=True, slots=True)
class DropWatermark(AlterAction):
    span: Span


# --- how files are laid out ------------------------------------------------------------------------------------------


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
class OrderBy:
    """One key of WRITE ORDERED BY."""

    transform: Transform
    descending: bool = False
    nulls_last: bool = False


@dataclass(frozen=True, slots=True)
class SetWriteOrder(AlterAction):
    """``WRITE …``: the order of rows in files, none when empty, and what ``write.distribution-mode`` becomes."""

    order: tuple[OrderBy, ...]
    distribution: str | None
    """``range``, ``hash`` or ``none``; None leaves it as it is (LOCALLY ORDERED BY)."""
    span: Span


@dataclass(frozen=True, slots=True)
class AlterTable(Statement):
    name: Name
    actions: tuple[AlterAction, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True)
class CommentOnTable(Statement):
    """``COMMENT ON TABLE t IS …``; None takes the comment away."""

    name: Name
    comment: str | None


@dataclass(frozen=True, slots=True)
class CommentOnColumn(Statement):
    """``COMMENT ON COLUMN [catalog.][database.]table.column IS …``; None takes the comment away."""

    name: Name
    comment: str | None
