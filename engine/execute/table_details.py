"""What there is to tell of a table beyond its columns: DESCRIBE EXTENDED, PARTITION, AS JSON; SHOW TABLE EXTENDED."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.types import NestedField, StructType
from bergsql.catalog.secrets import mask_value
from bergsql.engine.definitions import Found, View, find
from bergsql.engine.execute.layout_text import partition_terms
from bergsql.engine.execute.partitions import Partition, matching, partitions_of
from bergsql.engine.execute.show_create import shown_properties
from bergsql.engine.names import TableName, connector_of, load
from bergsql.engine.plan.explain import size_text
from bergsql.engine.result import Result, listing
from bergsql.engine.sql import statements as st
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.type_names import from_iceberg, spark_name
from bergsql.engine.sql.types import DataType, Kind

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.session import Session

Pairs = list[tuple[str, str]]

_BLANK = ("", "")


def extended(session: Session, name: st.Name) -> Pairs:
    """The pairs below the columns in DESCRIBE EXTENDED: Spark's metadata columns, then the table as a whole."""
    found = find(session, name.parts, name.span)
    if found is not None:
        return [_BLANK, ("# Detailed Table Information", ""), *_of_definition(found)]
    _, table = load(session, name, states=True)
    pairs: Pairs = []
    if session.flavour is Flavour.SPARK:
        pairs += [_BLANK, ("# Metadata Columns", ""), *_metadata_columns(table.metadata)]
    else:
        terms = partition_terms(table.metadata.schema, table.metadata.spec, Flavour.FLINK)
        if terms:
            pairs += [_BLANK, ("# Partitioning", ""), *((f"Part {n}", term) for n, term in enumerate(terms))]
    return [*pairs, _BLANK, ("# Detailed Table Information", ""), *_of_table(table)]


def _metadata_columns(metadata: TableMetadata) -> Pairs:
    """What every row has beside the table's columns, as Iceberg's Spark reader calls it."""
    fields: dict[int, NestedField] = {}
    for spec in sorted(metadata.specs, key=lambda s: -s.spec_id):
        for field in spec.partition_type(metadata.schema).fields:
            fields.setdefault(field.field_id, field)
    partition = StructType(tuple(fields[field_id] for field_id in sorted(fields)))
    return [
        ("_spec_id", "int"),
        ("_partition", spark_name(from_iceberg(partition))),
        ("_file", "string"),
        ("_pos", "bigint"),
        ("_deleted", "boolean"),
        ("_row_id", "bigint"),
        ("_last_updated_sequence_number", "bigint"),
    ]


def _of_table(table: LoadedTable) -> Pairs:
    metadata = table.metadata
    properties = shown_properties(metadata)
    pairs = [("Name", table.full_name), ("Type", "MANAGED")]
    comment, owner = metadata.properties.get("comment"), metadata.properties.get("owner")
    if comment:
        pairs.append(("Comment", comment))
    pairs += [("Location", mask_value("location", metadata.location)), ("Provider", "iceberg")]
    if owner:
        pairs.append(("Owner", owner))
    return [*pairs, ("Table Properties", _bracketed(properties))]


def _of_definition(found: Found) -> Pairs:
    pairs = [("Name", str(found))]
    definition = found.definition
    if isinstance(definition, View):
        pairs += [("Type", "VIEW"), ("View Text", definition.text)]
        pairs += [("View Catalog and Namespace", ".".join((definition.catalog, *definition.namespace)))]
        properties = dict(definition.properties)
    else:
        pairs += [("Type", "CONNECTOR"), ("Provider", connector_of(definition))]
        properties = {option.key: option.value for option in definition.properties}
    if definition.comment:
        pairs.append(("Comment", definition.comment))
    if found.temporary:
        pairs.append(("Temporary", "true"))
    return [*pairs, ("Table Properties", _bracketed(properties))]


def _bracketed(properties: dict[str, str]) -> str:
    return "[" + ",".join(f"{k}={mask_value(k, v)}" for k, v in sorted(properties.items())) + "]"


# --- one partition ---------------------------------------------------------------------------------------------------


def partition_pairs(session: Session, statement: st.Describe, wanted: st.PartitionFilter) -> Pairs:
    """The pairs below the columns in DESCRIBE t PARTITION (…).

    :raises BergError: NOT_FOUND when no data is in such a partition.
    """
    name, table = load(session, statement.name)
    found = matching(table, partitions_of(table, name.catalog.storage(table.metadata.location)), wanted)
    if not found:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"Table {name} has no such partition.",
            span=wanted.span,
            hint=f"SHOW PARTITIONS {statement.name}; lists them.",
        )
    return [_BLANK, ("# Detailed Partition Information", ""), *_of_partitions(found)]


