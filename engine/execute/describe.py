"""DESCRIBE, SHOW CREATE TABLE and SHOW TBLPROPERTIES."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.catalog.metadata.transforms import TransformKind
from bergsql.catalog.secrets import mask_value
from bergsql.engine.definitions import Found, Pointer, View, find, pointer_named
from bergsql.engine.execute.connector_text import connector_rows, create_connector_text
from bergsql.engine.execute.default_text import default_sql
from bergsql.engine.execute.options import option_text
from bergsql.engine.execute.table_definition import SORT_ORDER
from bergsql.engine.names import TableName, load
from bergsql.engine.plan.query import query_columns
from bergsql.engine.plan.relations import ViewRelation
from bergsql.engine.plan.views import view_columns
from bergsql.engine.relations import SessionRelations
from bergsql.engine.result import Column, Result, ResultKind, Row, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, flink_text, spark_identifier, spark_text
from bergsql.engine.sql.type_names import (
    flink_create_name,
    flink_name,
    from_iceberg,
    spark_create_name,
    spark_name,
)
from bergsql.engine.sql.types import BOOLEAN, STRING

if TYPE_CHECKING:
    from bergsql.catalog.metadata.partition import PartitionSpec
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.sort import SortOrder
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
    found = query_columns(statement.query, SessionRelations(session))
    if session.flavour is Flavour.SPARK:
        return listing(("col_name", "data_type", "comment"), [(c.name, spark_name(c.type), None) for c in found])
    return flink_columns([(c.name, flink_name(c.type), c.nullable, None, None, None, None) for c in found])


def columns(session: Session, name: st.Name) -> Result:
    """The columns of a table or a view, as the flavour's own client lists them."""
    found = find(session, name.parts, name.span)
    if found is not None:
        if isinstance(found.definition, View):
            return _describe_view(session, found, found.definition, name.span)
        return flink_columns(connector_rows(session, found.definition))
    _, table = load(session, name)
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


def _describe_spark(metadata: TableMetadata) -> Result:
    rows: list[Row] = [(f.name, spark_name(from_iceberg(f.type)), f.doc) for f in metadata.schema.fields]
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


def partition_terms(schema: Schema, spec: PartitionSpec, flavour: Flavour) -> list[str]:
    """The members of PARTITIONED BY that would make ``spec`` again."""
    quote = flink_identifier if flavour is Flavour.FLINK else spark_identifier
    terms = []
    for part in spec.fields:
        column = ".".join(map(quote, _path(schema, part.source_id)))
        transform = part.transform
        match transform.kind:
            case TransformKind.VOID:
                continue
            case TransformKind.IDENTITY:
                terms.append(column)
            case TransformKind.BUCKET | TransformKind.TRUNCATE:
                terms.append(f"{transform.kind}({transform.width}, {column})")
            case kind:
                terms.append(f"{kind}s({column})")
    return terms


def order_text(schema: Schema, order: SortOrder) -> str:
    """A sort order as Spark lists it among the properties: ``id DESC NULLS LAST, truncate(s, 2) ASC NULLS FIRST``."""
    keys = []
    for key in order.fields:
        column = ".".join(map(spark_identifier, _path(schema, key.source_id)))
        transform = key.transform
        match transform.kind:
            case TransformKind.IDENTITY:
                term = column
            case TransformKind.BUCKET:
                term = f"bucket({transform.width}, {column})"
            case TransformKind.TRUNCATE:
                term = f"truncate({column}, {transform.width})"
            case kind:
                term = f"{kind}s({column})"
        keys.append(f"{term} {key.direction.upper()} {key.null_order.upper().replace('-', ' ')}")
    return ", ".join(keys)


def _path(schema: Schema, field_id: int) -> list[str]:
    """The names of a column and of the fields in it, down to the one with this id: a name may hold dots."""
    field = schema.field(field_id)
    names: list[str] = []
    while field is not None:
        names.insert(0, field.name)
        field = schema.parent_of(field.field_id)
    return names or ["?"]


def show_create(session: Session, statement: st.ShowCreateTable) -> Result:
    """The statement that would make the table again, in the session's flavour; secrets masked."""
    found = find(session, statement.name.parts, statement.name.span)
    if found is not None:
        if isinstance(found.definition, View):
            return _show_create_view(session, found, statement)
        return listing(("result",), [(create_connector_text(found, found.definition),)])
    pointer = pointer_named(session, statement.name.parts, statement.name.span)
    if pointer is not None:
        return listing(("result",), [(_create_pointer(pointer),)])
    name, table = load(session, statement.name)
    if session.flavour is Flavour.SPARK:
        return listing(("createtab_stmt",), [(_create_spark(name, table.metadata),)])
    return listing(("result",), [(_create_flink(name, table.metadata),)])


