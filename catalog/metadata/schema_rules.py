"""What a schema must be for a table of a format version to have it."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import (
    DoubleType,
    FloatType,
    GeographyType,
    GeometryType,
    ListType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestamptzNsType,
    UnknownType,
    VariantType,
    children,
    walk,
)

_SINCE_V3 = (TimestampNsType, TimestamptzNsType, UnknownType, VariantType, GeometryType, GeographyType)


NAMELESS = "A column of a table needs a name."


def check_schema(schema: Schema, format_version: int) -> None:
    """Refuse repeated names and ids, types and defaults the format version lacks, and keys that are none."""
    _check_names(schema.fields, "")
    check_full_names(schema)
    seen: set[int] = set()
    for f in walk(schema.fields):
        if f.field_id in seen:
            raise BergError(ErrorCode.INVALID, f"Two columns have the field id {f.field_id}.")
        seen.add(f.field_id)
        name = schema.name_of(f.field_id) or f.name
        if format_version < 3 and isinstance(f.type, _SINCE_V3):
            raise BergError(
                ErrorCode.INVALID,
                f"Column '{name}': the type {f.type} needs format version 3, the table has {format_version}.",
                hint="Create the table with 'format-version'='3'.",
            )
        if format_version < 3 and f.initial_default is not None:
            raise BergError(
                ErrorCode.INVALID,
                f"Column '{name}': a default needs format version 3, the table has {format_version}.",
            )
    check_key(schema)


def check_key(schema: Schema) -> None:
    """Refuse a key with a column that cannot be part of one."""
    for field_id in schema.identifier_field_ids:
        _check_identifier(schema, field_id)


def check_full_names(schema: Schema) -> None:
    """Refuse a column `a.b` beside a struct a with a field b: the table format finds fields by their full names."""
    name = ambiguous_name(schema)
    if name is not None:
        raise BergError(ErrorCode.INVALID, f"'{name}' is both a column and a field of a struct.")


def ambiguous_name(schema: Schema) -> str | None:
    """A full name that two fields have, if there is one."""
    for f in walk(schema.fields):
        name = schema.name_of(f.field_id) or f.name
        found = schema.find(name)
        if found is not None and found.field_id != f.field_id:
            return name
    return None


def _check_names(fields: tuple[NestedField, ...], prefix: str) -> None:
    names: set[str] = set()
    for f in fields:
        if f.name in names:
            raise BergError(ErrorCode.INVALID, f"There is more than one column '{prefix}{f.name}'.")
        names.add(f.name)
        _check_names(children(f.type), f"{prefix}{f.name}.")


def _check_identifier(schema: Schema, field_id: int) -> None:
    f = schema.field(field_id)
    if f is None:
        raise BergError(ErrorCode.INVALID, f"The key names the field {field_id}, which the table does not have.")
    name = schema.name_of(field_id)
    reason = None
    if not f.type.is_primitive:
        reason = f"{f.type} is not a primitive type"
    elif isinstance(f.type, FloatType | DoubleType):
        reason = f"{f.type} values cannot be compared safely"
    elif not f.required:
        reason = "it may be NULL"
    parent = schema.parent_of(field_id)
    while parent is not None and reason is None:
        if isinstance(parent.type, ListType | MapType):
            reason = "it is inside a list or map"
        elif isinstance(parent.type, StructType) and not parent.required:
            reason = f"its parent '{schema.name_of(parent.field_id)}' may be NULL"
        parent = schema.parent_of(parent.field_id)
    if reason is not None:
        raise BergError(ErrorCode.INVALID, f"Column '{name}' cannot be part of the key: {reason}.")
