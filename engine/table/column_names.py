"""The names under which a table's columns are written to a data file, and how SQL and statistics reach each field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bergsql.catalog.metadata.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
)
from bergsql.engine.sql.quoting import identifier, string_literal


@dataclass(frozen=True, slots=True)
class WrittenColumn:
    """A column of a data file. ``name`` is the field's own unless another column differs from it only in case."""

    name: str
    field: NestedField

    @property
    def sql(self) -> str:
        return identifier(self.name)


@dataclass(frozen=True, slots=True)
class Leaf:
    """A primitive field. ``path`` is its key in DuckDB's statistics, ``sql`` what reads it (None in a list or map)."""

    field_id: int
    type: IcebergType
    name: str
    path: str
    sql: str | None


def written_columns(fields: Sequence[NestedField]) -> tuple[WrittenColumn, ...]:
    """The columns of a data file: all but those that hold only NULL, which v3 leaves out of files."""
    taken: set[str] = set()
    columns = []
    for f in fields:
        if isinstance(f.type, UnknownType):
            continue
        # DuckDB takes names that differ only in case for the same; readers go by field id, so any other name will do.
        name, n = f.name, 1
        while name.casefold() in taken:
            name, n = f"{f.name}_{n}", n + 1
        taken.add(name.casefold())
        columns.append(WrittenColumn(name, f))
    return tuple(columns)


def leaves(columns: Sequence[WrittenColumn]) -> Iterator[Leaf]:
    """The primitive fields of a file, in the order of the schema."""
    for column in columns:
        yield from _leaves(column.field, column.field.name, identifier(column.name), column.sql)


def _leaves(field: NestedField, name: str, path: str, sql: str | None) -> Iterator[Leaf]:
    match field.type:
        case StructType(fields=inner):
            for f in inner:
                reach = None if sql is None else f"struct_extract({sql}, {string_literal(f.name)})"
                yield from _leaves(f, f"{name}.{f.name}", f"{path}.{identifier(f.name)}", reach)
        case ListType() as t:
            yield from _leaves(t.element_field, f"{name}.element", f'{path}."element"', None)
        case MapType() as t:
            yield from _leaves(t.key_field, f"{name}.key", f'{path}."key"', None)
            yield from _leaves(t.value_field, f"{name}.value", f'{path}."value"', None)
        case t:
            yield Leaf(field.field_id, t, name, path, sql)