def _of_partitions(found: list[Partition]) -> Pairs:
    return [
        *(("Partition Values", f"[{', '.join(p.path.split('/'))}]") for p in found),
        ("Record Count", str(sum(p.records for p in found))),
        ("File Count", str(sum(p.files for p in found))),
        ("Size", size_text(sum(p.size for p in found))),
    ]


# --- SHOW TABLE EXTENDED ---------------------------------------------------------------------------------------------


def information(name: TableName, found: Found | None, wanted: st.PartitionFilter | None) -> str | None:
    """All that there is to tell of a table or view, a line each; None if it has no such partition."""
    if found is not None:
        return _lines(_of_definition(found)[1:]) if wanted is None else None
    try:
        table = name.catalog.load_table(name.ident)
    except BergError as error:
        # One table that was dropped meanwhile, or is damaged, must not hide the others.
        return None if error.code is ErrorCode.NOT_FOUND else f"Cannot be read: {error.message}\n"
    if wanted is not None:
        held = partitions_of(table, name.catalog.storage(table.metadata.location))
        matched = matching(table, held, wanted)
        return _lines(_of_partitions(matched)) if matched else None
    snapshot = table.metadata.current_snapshot()
    summary = snapshot.summary if snapshot is not None else {}
    size, rows = summary.get("total-files-size", "0"), summary.get("total-records", "0")
    schema = [
        f" |-- {f.name}: {spark_name(from_iceberg(f.type))} (nullable = {str(not f.required).lower()})"
        for f in table.metadata.schema.fields
    ]
    pairs = [*_of_table(table)[1:], ("Statistics", f"{size} bytes, {rows} rows"), ("Schema", "root")]
    return _lines(pairs) + "\n".join(schema) + "\n"


def _lines(pairs: Pairs) -> str:
    return "".join(f"{key}: {value}\n" for key, value in pairs)


# --- AS JSON ---------------------------------------------------------------------------------------------------------


def as_json(session: Session, statement: st.Describe) -> Result:
    """Spark 4's ``DESCRIBE [EXTENDED] t AS JSON``: one JSON object."""
    if find(session, statement.name.parts, statement.name.span) is not None:
        raise not_supported("DESCRIBE … AS JSON of a view or a connector table", statement.name.span)
    name, table = load(session, statement.name)
    metadata = table.metadata
    told: dict[str, Any] = {
        "table_name": name.ident.name,
        "catalog_name": name.catalog.name,
        "namespace": list(name.ident.namespace),
        "schema_name": ".".join(name.ident.namespace),
        "columns": [_column_json(f) for f in metadata.schema.fields],
    }
    terms = partition_terms(metadata.schema, metadata.spec, Flavour.SPARK)
    if terms:
        told["partitioning"] = terms
    if statement.extended:
        properties = shown_properties(metadata)
        told |= {"type": "MANAGED", "provider": "iceberg", "location": mask_value("location", metadata.location)}
        if comment := metadata.properties.get("comment"):
            told["comment"] = comment
        if owner := metadata.properties.get("owner"):
            told["owner"] = owner
        told["table_properties"] = {k: mask_value(k, v) for k, v in sorted(properties.items())}
    return listing(("json_metadata",), [(json.dumps(told, ensure_ascii=False, separators=(",", ":")),)])


def _column_json(field: NestedField) -> dict[str, Any]:
    column = {"name": field.name, "type": _type_json(from_iceberg(field.type)), "nullable": not field.required}
    return {**column, "comment": field.doc} if field.doc else column


def _type_json(type_: DataType) -> dict[str, Any]:
    children = type_.children
    match type_.kind:
        case Kind.ARRAY:
            element = children[0]
            return {
                "name": "array",
                "element_type": _type_json(element.type),
                "element_nullable": element.nullable,
            }
        case Kind.MAP:
            key, value = children
            return {
                "name": "map",
                "key_type": _type_json(key.type),
                "value_type": _type_json(value.type),
                "value_nullable": value.nullable,
            }
        case Kind.ROW:
            fields = [{"name": c.name, "type": _type_json(c.type), "nullable": c.nullable} for c in children]
            return {"name": "struct", "fields": fields}
        case Kind.DECIMAL:
            return {"name": "decimal", "precision": type_.precision, "scale": type_.scale}
        case _:
            return {"name": spark_name(type_)}
