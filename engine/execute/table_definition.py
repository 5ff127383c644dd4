"""What the words of a CREATE TABLE mean for an Iceberg table: its schema, its partition spec, its properties."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.catalog.metadata.changes import TableUpdate, UpgradeFormatVersion
from bergsql.catalog.metadata.new_table import (
    FORMAT_VERSION,
    new_table_metadata,
    parse_format_version,
    replacement_updates,
)
from bergsql.catalog.metadata.partition import PartitionBy, PartitionSpec, build_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.schema_rules import NAMELESS, ambiguous_name, check_full_names
from bergsql.catalog.metadata.sort import ASC, DESC, NULLS_FIRST, NULLS_LAST, UNSORTED, SortBy, SortOrder
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import Transform, TransformKind, bucket, truncate
from bergsql.catalog.metadata.types import IcebergType, NestedField
from bergsql.engine.plan.query import PlannedColumn
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import to_iceberg
from bergsql.engine.sql.types import FLOATS, NESTED, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.session import Session

SORT_ORDER = "sort-order"
IDENTIFIER_FIELDS = "identifier-fields"
"""Where a table's sort order is listed among its properties, as Spark lists it, and read from."""


@dataclass(frozen=True, slots=True)
class Definition:
    """What a CREATE TABLE says of the table that it makes. The ids of the schema only tie the spec to it."""

    schema: Schema
    spec: PartitionSpec
    properties: dict[str, str]
    location: str | None
    format_version: int
    order: SortOrder = UNSORTED

    def new_metadata(self, location: str) -> TableMetadata:
        """The metadata of a table that nobody sees yet; ``location``: where the catalog puts it."""
        return new_table_metadata(
            self.schema, self.spec, self.order, self.location or location, self.properties, self.format_version
        )

    def replacement(self, base: LoadedTable) -> list[TableUpdate]:
        """The updates that make ``base`` so, without rows; its history stays."""
        metadata = base.metadata
        upgrade = self.format_version != metadata.format_version
        return [
            *([UpgradeFormatVersion(self.format_version)] if upgrade else []),
            *replacement_updates(metadata, self.schema, self.spec, self.order, self.location, self.properties),
        ]


def declared_schema(
    statement: st.CreateTable,
    format_version: int,
    default: Callable[[st.ColumnDef, IcebergType], Any],
    like: Schema | None = None,
) -> Schema:
    """The schema that the column list declares, key included; ``default`` gives the JSON of a column's DEFAULT.

    ``like``: the schema of the first columns, which are taken as they are there, with what no declaration says.

    :raises BergError: at the column that an Iceberg table cannot have.
    """
    columns = [*statement.columns, *(p.column for p in statement.partitioning if p.column is not None)]
    if statement.watermark is not None:
        raise BergError(
            ErrorCode.INVALID,
            "An Iceberg table has no watermark.",
            span=statement.watermark.span,
            hint="Name it where the table is read: the option 'watermark-column'.",
        )
    for column in columns:
        check_stored(column)
    _check_names(columns)
    key = _key_names(statement, columns)
    inherited = like.fields if like is not None else ()
    ids = count(like.highest_field_id + 1 if like is not None else 1)
    fields = (
        *(replace(field, required=field.required or field.name in key) for field in inherited),
        *(_declared_field(column, ids, format_version, key, default) for column in columns[len(inherited) :]),
    )
    schema = Schema(0, fields, tuple(f.field_id for f in fields if f.name in key))
    _check_full_names(schema, {c.name: c.span for c in columns})
    return schema


def _declared_field(
    column: st.ColumnDef,
    ids: Iterator[int],
    format_version: int,
    key: Sequence[str],
    default: Callable[[st.ColumnDef, IcebergType], Any],
) -> NestedField:
    field_id = next(ids)
    type_ = _iceberg_type(column, ids, format_version)
    # No row is older than the column, so that there is no initial default (spec, "Default values").
    return NestedField(
        field_id,
        column.name,
        type_,
        required=not column.nullable or column.name in key,
        doc=column.comment,
        write_default=None if column.default is None else default(column, type_),
    )


