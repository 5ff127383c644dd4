"""Every statement as a frozen value: what the parser gives and what execution takes.

A statement says what was written, not what it means: names are unresolved, types are as declared, option values may
hold ``${env:NAME}``. Spans are offsets in the statement's text, so that a later error can point at the word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bergsql.catalog.errors import Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.types import DataType

if TYPE_CHECKING:
    from sqlglot import expressions as exp


@dataclass(frozen=True, slots=True)
class Name:
    """A dotted name as written: ``catalog.db.table``, ``db.table`` or ``table``."""

    parts: tuple[str, ...]
    span: Span

    def __str__(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True, slots=True)
class Option:
    """A ``'key'='value'`` pair of WITH, TBLPROPERTIES, OPTIONS or a hint."""

    key: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Expression:
    """A scalar expression: its text and sqlglot's tree of it."""

    text: str
    span: Span
    ast: exp.Expr = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class TableHint:
    """``/*+ OPTIONS('k'='v') */`` behind the table reference that ends at ``after`` (an offset in the statement)."""

    after: int
    options: tuple[Option, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Query:
    """A SELECT, VALUES, WITH or set operation: its text and sqlglot's tree of it."""

    text: str
    span: Span
    ast: exp.Expr = field(compare=False, repr=False)
    hints: tuple[TableHint, ...] = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """The root of all statements."""


# --- session ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Set(Statement):
    """``SET k = v``; value None: show that key; key None: show all."""

    key: str | None = None
    value: str | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Reset(Statement):
    """``RESET [k]``."""

    key: str | None = None
    span: Span | None = None


# --- catalogs and databases ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CreateCatalog(Statement):
    name: str
    span: Span
    options: tuple[Option, ...] = ()
    comment: str | None = None
    if_not_exists: bool = False


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
class ShowCatalogs(Statement):
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentCatalog(Statement):
    pass


@dataclass(frozen=True, slots=True)
class ShowCreateCatalog(Statement):
    name: str
    span: Span


@dataclass(frozen=True, slots=True)
class CreateDatabase(Statement):
    name: Name
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: tuple[Option, ...] = ()


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
class ShowDatabases(Statement):
    catalog: Name | None = None
    like: str | None = None


@dataclass(frozen=True, slots=True)
class ShowCurrentDatabase(Statement):
    """``SHOW CURRENT DATABASE`` (flink) and ``SHOW CURRENT NAMESPACE`` (spark: catalog and namespace)."""

    namespace_form: bool = False


# --- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column."""

    name: str
    type: DataType
    span: Span
    nullable: bool = True
    comment: str | None = None
    primary_key: bool = False
    default: Expression | None = None
    computed: Expression | None = None
    """``name AS expression`` (no type is declared then: kind NULL)."""
    metadata: str | None = None
    """``name TYPE METADATA [FROM 'key'] [VIRTUAL]``: the key."""


@dataclass(frozen=True, slots=True)
class Watermark:
    column: str
    expression: Expression
    span: Span


@dataclass(frozen=True, slots=True)
class PrimaryKey:
    columns: tuple[str, ...]
    span: Span
    enforced: bool = False
    """True also when the constraint says neither: that means ENFORCED."""


@dataclass(frozen=True, slots=True)
class Transform:
    """A partition transform: ``identity|year|month|day|hour|bucket|truncate|void`` of a column."""

    name: str
    column: str
    """The source column, dotted when nested."""
    span: Span
    width: int | None = None
    """Buckets of ``bucket``, width of ``truncate``."""
    alias: str | None = None
    """The partition field's name, when one is given with AS."""


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A member of PARTITIONED BY: a transform, or in Hive's form a column with its type, which adds the column."""

    transform: Transform
    column: ColumnDef | None = None


@dataclass(frozen=True, slots=True)
class Like:
    """``LIKE table [(INCLUDING|EXCLUDING what …)]``."""

    source: Name
    options: tuple[tuple[str, str], ...] = ()
    """Pairs such as ``("INCLUDING", "OPTIONS")``."""


@dataclass(frozen=True, slots=True)
class CreateTable(Statement):
    """CREATE, REPLACE and CREATE OR REPLACE TABLE, with or without a query."""

    name: Name
    flavour: Flavour
    """The session's, unless USING, TBLPROPERTIES or WITH tell otherwise."""
    mode: str = "create"
    """``create``, ``replace`` or ``create or replace``."""
    if_not_exists: bool = False
    temporary: bool = False
    columns: tuple[ColumnDef, ...] = ()
    primary_key: PrimaryKey | None = None
    watermark: Watermark | None = None
    partitioning: tuple[PartitionColumn, ...] = ()
    comment: str | None = None
    provider: str | None = None
    location: str | None = None
    properties: tuple[Option, ...] = ()
    like: Like | None = None
    query: Query | None = None


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    name: Name
    if_exists: bool = False
    purge: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class ShowTables(Statement):
    database: Name | None = None
    like: str | None = None


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    name: Name
    extended: bool = False


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Statement):
    name: Name


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Statement):
    name: Name
    key: str | None = None


# --- ALTER TABLE -----------------------------------------------------------------------------------------------------


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


# --- queries and rows ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Select(Statement):
    query: Query


@dataclass(frozen=True, slots=True)
class Explain(Statement):
    """``mode`` is the text between EXPLAIN and the statement: "", "PLAN FOR", "EXTENDED", "FORMATTED" …"""

    statement: Statement
    mode: str = ""


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


@dataclass(frozen=True, slots=True)
class Unsupported(Statement):
    """A form that is recognised and refused by name when it is executed."""

    form: str
    span: Span
    hint: str | None = None
