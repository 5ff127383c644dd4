"""SHOW CREATE TABLE and SHOW TBLPROPERTIES."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.secrets import mask_value
from bergsql.engine.definitions import Found, Pointer, View, find, pointer_named
from bergsql.engine.execute.connector_text import create_connector_text
from bergsql.engine.execute.default_text import default_sql
from bergsql.engine.execute.layout_text import order_text, partition_terms
from bergsql.engine.execute.options import option_text
from bergsql.engine.execute.table_definition import SORT_ORDER
from bergsql.engine.names import TableName, load
from bergsql.engine.result import Result, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.quoting import flink_identifier, flink_text, spark_identifier, spark_text
from bergsql.engine.sql.type_names import flink_create_name, from_iceberg, spark_create_name

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.session import Session


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
    name, table = load(session, statement.name, states=True)
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


def _column_lines(schema: Schema, flavour: Flavour) -> list[str]:
    """The columns as CREATE TABLE declares them, one a line."""
    if flavour is Flavour.FLINK:
        quote, type_name, text = flink_identifier, flink_create_name, flink_text
    else:
        quote, type_name, text = spark_identifier, spark_create_name, spark_text
    lines = []
    for f in schema.fields:
        line = f"  {quote(f.name)} {type_name(from_iceberg(f.type))}"
        line += " NOT NULL" if f.required else ""
        line += f" DEFAULT {default_sql(f, flavour)}" if f.write_default is not None else ""
        line += f" COMMENT {text(f.doc)}" if f.doc else ""
        lines.append(line)
    return lines


def _create_flink(name: TableName, metadata: TableMetadata) -> str:
    schema = metadata.schema
    lines = _column_lines(schema, Flavour.FLINK)
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
    lines = _column_lines(metadata.schema, Flavour.SPARK)
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


_ELSEWHERE = ("comment", "owner")
"""Properties that Spark shows in places of their own: the comment in CREATE TABLE, both in DESCRIBE EXTENDED."""


def shown_properties(metadata: TableMetadata) -> dict[str, str]:
    """A table's properties and what Spark lists with them."""
    file_format = metadata.properties.get("write.format.default", "parquet")
    snapshot = metadata.current_snapshot_id
    key, order = metadata.schema.identifier_names, metadata.sort_order
    return {
        **{k: v for k, v in metadata.properties.items() if k not in _ELSEWHERE},
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
        name, table = load(session, statement.name, states=True)
        properties = shown_properties(table.metadata)
    if statement.key is None:
        return listing(("key", "value"), [(k, mask_value(k, v)) for k, v in sorted(properties.items())])
    value = properties.get(statement.key)
    shown = f"Table {name} does not have property: {statement.key}" if value is None else value
    return listing(("key", "value"), [(statement.key, mask_value(statement.key, shown))])
