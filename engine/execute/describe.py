"""DESCRIBE of tables, views and queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import Span
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.engine.definitions import Found, View, find
from bergsql.engine.execute.connector_text import connector_rows
from bergsql.engine.execute.default_text import default_sql
from bergsql.engine.execute.given_columns import given_columns, view_columns
from bergsql.engine.execute.layout_text import partition_terms
from bergsql.engine.names import load, metadata_table
from bergsql.engine.plan.relations import IcebergRelation, ViewRelation
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Column, Result, ResultKind, Row, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import (
    flink_name,
    from_iceberg,
    spark_name,
)
from bergsql.engine.sql.types import BOOLEAN, STRING

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.engine.session import Session


def describe(session: Session, statement: st.Describe) -> Result:
    """DESCRIBE of a table or a view, of one of its columns or of one of its partitions."""
    if statement.column is not None:
        from bergsql.engine.execute.columns import describe_column

        return describe_column(session, statement.name, statement.column)
    if not (statement.as_json or statement.partition or statement.extended):
        return columns(session, statement.name)
    from bergsql.engine.execute import table_details

    if statement.as_json:
        return table_details.as_json(session, statement)
    listed = columns(session, statement.name)
    pairs = (
        table_details.partition_pairs(session, statement, statement.partition)
        if statement.partition
        else table_details.extended(session, statement.name)
    )
    width = len(listed.columns)
    below = [(*pair, "") if width == 3 else (*pair, *[None] * (width - 2)) for pair in pairs]
    return Result(listed.kind, listed.columns, [[*listed.rows(), *below]])


def describe_query(session: Session, statement: st.DescribeQuery) -> Result:
    """``DESCRIBE QUERY …``: the columns that a query gives."""
    found = given_columns(statement.query, SessionRelations(session))
    if session.flavour is Flavour.SPARK:
        return listing(("col_name", "data_type", "comment"), [(c.name, spark_name(c.type), None) for c in found])
    return flink_columns([(c.name, flink_name(c.type), c.nullable, None, None, None, None) for c in found])


def columns(session: Session, name: st.Name) -> Result:
    """The columns of a table or a view, as the flavour's own client lists them."""
    found = find(session, name.parts, name.span)
    if found is not None:
        if isinstance(found.definition, View):
            return _describe_view(session, found, found.definition, name.span)
        return flink_columns(connector_rows(session, found, found.definition))
    part = metadata_table(session, name)
    if part is not None:
        return _describe_metadata_table(session, part, name.span)
    _, table = load(session, name, declared=True, states=True)
    metadata = table.metadata
    if session.flavour is Flavour.SPARK:
        return _describe_spark(metadata)
    return flink_columns([flink_row(metadata.schema, f.name, f) for f in metadata.schema.fields])


def flink_row(schema: Schema, name: str, field: NestedField) -> Row:
    """A column, or a field within one, as Flink describes it; ``name`` is its full name."""
    keys = schema.identifier_names
    key = f"PRI({', '.join(keys)})" if name in keys else None
    default = None if field.write_default is None else f"DEFAULT {default_sql(field, Flavour.FLINK)}"
    return (name, flink_name(from_iceberg(field.type)), not field.required, key, default, None, field.doc)


def flink_columns(rows: Sequence[Row]) -> Result:
    """Columns as Flink describes them; that of comments is there when there is a comment."""
    names = ("name", "type", "null", "key", "extras", "watermark", "comment")
    columns = [Column(name, BOOLEAN if name == "null" else STRING) for name in names]
    if any(row[-1] for row in rows):
        return Result(ResultKind.LISTING, tuple(columns), [list(rows)])
    return Result(ResultKind.LISTING, tuple(columns[:-1]), [[row[:-1] for row in rows]])


def _describe_view(session: Session, found: Found, view: View, span: Span) -> Result:
    """A view's columns, with the types that its query gives now."""
    relation = SessionRelations(session).resolve(found.parts, span)
    columns = view_columns(relation, span) if isinstance(relation, ViewRelation) else ()
    if session.flavour is Flavour.SPARK:
        rows = [(c.name, spark_name(c.type), doc) for c, doc in zip(columns, view.comments, strict=True)]
        return listing(("col_name", "data_type", "comment"), list(rows))
    return flink_columns(
        [
            (c.name, flink_name(c.type), c.nullable, None, None, None, doc)
            for c, doc in zip(columns, view.comments, strict=True)
        ]
    )


def _describe_metadata_table(session: Session, part: IcebergRelation, span: Span) -> Result:
    from bergsql.engine.plan.metadata_tables import fields_of

    fields = fields_of(part, span)
    if session.flavour is Flavour.SPARK:
        return listing(("col_name", "data_type", "comment"), [_spark_row(f) for f in fields])
    return flink_columns([_flink_row(f) for f in fields])


def _spark_row(field: NestedField) -> Row:
    return (field.name, spark_name(from_iceberg(field.type)), field.doc)


def _flink_row(field: NestedField) -> Row:
    """Without the comment, as in Flink."""
    return (field.name, flink_name(from_iceberg(field.type)), not field.required, None, None, None, None)


def _describe_spark(metadata: TableMetadata) -> Result:
    rows: list[Row] = [_spark_row(f) for f in metadata.schema.fields]
    live = [f for f in metadata.spec.fields if f.transform.kind is not TransformKind.VOID]
    if live and all(f.transform.kind is TransformKind.IDENTITY for f in live):
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment")]
        for part in live:
            source = metadata.schema.field(part.source_id)
            if source is not None:
                name = metadata.schema.name_of(part.source_id) or source.name
                rows.append((name, spark_name(from_iceberg(source.type)), source.doc))
    elif live:
        rows += [("", "", ""), ("# Partitioning", "", "")]
        parts = partition_terms(metadata.schema, metadata.spec, Flavour.SPARK)
        rows += [(f"Part {i}", term, "") for i, term in enumerate(parts)]
    defaults = [f for f in metadata.schema.fields if f.write_default is not None]
    if defaults:
        rows += [("", "", ""), ("# Column Default Values", "", "")]
        rows += [(f.name, spark_name(from_iceberg(f.type)), default_sql(f, Flavour.SPARK)) for f in defaults]
    return listing(("col_name", "data_type", "comment"), rows)
