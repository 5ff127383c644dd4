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
from bergsql.catalog.metadata.schema_rules import NAMELESS
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
    children,
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
    but for its case; INVALID for a required column without an initial default, and inside the keys of a map.
    """
    path = ".".join((*parent, column.name))
    if not column.name:
        raise BergError(ErrorCode.INVALID, NAMELESS)
    if column.required and column.initial_default is None:
        raise BergError(
            ErrorCode.INVALID,
            f"Cannot add the column '{path}' as NOT NULL: the rows that are there have no value for it.",
            hint="In a table of format version 3 a DEFAULT gives them one.",
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
    """The schema with a column of a wider type; TYPE error unless every old value is one of the new type.

    A nested type may only be what it is; the ids in ``to`` do not matter.
    """

    def change(f: NestedField) -> NestedField:
        if not f.type.is_primitive and not to.is_primitive:
            if _same_shape(f.type, to):
                return f
            raise BergError(
                ErrorCode.TYPE,
                f"Cannot change the type of '{'.'.join(path)}' as a whole.",
                hint=f"Add, drop and change its fields one by one, as in ALTER COLUMN {'.'.join(path)}.x TYPE bigint.",
            )
        if not can_promote(f.type, to, format_version):
            raise BergError(
                ErrorCode.TYPE,
                f"Cannot change the type of '{'.'.join(path)}' from {f.type} to {to}.",
                hint="Types only widen: int to bigint, float to double, a decimal to more digits before the point"
                + (", date to timestamp." if format_version >= 3 else "."),
            )
        if isinstance(f.type, DateType) and f.type != to:
            initial, write = _midnight(f.initial_default), _midnight(f.write_default)
            return replace(f, type=to, initial_default=initial, write_default=write)
        return replace(f, type=to)

    return _change_field(schema, path, change, case_sensitive)


def _same_shape(a: IcebergType, b: IcebergType) -> bool:
    """Whether the two differ at most in the ids and comments of what is inside them."""
    if a.is_primitive or b.is_primitive:
        return a == b
    mine, theirs = children(a), children(b)
    return (
        type(a) is type(b)
        and [(f.name, f.required) for f in mine] == [(f.name, f.required) for f in theirs]
        and all(_same_shape(f.type, g.type) for f, g in zip(mine, theirs, strict=True))
    )


def _midnight(date: str | None) -> str | None:
    """The default of a date column as that of a timestamp column."""
    return None if date is None else f"{date}T00:00:00"


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


def set_required(schema: Schema, path: Path, *, case_sensitive: bool = True) -> Schema:
    """The schema as it is, if the column is NOT NULL; INVALID otherwise: rows that are there may have NULL in it."""

    def change(f: NestedField) -> NestedField:
        if not f.required:
            raise BergError(
                ErrorCode.INVALID,
                f"Column '{'.'.join(path)}' cannot become NOT NULL: rows that are there may have NULL in it.",
                hint="A column is NOT NULL from the start, or never: CREATE TABLE … AS makes a new table.",
            )
        return f

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


def replace_columns(
    schema: Schema, columns: Sequence[NestedField], last_column_id: int, format_version: int, *, case_sensitive: bool
) -> Schema:
    """The schema with ``columns`` and no others. One that is there by its name keeps its id and its values.

    TYPE when it has a type that its values do not have; INVALID for a new one that is NOT NULL, and when a column of
    the key goes.
    """
    kept: list[str] = []
    for wanted in columns:
        found = next((f for f in schema.fields if _same_name(f.name, wanted.name, case_sensitive)), None)
        if found is None:
            schema = add_column(schema, wanted, last_column_id, case_sensitive=case_sensitive)
            last_column_id = max(last_column_id, schema.highest_field_id)
            kept.append(wanted.name)
            continue
        schema = change_type(schema, (found.name,), wanted.type, format_version)
        schema = (set_required if wanted.required else set_nullable)(schema, (found.name,))
        schema = set_doc(schema, (found.name,), wanted.doc)
        if wanted.write_default is not None:
            schema = set_write_default(schema, (found.name,), wanted.write_default)
        kept.append(found.name)
    for f in schema.fields:
        if f.name not in kept:
            schema = drop_column(schema, (f.name,))
    by_name = {f.name: f for f in schema.fields}
    return replace(schema, fields=tuple(by_name[name] for name in kept))


def _same_name(a: str, b: str, case_sensitive: bool) -> bool:
    return a == b or (not case_sensitive and a.casefold() == b.casefold())


def field_at(schema: Schema, path: Path, *, case_sensitive: bool = True) -> NestedField:
    """The column with this path; NOT_FOUND when there is none."""
    found: list[NestedField] = []

    def look(fields: _Fields, i: int) -> _Fields:
        found.append(fields[i])
        return fields

    _change(schema, path, look, case_sensitive, keys_too=True)
    return found[0]


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


def _change(
    schema: Schema,
    path: Path,
    change: Callable[[_Fields, int], _Fields],
    case_sensitive: bool,
    *,
    keys_too: bool = False,
) -> Schema:
    """The schema with ``change`` applied to the fields that the path's last part is among, and its index there.

    INVALID inside the keys of a map, unless ``keys_too``: they are what tells its entries apart.
    """

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
                if rest[0] == "key" and not keys_too:
                    raise BergError(
                        ErrorCode.INVALID, f"Cannot change '{'.'.join(path)}': the keys of a map stay as they are."
                    )
                changed = in_fields((t.key_field, t.value_field), rest if named else ("value", *rest))
                key, value = _only(changed[:1], "key", path), _only(changed[1:], "value", path)
                return replace(t, key=key.type, value=value.type, value_required=value.required)
            case _:
                raise _not_found(path, schema.fields)

    return replace(schema, fields=in_fields(schema.fields, path))


def _only(fields: _Fields, name: str, path: Path) -> NestedField:
    if len(fields) != 1 or fields[0].name != name:
        raise BergError(ErrorCode.INVALID, f"'{'.'.join(path)}' cannot be dropped, renamed or moved.")
    if fields[0].doc is not None or fields[0].write_default is not None:
        raise BergError(ErrorCode.INVALID, f"'{'.'.join(path)}' has no comment and no default of its own.")
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