def _iceberg_type(column: st.ColumnDef, ids: Iterator[int], format_version: int) -> IcebergType:
    try:
        return to_iceberg(column.type, ids, format_version)
    except BergError as error:
        raise error.at(column.span) from None


def check_stored(column: st.ColumnDef) -> None:
    """Refuse a column that is computed or holds what a connector knows: an Iceberg table has neither."""
    if column.computed is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{column.name}' is computed, and an Iceberg table has no computed columns.",
            span=column.span,
            hint="Compute it in the query, or in a view.",
        )
    if column.metadata is not None:
        raise BergError(
            ErrorCode.INVALID,
            f"Column '{column.name}' is a metadata column, which only connector tables have.",
            span=column.span,
        )


def _check_names(columns: Sequence[st.ColumnDef]) -> None:
    seen: dict[str, st.ColumnDef] = {}
    for column in columns:
        first = seen.setdefault(column.name.casefold(), column)
        if first is column:
            continue
        # DuckDB finds columns without case, so two that differ only in case could not both be read.
        same = first.name == column.name
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"Column '{column.name}' is declared twice."
            if same
            else f"Columns '{first.name}' and '{column.name}' differ only in case.",
            span=column.span,
        )


def _check_full_names(schema: Schema, spans: Mapping[str, Span]) -> None:
    try:
        check_full_names(schema)
    except BergError as error:
        raise error.at(spans.get(ambiguous_name(schema) or "")) from None


def check_connector_columns(statement: st.CreateTable) -> None:
    """Refuse columns with one name, of one metadata key or with a DEFAULT, and a key that cannot be."""
    for column in statement.columns:
        if column.default is not None:
            raise BergError(
                ErrorCode.INVALID, "Columns of a table with a connector have no DEFAULT.", span=column.default.span
            )
    _check_names(statement.columns)
    of_key: dict[str, st.ColumnDef] = {}
    for column in statement.columns:
        if column.metadata is not None and (other := of_key.setdefault(column.metadata, column)) is not column:
            raise BergError(
                ErrorCode.INVALID,
                f"The columns '{other.name}' and '{column.name}' are both of the metadata key '{column.metadata}'.",
                span=column.span,
                hint=f"Compute one of the other: {column.name} AS {other.name}.",
            )
    if statement.like is None:
        _key_names(statement, statement.columns)


def check_connector_table(session: Session, statement: st.CreateTable) -> None:
    """Refuse a table whose columns cannot be, or whose connector refuses its options or columns."""
    check_connector_columns(statement)
    from bergsql.engine.connectors.registry import check_options, metadata_types
    from bergsql.engine.names import connector_of
    from bergsql.engine.plan.connectors import check_metadata
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.plan.relations import ConnectorRelation
    from bergsql.engine.relations import SessionRelations

    check_options(statement)
    types = metadata_types(statement)
    relation = ConnectorRelation(statement.name.parts, connector_of(statement), statement.columns, metadata=types)
    check_metadata(relation, Planner(SessionRelations(session)))


def check_not_enforced(key: st.PrimaryKey) -> None:
    """Refuse a key that is to be checked whenever rows are written."""
    if key.enforced:
        raise BergError(
            ErrorCode.INVALID,
            "A PRIMARY KEY cannot be ENFORCED: bergsql does not own the data, other engines write it without "
            "checking the key.",
            span=key.span,
            hint="PRIMARY KEY (…) NOT ENFORCED declares the key without checking it.",
        )


def check_key_change(action: st.SetKey, names: Sequence[str]) -> None:
    """Refuse to add a key to a table that has one (``names``), or to modify that of a table without."""
    key = action.key
    check_not_enforced(key)
    if names and not action.modify:
        raise BergError(
            ErrorCode.ALREADY_EXISTS,
            f"The table has the primary key ({', '.join(names)}) already.",
            span=key.span,
            hint="ALTER TABLE … MODIFY PRIMARY KEY (…) NOT ENFORCED; gives it another.",
        )
    if action.modify and not names:
        raise no_key(key.span)


def no_key(span: Span) -> BergError:
    """The error for a table without a primary key."""
    return BergError(
        ErrorCode.NOT_FOUND,
        "The table has no primary key.",
        span=span,
        hint="ALTER TABLE … ADD PRIMARY KEY (…) NOT ENFORCED; gives it one.",
    )


