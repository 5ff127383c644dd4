"""The names under which a table's columns are written to a data file, and how SQL and statistics reach each field."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.types import (
    IcebergType,
    ListType,
    MapType,
    NestedField,
    StructType,
    UnknownType,
)
from bergsql.engine.sql.quoting import distinct_names, identifier, string_literal
from bergsql.engine.table.metadata_columns import METADATA_COLUMNS, PLACE_COLUMNS

if TYPE_CHECKING:
    from bergsql.catalog.metadata.schema import Schema


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
    kept = [f for f in fields if not isinstance(f.type, UnknownType)]
    # Readers go by field id, so any name will do.
    return tuple(WrittenColumn(name, f) for name, f in zip(distinct_names(f.name for f in kept), kept, strict=True))


def scanned_names(schema: Schema) -> dict[str, str]:
    """What a scan calls the columns of a table and its metadata and place columns, by their own names."""
    own = [f.name for f in schema.fields]
    names = [*own, *(name for name in METADATA_COLUMNS if name not in own), *PLACE_COLUMNS]
    return dict(zip(names, distinct_names(names), strict=True))


def leaves(columns: Sequence[WrittenColumn]) -> Iterator[Leaf]:
    """The primitive fields of a file, in the order of the schema."""
    for column in columns:
        yield from _leaves(column.field, column.field.name, identifier(column.name), column.sql)


def _leaves(field: NestedField, name: str, path: str, sql: str | None) -> Iterator[Leaf]:
    match field.type:
        case StructType(fields=inner):
            for f, unique in zip(inner, distinct_names(f.name for f in inner), strict=True):
                reach = None if sql is None else f"struct_extract({sql}, {string_literal(unique)})"
                yield from _leaves(f, f"{name}.{f.name}", f"{path}.{identifier(unique)}", reach)
        case ListType() as t:
            yield from _leaves(t.element_field, f"{name}.element", f'{path}."element"', None)
        case MapType() as t:
            yield from _leaves(t.key_field, f"{name}.key", f'{path}."key"', None)
            yield from _leaves(t.value_field, f"{name}.value", f'{path}."value"', None)
        case t:
            yield Leaf(field.field_id, t, name, path, sql)
