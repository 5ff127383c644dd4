"""Statements that define, drop and describe tables."""

from __future__ import annotations

from dataclasses import dataclass

from bergsql.catalog.errors import Span
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.statements.base import Expression, LikePattern, Name, Option, Query, Statement
from bergsql.engine.sql.types import DataType


@dataclass(frozen=True, slots=True)
class ColumnDef:
    """A declared column."""

    name: str
    type: DataType
    span: Span
    nullable: bool = True
    comment: str | None = None
    default: Expression | None = None
    computed: Expression | None = None
    """``name AS expression`` (no type is declared then: kind NULL)."""
    metadata: str | None = None
    """``name TYPE METADATA [FROM 'key'] [VIRTUAL]``: the key."""
    virtual: bool = False


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
    constraint: str | None = None
    """The name that CONSTRAINT gives it."""


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
    spans: tuple[Span, ...] = ()
    """Where each of them stands."""


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
    external: bool = False
    """EXTERNAL or STORED BY: LOCATION says where the table is, and may hold one already."""
    order: tuple[tuple[str, Span], ...] = ()
    """``(a, b) AS SELECT …``: the query's columns in another order."""
    location_span: Span | None = None


@dataclass(frozen=True, slots=True)
class DropTable(Statement):
    name: Name
    if_exists: bool = False
    purge: bool = False
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class ShowTables(Statement):
    database: Name | None = None
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """``PARTITION (name = value, …)``: the values as text, None for NULL."""

    values: tuple[tuple[str, str | None], ...]
    span: Span


@dataclass(frozen=True, slots=True)
class ShowTableExtended(Statement):
    """Spark's ``SHOW TABLE EXTENDED``: what there is to tell of each table, or of one partition."""

    database: Name | None
    like: LikePattern
    partition: PartitionFilter | None = None


@dataclass(frozen=True, slots=True)
class ShowColumns(Statement):
    """``database`` is that of Spark's ``SHOW COLUMNS IN t IN database``."""

    name: Name
    database: Name | None = None
    like: LikePattern | None = None


@dataclass(frozen=True, slots=True)
class ShowPartitions(Statement):
    name: Name
    partition: PartitionFilter | None = None


@dataclass(frozen=True, slots=True)
class Describe(Statement):
    """DESCRIBE of a table, of one of its columns or of one of its partitions."""

    name: Name
    extended: bool = False
    column: Name | None = None
    partition: PartitionFilter | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class DescribeQuery(Statement):
    query: Query


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Statement):
    name: Name


@dataclass(frozen=True, slots=True)
class ShowTableProperties(Statement):
    name: Name
    key: str | None = None
