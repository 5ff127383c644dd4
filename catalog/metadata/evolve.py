"""Changing a schema: each function gives a new schema and leaves the old one alone.

A column is named by its path, ``("address", "city")``; inside lists and maps ``element``, ``key`` and ``value`` may be
left out where a struct follows. Ids never change and are never given twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.catalog.metadata.field_ids import assign_field_ids
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StructType,
    TimestampNsType,
    TimestampType,
    UnknownType,
    walk,
)

FIRST = ""
"""As the column to stand after: in front of all others."""

Path = Sequence[str]
_Fields = tuple[NestedField, ...]


def add_column(
    schema: Schema,
    column: NestedField,
    last_column_id: int,
    *,
    parent: Path = (),
    after: str | None = None,
    case_sensitive: bool = True,
) -> Schema:
    """The schema with ``column`` in the struct ``parent`` (() is the table), at its end or ``after`` another.

    ``last_column_id`` is the table's; the column's own ids do not matter. ALREADY_EXISTS when the name is taken, also
    but for its case; INVALID for a required column without an initial default.
    """
    path = ".".join((*parent, column.name))
    if column.required and column.initial_default is None:
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot add the column '{path}' as NOT NULL: the rows that are there have no value for it.",
        )
    last = last_column_id

    def next_id(_: str) -> int:
        nonlocal last
        last += 1
        return last

    (new,) = assign_field_ids((column,), next_id)

    def add(fields: _Fields) -> _Fields:
        taken = next((f.name for f in fields if f.name.casefold() == column.name.casefold()), None)
        if taken is not None:
            reason = "already exists" if taken == column.name else f"differs only in case from '{taken}'"
            raise BergError(ErrorCode.ALREADY_EXISTS, f"Column '{path}' {reason}.")
        return _placed(fields, new, after, case_sensitive)

    if not parent:
        return replace(schema, fields=add(schema.fields))

    def add_inside(f: NestedField) -> NestedField:
        return replace(f, type=_change_struct(f.type, add, parent))

    return _change_field(schema, parent, add_inside, case_sensitive)


def drop_column(schema: Schema, path: Path, *, case_sensitive: bool = True) -> Schema:
    """The schema without a column; INVALID for a part of the key and for the last column."""
    dropped: list[NestedField] = []

    def drop(fields: _Fields, i: int) -> _Fields:
        gone = {f.field_id for f in walk((fields[i],))}
        if gone & set(schema.identifier_field_ids):
            raise BergError(ErrorCode.INVALID, f"Cannot drop the column '{'.'.join(path)}': the table's key needs it.")
        if len(fields) == 1:
            raise BergError(ErrorCode.INVALID, f"Cannot drop the column '{'.'.join(path)}': it is the only one.")
        dropped.append(fields[i])
        return fields[:i] + fields[i + 1 :]

    return _change(schema, path, drop, case_sensitive)


def rename_column(schema: Schema, path: Path, to: str, *, case_sensitive: bool = True) -> Schema:
    """The schema with another name for a column; ALREADY_EXISTS when another one has it, also but for its case."""

    def rename(fields: _Fields, i: int) -> _Fields:
        if any(f.name.casefold() == to.casefold() for n, f in enumerate(fields) if n != i):
            raise BergError(
                ErrorCode.ALREADY_EXISTS, f"Cannot rename '{'.'.join(path)}' to '{to}': there is such a column."
            )
        return (*fields[:i], replace(fields[i], name=to), *fields[i + 1 :])

    return _change(schema, path, rename, case_sensitive)


def change_type(
    schema: Schema, path: Path, to: IcebergType, format_version: int, *, case_sensitive: bool = True
) -> Schema:
    """The schema with a column of a wider type; TYPE error unless every old value is one of the new type."""

    def change(f: NestedField) -> NestedField:
        if not can_promote(f.type, to, format_version):
            raise BergError(ErrorCode.TYPE, f"Cannot change the type of '{'.'.join(path)}' from {f.type} to {to}.")
        return replace(f, type=to)

    return _change_field(schema, path, change, case_sensitive)


def can_promote(old: IcebergType, new: IcebergType, format_version: int) -> bool:
    """Whether the specification lets a column of type ``old`` become ``new``."""
    match old, new:
        case _ if old == new:
            return True
        case (IntegerType(), LongType()) | (FloatType(), DoubleType()):
            return True
        case DecimalType(), DecimalType():
            return old.scale == new.scale and old.precision <= new.precision
        case (UnknownType(), _) | (DateType(), TimestampType() | TimestampNsType()):
            return format_version >= 3 and new.is_primitive
        case _:
            return False


def set_nullable(schema: Schema, path: Path, *, case_sensitive: bool = True) -> Schema:
    """The schema with a column that may be NULL; INVALID for a part of the key."""

    def change(f: NestedField) -> NestedField:
        if f.field_id in schema.identifier_field_ids:
            raise BergError(ErrorCode.INVALID, f"Column '{'.'.join(path)}' is part of the key and cannot be NULL.")
        return replace(f, required=False)

    return _change_field(schema, path, change, case_sensitive)


def set_doc(schema: Schema, path: Path, doc: str | None, *, case_sensitive: bool = True) -> Schema:
    """The schema with another comment on a column."""
    return _change_field(schema, path, lambda f: replace(f, doc=doc), case_sensitive)


def set_write_default(schema: Schema, path: Path, default: Any, *, case_sensitive: bool = True) -> Schema:
    """The schema with another default (a JSON value) for rows to come."""
    return _change_field(schema, path, lambda f: replace(f, write_default=default), case_sensitive)


def move_column(schema: Schema, path: Path, after: str, *, case_sensitive: bool = True) -> Schema:
    """The schema with a column directly ``after`` another of its struct, or FIRST."""

    def move(fields: _Fields, i: int) -> _Fields:
        if after != FIRST and _index(fields, after, case_sensitive, (*path[:-1], after)) == i:
            raise BergError(ErrorCode.INVALID, f"Cannot move the column '{'.'.join(path)}' after itself.")
        return _placed(fields[:i] + fields[i + 1 :], fields[i], after, case_sensitive)

    return _change(schema, path, move, case_sensitive)


def set_identifier_fields(schema: Schema, paths: Sequence[Path], *, case_sensitive: bool = True) -> Schema:
    """The schema with another key; schema_rules.py says what may be one."""
    ids = []
    for path in paths:
        found = schema.find(".".join(path), case_sensitive)
        if found is None:
            raise _not_found(path, schema.fields)
        ids.append(found.field_id)
    return replace(schema, identifier_field_ids=tuple(ids))


# --- finding the place -----------------------------------------------------------------------------------------------


def _change_field(
    schema: Schema, path: Path, change: Callable[[NestedField], NestedField], case_sensitive: bool
) -> Schema:
    def apply(fields: _Fields, i: int) -> _Fields:
        return (*fields[:i], change(fields[i]), *fields[i + 1 :])

    return _change(schema, path, apply, case_sensitive)


def _change(schema: Schema, path: Path, change: Callable[[_Fields, int], _Fields], case_sensitive: bool) -> Schema:
    """The schema with ``change`` applied to the fields that the path's last part is among, and its index there."""

    def in_fields(fields: _Fields, rest: Path) -> _Fields:
        i = _index(fields, rest[0], case_sensitive, path)
        if len(rest) == 1:
            return change(fields, i)
        return (*fields[:i], replace(fields[i], type=in_type(fields[i].type, rest[1:])), *fields[i + 1 :])

    def in_type(t: IcebergType, rest: Path) -> IcebergType:
        match t:
            case StructType():
                return replace(t, fields=in_fields(t.fields, rest))
            case ListType():
                named = rest[0] == "element" or not isinstance(t.element, StructType)
                element = _only(in_fields((t.element_field,), rest if named else ("element", *rest)), "element", path)
                return replace(t, element=element.type, element_required=element.required)
            case MapType():
                named = rest[0] in ("key", "value") or not isinstance(t.value, StructType)
                changed = in_fields((t.key_field, t.value_field), rest if named else ("value", *rest))
                key, value = _only(changed[:1], "key", path), _only(changed[1:], "value", path)
                return replace(t, key=key.type, value=value.type, value_required=value.required)
            case _:
                raise _not_found(path, schema.fields)

    return replace(schema, fields=in_fields(schema.fields, path))


