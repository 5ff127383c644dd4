"""Which column of a data file is which field of the table (spec, "Column Projection" and "Name Mapping")."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import (
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
    UnknownType,
    UUIDType,
    VariantType,
    children,
    walk,
)
from bergsql.engine.table.parquet_schema import BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY, INT96, Node

NAME_MAPPING = "schema.name-mapping.default"


@dataclass(frozen=True, slots=True)
class MappedName:
    """What a name in a file stands for; ``parts`` by name for what is nested in it."""

    field_id: int | None
    parts: Mapping[str, MappedName]


def name_mapping(properties: Mapping[str, str]) -> Mapping[str, MappedName] | None:
    """The table's name mapping; None if it has none. CORRUPT when it is not the JSON it should be."""
    text = properties.get(NAME_MAPPING)
    return None if text is None else _parse_mapping(text)


@lru_cache(maxsize=16)
def _parse_mapping(text: str) -> Mapping[str, MappedName]:
    try:
        return _mapped(json.loads(text))
    except (ValueError, TypeError, AttributeError, KeyError, OverflowError, RecursionError) as e:
        raise BergError(ErrorCode.CORRUPT, f"The table property '{NAME_MAPPING}' is not a name mapping.") from e


def _mapped(items: list[dict[str, Any]]) -> Mapping[str, MappedName]:
    found = {}
    for item in items:
        number = item.get("field-id")
        mapped = MappedName(None if number is None else int(number), _mapped(item.get("fields") or []))
        for name in item["names"]:
            found[str(name)] = mapped
    return found


def mapping_by_name(fields: Sequence[NestedField]) -> Mapping[str, MappedName]:
    """The mapping of the fields' own names."""
    return {f.name: MappedName(f.field_id, mapping_by_name(children(f.type))) for f in fields}


def identify(
    columns: tuple[Node, ...],
    file_format: str,
    mapping: Mapping[str, MappedName] | None,
    fields: Sequence[NestedField],
) -> tuple[Node, ...]:
    """The columns of a file with the ids of the table's ``fields``; the very same ones where it has them itself.

    As Iceberg's Java: a file that has ids keeps them (and a mapping gives Avro files' other parts theirs); one without
    any takes those of the mapping. Where there is none either, Avro and ORC files go by the fields' names; the first
    column of a Parquet file is the field 1, and so on, and only what is nested in it goes by name.
    """
    if any(c.has_ids() for c in columns):
        if file_format == "AVRO" and mapping is not None:
            return tuple(_by_name(c, mapping, keep=True) for c in columns)
        return columns
    if mapping is None and file_format == "PARQUET":
        inside = {f.field_id: mapping_by_name(children(f.type)) for f in fields}
        return tuple(_with_parts(replace(c, field_id=i), inside.get(i, {}), False) for i, c in enumerate(columns, 1))
    known = mapping_by_name(fields) if mapping is None else mapping
    return tuple(_by_name(c, known) for c in columns)


def _by_name(node: Node, mapping: Mapping[str, MappedName], keep: bool = False) -> Node:
    """``node`` with the ids of the mapping, or with those that it lacks if it is to ``keep`` its own."""
    mapped = mapping.get(node.name, MappedName(None, {}))
    kept = keep and node.field_id is not None
    return _with_parts(node if kept else replace(node, field_id=mapped.field_id), mapped.parts, keep)


def _with_parts(node: Node, mapping: Mapping[str, MappedName], keep: bool) -> Node:
    if not node.children:
        return node
    if node.kind == "struct":
        parts = tuple(_by_name(c, mapping, keep) for c in node.children)
    else:
        # A mapping calls them element, key and value, whatever the file calls them.
        names = ("element",) if node.kind == "list" else ("key", "value")
        parts = tuple(
            replace(_by_name(replace(c, name=n), mapping, keep), name=c.name)
            for n, c in zip(names, node.children, strict=True)
        )
    return replace(node, children=parts)


def fits_by_name(node: Node, kind: IcebergType) -> bool:
    """Whether matching the parts of a column by their names, as DuckDB does, gives what matching by ids would.

    DuckDB matches without regard to case, and then keeps the file's names: those must be the table's.
    """
    match kind:
        case StructType(fields):
            if node.kind != "struct":
                return False
            names = {f.name.lower(): f for f in fields}
            if len({c.name.lower() for c in node.children}) < len(node.children) or len(names) < len(fields):
                return False
            there = {c.field_id for c in node.children}
            if not there & {f.field_id for f in fields}:
                return False  # DuckDB casts no struct to one that shares no name with it
            if any(f.initial_default is not None for f in fields if f.field_id not in there):
                return False
            return all(_part_fits(c, names.get(c.name.lower())) for c in node.children) and all(
                f.field_id not in there or _named(node, f) for f in fields
            )
        case ListType():
            return node.kind == "list" and not node.details and fits_by_name(node.children[0], kind.element)
        case MapType():
            return (
                node.kind == "map"
                and fits_by_name(node.children[0], kind.key)
                and fits_by_name(node.children[1], kind.value)
            )
        case VariantType():
            return node.kind == "variant"
        case UnknownType():
            return False  # whatever the file holds, it is NULL
    return node.kind == "primitive" and not needs_help(node, kind)


def needs_help(node: Node, kind: IcebergType) -> bool:
    """Whether DuckDB's own cast of a primitive would give another value than the table means."""
    match kind:
        case StringType():
            return node.physical == BYTE_ARRAY and not node.annotated
        case UUIDType():
            return node.physical == FIXED_LEN_BYTE_ARRAY and not node.annotated
        case TimestamptzType() | TimestamptzNsType():
            return node.physical == INT96 or node.utc is False
        case TimestampType() | TimestampNsType():
            return node.utc is True
    return False


def _part_fits(part: Node, named: NestedField | None) -> bool:
    return named is None or (named.field_id == part.field_id and fits_by_name(part, named.type))


def _named(node: Node, field: NestedField) -> bool:
    part = next(c for c in node.children if c.field_id == field.field_id)
    return part.name == field.name


def must_be_looked_at(wanted: NestedField) -> bool:
    """Whether files that hold the field, or lack it, may need help of a kind that only their schema tells."""
    return (wanted.initial_default is not None and not wanted.type.is_primitive) or any(
        isinstance(f.type, StructType | UUIDType | VariantType | UnknownType) for f in walk((wanted,))
    )