def _key_names(statement: st.CreateTable, columns: Sequence[st.ColumnDef]) -> tuple[str, ...]:
    """The columns of the primary key.

    :raises BergError: when the key is ENFORCED, or names a column that is not there or cannot be in a key.
    """
    key = statement.primary_key
    if key is None:
        return ()
    check_not_enforced(key)
    by_name = {c.name: c for c in columns}
    for name in key.columns:
        if name not in by_name:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"The primary key names column '{name}', which the table does not have.",
                span=key.span,
                hint=did_you_mean(name, by_name),
            )
        if by_name[name].type.kind in FLOATS | NESTED:
            raise BergError(
                ErrorCode.TYPE,
                f"Column '{name}' is {by_name[name].type.kind.value} and cannot be part of a primary key.",
                span=key.span,
            )
    if len(set(key.columns)) < len(key.columns):
        raise BergError(ErrorCode.INVALID, "The primary key names a column twice.", span=key.span)
    return key.columns


def storable(type_: DataType) -> DataType:
    """The type of a table's column for a query's: what DuckDB alone has becomes what Iceberg has."""
    return DataType(Kind.DECIMAL, 38, 0) if type_.kind is Kind.HUGEINT else type_


def queried_schema(columns: Sequence[PlannedColumn], format_version: int, span: Span) -> Schema:
    """The schema of CREATE TABLE … AS: the columns of its query, all of them nullable."""
    ids = count(1)
    fields: list[NestedField] = []
    for column in columns:
        if not column.name:
            raise BergError(ErrorCode.INVALID, NAMELESS, span=span, hint="Give it one in the query with AS.")
        if any(f.name.casefold() == column.name.casefold() for f in fields):
            raise BergError(
                ErrorCode.ALREADY_EXISTS,
                f"The query has two columns named '{column.name}'.",
                span=span,
                hint="Give one of them another name with AS.",
            )
        try:
            field_id = next(ids)
            type_ = to_iceberg(storable(column.type), ids, format_version)
            fields.append(NestedField(field_id, column.name, type_, required=False))
        except BergError as error:
            error.message = f"Column '{column.name}' of the query: {error.message}"
            raise error.at(span) from None
    schema = Schema(0, tuple(fields))
    _check_full_names(schema, {})
    return schema


def declared_spec(schema: Schema, partitioning: Sequence[st.PartitionColumn], flavour: Flavour) -> PartitionSpec:
    """The partition spec of PARTITIONED BY.

    :raises BergError: at the member that does not fit the schema.
    """
    items: list[PartitionBy] = []
    for member in partitioning:
        items.append(partition_by(member.transform))
        try:
            build_spec(schema, items, case_sensitive=flavour is Flavour.FLINK)
        except BergError as error:
            raise error.at(member.transform.span) from None
    return build_spec(schema, items, case_sensitive=flavour is Flavour.FLINK)


def partition_by(written: st.Transform) -> PartitionBy:
    """A transform as written, as the table format's."""
    try:
        made = {"bucket": bucket, "truncate": truncate}.get(written.name)
        transform = Transform(TransformKind(written.name)) if made is None else made(written.width or 0)
    except BergError as error:
        raise error.at(written.span) from None
    return PartitionBy(written.column, transform, written.alias)


def sort_by(written: st.OrderBy) -> SortBy:
    """A key of WRITE ORDERED BY, as the table format's."""
    made = partition_by(written.transform)
    return SortBy(
        made.source,
        made.transform,
        DESC if written.descending else ASC,
        NULLS_LAST if written.nulls_last else NULLS_FIRST,
    )


def format_version_of(properties: Mapping[str, str], spans: Mapping[str, Span], default: int) -> int:
    """The value of 'format-version'; ``default`` where it is not given.

    :raises BergError: OPTION, at the option.
    """
    text = properties.get(FORMAT_VERSION)
    if text is None:
        return default
    try:
        return parse_format_version(text)
    except BergError as error:
        raise error.at(spans.get(FORMAT_VERSION)) from None