def _only(fields: _Fields, name: str, path: Path) -> NestedField:
    if len(fields) != 1 or fields[0].name != name:
        raise BergError(ErrorCode.INVALID, f"'{'.'.join(path)}' cannot be dropped, renamed or moved.")
    return fields[0]


def _change_struct(t: IcebergType, change: Callable[[_Fields], _Fields], path: Path) -> IcebergType:
    """``t`` with ``change`` applied to its fields, or to those of the struct that a list or map holds."""
    match t:
        case StructType():
            return replace(t, fields=change(t.fields))
        case ListType(element=StructType()):
            return replace(t, element=_change_struct(t.element, change, path))
        case MapType(value=StructType()):
            return replace(t, value=_change_struct(t.value, change, path))
        case _:
            raise BergError(ErrorCode.INVALID, f"'{'.'.join(path)}' is {t} and holds no columns.")


def _placed(fields: _Fields, new: NestedField, after: str | None, case_sensitive: bool) -> _Fields:
    if after is None:
        return (*fields, new)
    at = 0 if after == FIRST else _index(fields, after, case_sensitive, (after,)) + 1
    return (*fields[:at], new, *fields[at:])


def _index(fields: _Fields, name: str, case_sensitive: bool, path: Path) -> int:
    names = [f.name for f in fields]
    if name in names:
        return names.index(name)
    if not case_sensitive:
        near = [i for i, n in enumerate(names) if n.casefold() == name.casefold()]
        if len(near) == 1:
            return near[0]
    raise _not_found(path, fields)


def _not_found(path: Path, fields: _Fields) -> BergError:
    hint = did_you_mean(path[-1], [f.name for f in fields])
    return BergError(ErrorCode.NOT_FOUND, f"Column '{'.'.join(path)}' was not found.", hint=hint)