def _show_create_view(session: Session, found: Found, statement: st.ShowCreateTable) -> Result:
    from bergsql.engine.execute.view_text import create_view

    if session.flavour is Flavour.SPARK:
        return listing(("createtab_stmt",), [(create_view(found, session.flavour),)])
    raise BergError(
        ErrorCode.INVALID,
        f"{found} is a view, not a table.",
        span=statement.name.span,
        hint=f"SHOW CREATE VIEW {statement.name}; shows how it is made.",
    )


def _create_pointer(pointer: Pointer) -> str:
    statement, parts = pointer.statement, pointer.target.parts
    if any(o.key == "connector" for o in statement.properties):
        return create_connector_text(Found(parts, statement, statement.temporary), statement)
    name = ".".join(map(flink_identifier, parts))
    return f"CREATE EXTERNAL TABLE {name}\nSTORED BY ICEBERG\nLOCATION {flink_text(statement.location or '')}\n"


def _create_flink(name: TableName, metadata: TableMetadata) -> str:
    schema = metadata.schema
    lines = []
    for f in schema.fields:
        line = f"  {flink_identifier(f.name)} {flink_create_name(from_iceberg(f.type))}"
        line += " NOT NULL" if f.required else ""
        line += f" DEFAULT {default_sql(f, Flavour.FLINK)}" if f.write_default is not None else ""
        line += f" COMMENT {flink_text(f.doc)}" if f.doc else ""
        lines.append(line)
    if schema.identifier_names:
        lines.append(f"  PRIMARY KEY ({', '.join(map(flink_identifier, schema.identifier_names))}) NOT ENFORCED")
    out = f"CREATE TABLE {'.'.join(map(flink_identifier, name.parts))} (\n" + ",\n".join(lines) + "\n)\n"
    properties = dict(metadata.properties)
    comment = properties.pop("comment", None)
    if comment is not None:
        out += f"COMMENT {flink_text(comment)}\n"
    terms = partition_terms(schema, metadata.spec, Flavour.FLINK)
    if terms:
        out += f"PARTITIONED BY ({', '.join(terms)})\n"
    properties["format-version"] = str(metadata.format_version)
    if not metadata.sort_order.is_unsorted:
        properties[SORT_ORDER] = order_text(metadata.schema, metadata.sort_order)
    return out + "WITH (\n" + option_text(properties, flink_text) + "\n)\n"


def _create_spark(name: TableName, metadata: TableMetadata) -> str:
    lines = []
    for f in metadata.schema.fields:
        line = f"  {spark_identifier(f.name)} {spark_create_name(from_iceberg(f.type))}"
        line += " NOT NULL" if f.required else ""
        line += f" DEFAULT {default_sql(f, Flavour.SPARK)}" if f.write_default is not None else ""
        line += f" COMMENT {spark_text(f.doc)}" if f.doc else ""
        lines.append(line)
    out = f"CREATE TABLE {'.'.join(map(spark_identifier, name.parts))} (\n" + ",\n".join(lines) + ")\nUSING iceberg\n"
    terms = partition_terms(metadata.schema, metadata.spec, Flavour.SPARK)
    if terms:
        out += f"PARTITIONED BY ({', '.join(terms)})\n"
    comment = metadata.properties.get("comment")
    if comment is not None:
        out += f"COMMENT {spark_text(comment)}\n"
    out += f"LOCATION {spark_text(mask_value('location', metadata.location))}\n"
    properties = shown_properties(metadata)
    return out + "TBLPROPERTIES (\n" + option_text(properties, spark_text) + ")\n"


def shown_properties(metadata: TableMetadata) -> dict[str, str]:
    """A table's properties and what Spark lists with them."""
    file_format = metadata.properties.get("write.format.default", "parquet")
    snapshot = metadata.current_snapshot_id
    key, order = metadata.schema.identifier_names, metadata.sort_order
    return {
        **{k: v for k, v in metadata.properties.items() if k != "comment"},  # which has a place of its own
        **({"identifier-fields": f"[{','.join(key)}]"} if key else {}),
        **({} if order.is_unsorted else {SORT_ORDER: order_text(metadata.schema, order)}),
        "current-snapshot-id": "none" if snapshot is None else str(snapshot),
        "format": f"iceberg/{file_format}",
        "format-version": str(metadata.format_version),
    }


def show_properties(session: Session, statement: st.ShowTableProperties) -> Result:
    """``SHOW TBLPROPERTIES t [('key')]``, of a table or a view."""
    found = find(session, statement.name.parts, statement.name.span)
    name: TableName | Found
    if found is not None and isinstance(found.definition, View):
        name, properties = found, dict(found.definition.properties)
    else:
        name, table = load(session, statement.name)
        properties = shown_properties(table.metadata)
    if statement.key is None:
        return listing(("key", "value"), [(k, mask_value(k, v)) for k, v in sorted(properties.items())])
    value = properties.get(statement.key)
    shown = f"Table {name} does not have property: {statement.key}" if value is None else value
    return listing(("key", "value"), [(statement.key, mask_value(statement.key, shown))])
