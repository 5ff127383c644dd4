"""SQL for DuckDB that gives a field of the table from a column of a file, whatever their difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    FixedType,
    GeographyType,
    GeometryType,
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzNsType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.sql.type_names import duckdb_name, from_iceberg
from bergsql.engine.table.file_columns import fits_by_name, needs_help
from bergsql.engine.table.parquet_schema import UNWRAPPED, Node


def duckdb_type(kind: IcebergType) -> str:
    """DuckDB's name of a type."""
    return duckdb_name(from_iceberg(kind))


def default_sql(field: NestedField) -> str:
    """What a field is in files that were written before it was added."""
    if field.initial_default is None:
        return f"CAST(NULL AS {duckdb_type(field.type)})"
    return literal_sql(field.type, field.initial_default)


def value_sql(
    kind: IcebergType,
    node: Node,
    access: str,
    depth: int = 0,
    missing: Callable[[NestedField], str] = default_sql,
) -> str:
    """``access`` as a value of ``kind``, parts matched by field id. ``depth`` keeps nested lambdas apart.

    ``missing`` gives fields of structs, outside of lists and maps, that the file lacks. CORRUPT when the file holds
    another kind of value under the field's id.
    """
    if isinstance(kind, UnknownType):
        return f"CAST(NULL AS {duckdb_type(kind)})"
    if not kind.is_primitive and missing is default_sql and fits_by_name(node, kind):
        return f"CAST({access} AS {duckdb_type(kind)})"
    match kind, node.kind:
        case StructType(fields), "struct":
            # By place: names in a file need not differ in more than their case.
            places = {c.field_id: i for i, c in enumerate(node.children) if c.field_id is not None}
            packed = []
            for name, f in zip(distinct_names(f.name for f in fields), fields, strict=True):
                i = places.get(f.field_id)
                inner = (
                    missing(f)
                    if i is None
                    else value_sql(f.type, node.children[i], f"struct_extract_at({access}, {i + 1})", depth, missing)
                )
                packed.append(f"{identifier(name)} := {inner}")
            return f"CASE WHEN {access} IS NULL THEN NULL ELSE struct_pack({', '.join(packed)}) END"
        case ListType(), "list":
            item = f"v{depth}"
            given = f"struct_pack(x := {item})" if node.details == UNWRAPPED else item
            element = value_sql(kind.element, node.children[0], given, depth + 1)
            return f"list_transform({access}, lambda {item}: {element})"
        case MapType(), "map":
            item = f"v{depth}"
            key = value_sql(kind.key, node.children[0], f"struct_extract({item}, 'key')", depth + 1)
            value = value_sql(kind.value, node.children[1], f"struct_extract({item}, 'value')", depth + 1)
            pairs = f"list_transform(map_entries({access}), lambda {item}: struct_pack(k := {key}, v := {value}))"
            return f"CASE WHEN {access} IS NULL THEN NULL ELSE map_from_entries({pairs}) END"
        case VariantType(), "variant":
            return access
        case VariantType(), "struct":
            return _variant_sql(node, access)
        case _, "primitive" if kind.is_primitive:
            return _primitive_sql(kind, node, access)
    held = f"A data file holds '{node.name}' as a {node.kind}, but the table says {kind}."
    raise BergError(ErrorCode.CORRUPT, held)


def _variant_sql(node: Node, access: str) -> str:
    """A variant in a file that does not call it one, of two parts (Parquet's "Variant Binary Encoding")."""
    places = {c.name: i + 1 for i, c in enumerate(node.children)}
    if places.keys() != {"metadata", "value"}:
        raise not_supported(f"Reading the variant '{node.name}' in parts that no annotation explains")
    metadata, value = (f"struct_extract_at({access}, {places[part]})" for part in ("metadata", "value"))
    return f"variant_bytes_to_variant({metadata} || {value})"


def _primitive_sql(kind: IcebergType, node: Node, access: str) -> str:
    """``access`` cast to ``kind``; where the file says less than DuckDB needs for that, told how."""
    if needs_help(node, kind):
        match kind:
            case StringType():
                return f"decode({access})"
            case UUIDType():
                access = f"hex({access})"
            case _:  # a plain cast would shift by the session's time zone
                access = f"timezone('UTC', {access})"
    return f"CAST({access} AS {duckdb_type(kind)})"


def literal_sql(kind: IcebergType, json: Any) -> str:
    """A JSON single value (spec, Appendix D) as SQL."""
    if json is None:
        # A struct without fields has no name in SQL.
        return "struct_pack()" if kind == StructType(()) else f"CAST(NULL AS {duckdb_type(kind)})"
    match kind:
        case StructType(fields):
            parts = [
                f"{identifier(name)} := "
                + (literal_sql(f.type, json[str(f.field_id)]) if str(f.field_id) in json else default_sql(f))
                for name, f in zip(distinct_names(f.name for f in fields), fields, strict=True)
            ]
            return f"struct_pack({', '.join(parts)})"
        case ListType():
            items = ", ".join(literal_sql(kind.element, item) for item in json)
            return f"CAST([{items}] AS {duckdb_type(kind)})"
        case MapType():
            keys = ", ".join(literal_sql(kind.key, key) for key in json["keys"])
            values = ", ".join(literal_sql(kind.value, value) for value in json["values"])
            return f"CAST(map([{keys}], [{values}]) AS {duckdb_type(kind)})"
        case BinaryType() | FixedType() | GeometryType() | GeographyType():
            return f"unhex({string_literal(str(json))})"
    return f"CAST({string_literal(default_text(kind, json))} AS {duckdb_type(kind)})"


def default_text(kind: IcebergType, json: Any) -> str:
    """A primitive JSON single value as the text that DuckDB casts to its type."""
    if isinstance(kind, BinaryType | FixedType):
        return "".join(f"\\x{byte:02X}" for byte in bytes.fromhex(str(json)))
    if isinstance(json, bool):
        return "true" if json else "false"
    return str(json)


def constant_sql(kind: IcebergType, value: Any) -> str:
    """An internal value of a primitive type as SQL."""
    if value is None:
        return f"CAST(NULL AS {duckdb_type(kind)})"
    match kind:
        case DateType():
            return f"CAST(DATE '1970-01-01' + CAST({value} AS INTEGER) AS DATE)"
        case TimeType():
            return f"CAST(TIME '00:00:00' + to_microseconds({value}) AS TIME)"
        case TimestampType():
            return f"make_timestamp({value})"
        case TimestamptzType():
            return f"timezone('UTC', make_timestamp({value}))"
        case TimestampNsType():
            return f"make_timestamp_ns({value})"
        case TimestamptzNsType():
            return f"CAST(timezone('UTC', make_timestamp_ns({value})) AS {duckdb_type(kind)})"
        case BinaryType() | FixedType():
            return f"unhex({string_literal(value.hex())})"
    return f"CAST({string_literal(str(value))} AS {duckdb_type(kind)})"
